"""The MCP endpoint over HTTP: bytes in, one JSON-RPC message, an answer out. No behaviour of any method.

Source: specification 2026-07-28, "Streamable HTTP".
"""

import asyncio
import time
import traceback
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from typing import Any, Final

import structlog
from aiohttp import web

from .caller import CallerPolicy
from .dispatch import AnyEra
from .era import Era, era_of
from .errors import (
    BodyTooLargeError,
    BodyTooSlowError,
    InvalidRequestError,
    RpcError,
    UnauthenticatedError,
    WrongContentTypeError,
    WrongVerbError,
)
from .eventstream import EventStream
from .exchange import Result
from .guards import ALLOWED_METHODS, Guards
from .jsonrpc import IdentifiedError, Message, Response, error_response, parse, parse_whole, result_response
from .metrics import Metrics

PATH: Final = "/mcp"
BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive."""
JSON: Final = "application/json"
LARGE_BODY_BYTES: Final = 64 * 1024
LARGE_BODIES_AT_ONCE: Final = 4
"""A parsed body takes up to twenty times its bytes of memory while its request is looked at. What is held for long
(whose outbox has begun) does not count any more."""

HELD: Final = "held"
_KINDS: Final = {"subscriptions/listen": "listen", "tasks/result": "result"}
"""What metrics call the streams of these methods; all others are of calls that are held."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What goes back: as an HTTP response, or as the last event of a stream."""

    body: bytes = b""
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


class Place:
    """A place among the few requests with large bodies that are looked at at once."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places
        self._has_one = False

    async def take(self) -> None:
        """Wait for a place."""
        await self._places.acquire()
        self._has_one = True

    def leave(self) -> None:
        """Leave the place, if there is one to leave."""
        if self._has_one:
            self._has_one = False
            self._places.release()


@dataclass(kw_only=True)
class Handling:
    """How far the handling of one HTTP request has come."""

    place: Place
    era: AnyEra | None = None
    message: Message | Response | None = None
    stream: EventStream | None = None

    @property
    def label(self) -> str:
        """What metrics call what was asked for."""
        match self.message:
            case None:
                return "invalid"
            case Response():
                return "response"
            case Message(id=None):
                return "notification"
            case Message(method=method):
                return method if self.era is not None and method in self.era.methods else "other"


class McpEndpoint:
    """The one path that speaks MCP."""

    def __init__(
        self,
        *,
        modern: AnyEra,
        legacy: AnyEra,
        callers: CallerPolicy,
        guards: Guards,
        max_body_bytes: int,
        metrics: Metrics,
    ) -> None:
        self._eras = {Era.MODERN: modern, Era.LEGACY: legacy}
        self._callers, self._guards, self._max_body = callers, guards, max_body_bytes
        self._metrics = metrics
        # Finding a labelled metric takes longer than counting, and there are few.
        self._streams = {kind: metrics.open_streams.labels(kind) for kind in (HELD, *_KINDS.values())}
        self._requests, self._seconds = cache(metrics.requests.labels), cache(metrics.request_seconds.labels)
        self._places = asyncio.Semaphore(LARGE_BODIES_AT_ONCE)
        self._log: Any = structlog.get_logger()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer an HTTP request, whatever its method is. Cancelled where the client has gone."""
        handling = Handling(place=Place(self._places))
        try:
            reply = await self._reply(request, handling)
            handling.place.leave()
            if handling.stream is not None and handling.stream.has_begun:
                return await handling.stream.finish(reply.body)
            return self._respond(request, reply)
        finally:
            handling.place.leave()
            if handling.stream is not None:
                handling.stream.close()
                self._metrics.contexts.ended(handling.stream.outbox)

    async def _reply(self, request: web.Request, handling: Handling) -> Reply:
        try:
            return await self._handled(request, handling)
        except IdentifiedError as error:
            return self._failure(handling, error.error, message_id=error.id)
        except RpcError as error:
            return self._failure(handling, error)
        except Exception as error:  # noqa: BLE001  # the outermost boundary: the client gets an answer, we get a trace
            # Neither the error's text nor any value: they may hold what a client sent.
            frames = [
                f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in traceback.extract_tb(error.__traceback__)
            ]
            self._log.error("request failed unexpectedly", error=type(error).__name__, frames=frames)
            return self._failure(handling, RpcError("Internal error"))

    async def _handled(self, request: web.Request, handling: Handling) -> Reply:
        self._guards.check(request.headers)
        if request.method == "OPTIONS":
            return Reply(status=HTTPStatus.NO_CONTENT, headers=self._guards.preflight_headers(request.headers))
        if request.method != "POST":
            raise WrongVerbError("The MCP endpoint only takes POST")
        # Before the body: nobody who is unknown has us read or parse anything.
        caller = await self._callers.caller_of(request.headers)
        body = await self._body(request)
        if len(body) > LARGE_BODY_BYTES:
            await handling.place.take()
            # It takes long, and the loop of all other requests is not to stand still meanwhile.
            message = await asyncio.to_thread(parse_whole, body)
        else:
            message = parse(body)
        handling.message = message
        handling.era = self._eras[era_of(message, request.headers)]
        if isinstance(message, Response) or message.id is None:
            await handling.era.take(message, request.headers, caller=caller)
            self._count(handling, "ok")
            return Reply(status=HTTPStatus.ACCEPTED)
        stream = handling.stream = self._stream(request, handling)
        began = time.perf_counter()
        answer = await handling.era.answer(message, request.headers, caller=caller, outbox=stream.outbox)
        self._count(handling, _outcome_of(answer.result))
        if not stream.has_begun:
            self._seconds(handling.label).observe(time.perf_counter() - began)
        if answer.result is None:
            return Reply(status=HTTPStatus.ACCEPTED)
        return Reply(body=result_response(message.id, answer.result), headers=answer.headers)

    def _stream(self, request: web.Request, handling: Handling) -> EventStream:
        gauge = self._streams[_KINDS.get(handling.label, HELD)]
        return EventStream(
            request,
            headers=self._guards.cross_origin_headers(request.headers),
            on_work=handling.place.leave,
            on_open=gauge.inc,
            on_close=gauge.dec,
            on_replaced=self._metrics.messages_replaced.inc,
        )

    async def _body(self, request: web.Request) -> bytes:
        if request.content_type != JSON:
            raise WrongContentTypeError(f"The body's Content-Type must be {JSON}")
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            # A small body may become a huge one, and would do so in this process's only loop.
            raise WrongContentTypeError("The body must not be compressed: send it without Content-Encoding")
        if (request.content_length or 0) > self._max_body:
            raise self._too_large()
        try:
            # Most bodies are there with their headers, and need not be waited for.
            async with nullcontext() if request.content.is_eof() else asyncio.timeout(BODY_SECONDS):
                return await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            raise self._too_large() from error
        except TimeoutError as error:
            raise BodyTooSlowError(f"The body did not arrive within {BODY_SECONDS:g} s") from error
        except (web.HTTPException, web.RequestPayloadError) as error:
            raise InvalidRequestError("The body did not arrive whole") from error

    def _failure(self, handling: Handling, error: RpcError, *, message_id: str | None = None) -> Reply:
        """The answer to what failed; without an id where there is none, or where it was a notification."""
        self._count(handling, str(error.code))
        if isinstance(handling.message, Message):
            message_id = handling.message.id
        status = error.status if handling.era is None else handling.era.status_of(error)
        return Reply(body=error_response(message_id, error), status=status, headers=_headers_of(error))

    def _respond(self, request: web.Request, reply: Reply) -> web.Response:
        everywhere = {"Cache-Control": "no-store", **self._guards.cross_origin_headers(request.headers)}
        return web.Response(
            body=reply.body or None,
            status=reply.status,
            content_type=JSON if reply.body else None,
            headers={**everywhere, **reply.headers},
        )

    def _count(self, handling: Handling, outcome: str) -> None:
        era = "none" if handling.era is None else handling.era.name
        self._requests(handling.label, era, outcome).inc()

    def _too_large(self) -> BodyTooLargeError:
        return BodyTooLargeError(f"The body is larger than {self._max_body} bytes, the most that this server reads")


def _outcome_of(result: Result | None) -> str:
    if result is None:
        return "withdrawn"
    return "tool_error" if result.get("isError") is True else "ok"


def _headers_of(error: RpcError) -> dict[str, str]:
    match error:
        case WrongVerbError():
            return {"Allow": ALLOWED_METHODS}
        case UnauthenticatedError():
            return {"WWW-Authenticate": error.challenge}
        case _:
            return {}
