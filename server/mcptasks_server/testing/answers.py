"""What a test's client gets: an answer, read whole or message by message. Each message is judged as it is read."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from mcp_types import jsonrpc
from multidict import CIMultiDictProxy

from .events import EventReader
from .judges import Asked
from .stream_judge import AnswerJudge

EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
READ_SECONDS: Final = 30.0
"""How long a message may be waited for, at most."""
_MODERN_STATUS: Final = {
    jsonrpc.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
    jsonrpc.HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY: HTTPStatus.BAD_REQUEST,
    jsonrpc.UNSUPPORTED_PROTOCOL_VERSION: HTTPStatus.BAD_REQUEST,
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back, whole."""

    status: int
    text: str
    """The body; of an event stream, its last message."""
    headers: CIMultiDictProxy[str]
    before: tuple[dict[str, Any], ...] = ()
    """The messages that came before the answer."""
    comments: tuple[str, ...] = ()

    @property
    def body(self) -> dict[str, Any]:
        """The JSON-RPC message."""
        document: dict[str, Any] = json.loads(self.text)
        return document

    @property
    def result(self) -> dict[str, Any]:
        """The result; fails where there is none."""
        result: dict[str, Any] = self.body["result"]
        return result

    @property
    def error(self) -> tuple[int, int]:
        """The HTTP status and the JSON-RPC error's code; fails where there is none."""
        return self.status, self.body["error"]["code"]

    @property
    def message(self) -> str:
        """What an error says."""
        text: str = self.body["error"]["message"]
        return text

    def told(self, method: str) -> list[dict[str, Any]]:
        """The parameters of the notifications of a kind that came before the answer."""
        return [each.get("params", {}) for each in self.before if each.get("method") == method]


@dataclass(kw_only=True)
class _Seen:
    """What a stream has brought up to now."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    last: str = ""


class Stream:
    """One HTTP response, message by message, be it an event stream or one JSON object."""

    def __init__(self, response: aiohttp.ClientResponse, asked: Asked) -> None:
        self._response, self._asked = response, asked
        self._judge, self._seen = AnswerJudge(asked), _Seen()
        self._pieces = response.content.iter_any()
        self._events, self._ready = EventReader(may_resume=not asked.is_modern), deque[str]()
        self._whole = False
        if self.is_events:
            check_stream_headers(self.status, self.headers)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """The response's headers."""
        return self._response.headers

    @property
    def is_events(self) -> bool:
        """Whether it is an event stream."""
        return self._response.content_type == EVENTS

    @property
    def comments(self) -> list[str]:
        """The comments that came up to now."""
        return self._events.comments

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages that came up to now."""
        return self._seen.messages

    def close(self) -> None:
        """Close the connection."""
        self._response.close()

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self.next()) is not None:
            yield message

    async def next(self, *, within: float = READ_SECONDS) -> dict[str, Any] | None:
        """The next message; None at the stream's end.

        Raises:
            TimeoutError: none came.
        """
        async with asyncio.timeout(within):
            text = await (self._next_event() if self.is_events else self._next_body())
        if text is None:
            return None
        self._seen.last = text
        message: dict[str, Any] = json.loads(text)
        self._judge.take(message)
        self._seen.messages.append(message)
        return message

    async def until(self, method: str, *, within: float = READ_SECONDS) -> dict[str, Any]:
        """The next message of this method; what comes before it is passed over."""
        while (message := await self.next(within=within)) is not None:
            if message.get("method") == method:
                return message
        raise AssertionError(f"the stream ended without {method}: {self.messages}")

    async def answer(self) -> Answer:
        """The whole, read to its end."""
        async for _ in self:
            pass
        answered = bool(self.messages) and "method" not in self.messages[-1]
        if answered and self._asked.is_modern and not self.is_events:
            check_status(self.status, self.messages[-1])
        return Answer(
            status=self.status,
            text=self._seen.last,
            headers=self.headers,
            before=tuple(self.messages[:-1] if answered else self.messages),
            comments=tuple(self.comments),
        )

    async def _next_body(self) -> str | None:
        if self._whole:
            return None
        self._whole = True
        text = await self._response.text()
        if self.status == HTTPStatus.ACCEPTED:
            assert text == "", "an accepted notification has no body"
        if text == "":
            return None
        assert self._response.content_type == JSON, f"answered with {self._response.content_type}"
        return text

    async def _next_event(self) -> str | None:
        while not self._ready:
            piece = await anext(self._pieces, None)
            if piece is None:
                self._events.end()
                return None
            self._ready.extend(self._events.feed(piece))
        return self._ready.popleft()


def check_stream_headers(status: int, headers: CIMultiDictProxy[str]) -> None:
    """That an event stream comes as one: whole, at once, and kept by nobody."""
    assert status == HTTPStatus.OK
    assert headers.get("X-Accel-Buffering") == "no"
    assert {"no-cache", "no-store"} & {each.strip() for each in headers["Cache-Control"].split(",")}
    assert "Content-Encoding" not in headers


def check_status(status: int, message: Mapping[str, Any]) -> None:
    """That an error of the modern wire comes with the HTTP status that is specified for it."""
    code = message.get("error", {}).get("code")
    expected = _MODERN_STATUS.get(code, status)
    assert status == expected, f"{code} is answered {status}"
