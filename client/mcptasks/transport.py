"""One request, one answer, over HTTP: the only module of the client library that touches the network."""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any, Final, Self

import aiohttp
from yarl import URL

from .errors import ProtocolError, UnreachableError
from .sse import EventDecoder
from .wire import Outgoing, message, result

OnProgress = Callable[[Mapping[str, Any]], None]
"""Is given the parameters of each `notifications/progress` that belongs to a request."""

CONNECT_SECONDS: Final = 10.0
_COME_BACK_LATER: Final = frozenset({429, 502, 503, 504})
_EVENTS: Final = "text/event-stream"
_JSON: Final = "application/json"


class Transport:
    """An open session with one server. Use as an async context manager."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None) -> None:
        try:
            self._url = URL(url)
        except ValueError as error:
            raise ProtocolError(f"{url} is not an HTTP address: {error}") from error
        self._headers = dict(headers or {})
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # A proxy of the environment is for other machines than this one.
        self._session = aiohttp.ClientSession(headers=self._headers, trust_env=not _is_loopback(self._url.host))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def exchange(
        self, request: Outgoing, *, timeout_seconds: float | None, on_progress: OnProgress | None = None
    ) -> dict[str, Any]:
        """Send a request and read its result.

        Args:
            request: what to send.
            timeout_seconds: the longest time without anything coming; None: as long as it takes.
            on_progress: is told of the progress of this very request.

        Raises:
            UnreachableError: no answer, or one that says to come back later.
            RequestError: the server refused.
            ProtocolError: what came back is no MCP answer.
        """
        async with self._sent(request, timeout_seconds) as response:
            kind = response.content_type
            if response.status in _COME_BACK_LATER or (response.status >= 500 and kind != _JSON):
                raise _come_back_later(response)
            if kind == _EVENTS and response.status == 200:
                document = await _answer_among_events(response, request, on_progress)
            elif kind == _JSON:
                document = await _only_answer(response)
            else:
                raise ProtocolError(f"{self._url} answered HTTP {response.status} with {kind}, which is not MCP")
        return result(document, method=request.method)

    @asynccontextmanager
    async def _sent(self, request: Outgoing, timeout_seconds: float | None) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to a request; whatever breaks until it is read is one error."""
        assert self._session is not None, "the transport is used outside of its context"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=timeout_seconds)
        try:
            async with self._session.post(
                self._url, data=request.body, headers=request.headers, timeout=timeout, allow_redirects=False
            ) as response:
                yield response
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise ProtocolError(f"{self._url} is not an HTTP address") from error
        except TimeoutError as error:
            raise UnreachableError(f"{self._url} did not answer in time") from error
        except aiohttp.ClientConnectorError as error:
            raise UnreachableError(f"{self._url} cannot be reached: {_reason(error.os_error)}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(f"{self._url} cannot be reached: {error}") from error


async def _only_answer(response: aiohttp.ClientResponse) -> dict[str, Any]:
    try:
        return message(await response.read())
    except ProtocolError as error:
        raise ProtocolError(f"{response.url} answered HTTP {response.status}: {error}") from error


async def _answer_among_events(
    response: aiohttp.ClientResponse, request: Outgoing, on_progress: OnProgress | None
) -> dict[str, Any]:
    decoder = EventDecoder()
    async for piece in response.content.iter_any():
        for data in decoder.feed(piece):
            document = message(data)
            if document.get("id") == request.id and "method" not in document:
                return document
            params = document.get("params")
            if on_progress is None or document.get("method") != "notifications/progress":
                continue
            if isinstance(params, dict) and params.get("progressToken") == request.id:
                on_progress(params)
    raise UnreachableError("the server's stream ended before the answer came")


def _come_back_later(response: aiohttp.ClientResponse) -> UnreachableError:
    asked = response.headers.get("Retry-After", "")
    return UnreachableError(
        f"{response.url} answered HTTP {response.status} {response.reason}",
        retry_after_seconds=float(asked) if asked.isdecimal() else None,
    )


def _reason(error: OSError) -> str:
    """What went wrong, without the repetition of the address that asyncio adds."""
    # Numbers below zero are the resolver's own.
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
