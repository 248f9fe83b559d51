"""The MCP endpoint over HTTP: bytes in, one JSON-RPC message, an answer out. No behaviour of any method.

Source: specification 2026-07-28, "Streamable HTTP".
"""

import asyncio
import time
import traceback
from collections.abc import Mapping
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any, Final

import structlog
from aiohttp import web

from . import legacy
from .era import Era, era_of
from .errors import (
    BodyTooLargeError,
    BodyTooSlowError,
    InvalidRequestError,
    RpcError,
    WrongContentTypeError,
    WrongVerbError,
)
from .guards import ALLOWED_METHODS, Guards
from .jsonrpc import IdentifiedError, Message, error_response, parse, result_response
from .metrics import Metrics
from .modern import ModernEra

PATH: Final = "/mcp"
BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive."""
JSON: Final = "application/json"
LARGE_BODY_BYTES: Final = 64 * 1024
LARGE_BODIES_AT_ONCE: Final = 4
"""A parsed body takes up to twenty times its bytes of memory, for as long as its request is worked on."""


class McpEndpoint:
    """The one path that speaks MCP."""

    def __init__(self, modern: ModernEra, *, guards: Guards, max_body_bytes: int, metrics: Metrics) -> None:
        self._modern, self._guards, self._max_body = modern, guards, max_body_bytes
        self._metrics = metrics
        self._room_for_large = asyncio.Semaphore(LARGE_BODIES_AT_ONCE)
        self._log: Any = structlog.get_logger()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer an HTTP request, whatever its method is."""
        message: Message | None = None
        try:
            self._guards.check(request.headers)
            if request.method == "OPTIONS":
                return web.Response(
                    status=HTTPStatus.NO_CONTENT, headers=self._guards.preflight_headers(request.headers)
                )
            if request.method != "POST":
                raise WrongVerbError("The MCP endpoint only takes POST")
            body = await self._body(request)
            async with self._room_for_large if len(body) > LARGE_BODY_BYTES else nullcontext():
                message = parse(body)
                return await self._answer(request, message)
        except IdentifiedError as error:
            return self._failure(request, error.error, message_id=error.id)
        except RpcError as error:
            return self._failure(request, error, message=message)
        except Exception as error:  # noqa: BLE001  # the outermost boundary: the client gets an answer, we get a trace
            # Neither the error's text nor any value: they may hold what a client sent.
            frames = [
                f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in traceback.extract_tb(error.__traceback__)
            ]
            self._log.error("request failed unexpectedly", error=type(error).__name__, frames=frames)
            return self._failure(request, RpcError("Internal error"), message=message)

    async def _body(self, request: web.Request) -> bytes:
        if request.content_type != JSON:
            raise WrongContentTypeError(f"The body's Content-Type must be {JSON}")
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            # A small body may become a huge one, and would do so in this process's only loop.
            raise WrongContentTypeError("The body must not be compressed: send it without Content-Encoding")
        if (request.content_length or 0) > self._max_body:
            raise self._too_large()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            raise self._too_large() from error
        except TimeoutError as error:
            raise BodyTooSlowError(f"The body did not arrive within {BODY_SECONDS:g} s") from error
        except (web.HTTPException, web.RequestPayloadError) as error:
            raise InvalidRequestError("The body did not arrive whole") from error

    async def _answer(self, request: web.Request, message: Message) -> web.StreamResponse:
        began = time.perf_counter()
        if era_of(message, request.headers) is Era.LEGACY:
            legacy.refuse(message, request.headers)
        if message.id is None:
            self._modern.take(message, request.headers)
            self._count("notification", "ok")
            return web.Response(status=HTTPStatus.ACCEPTED, headers=self._guards.cross_origin_headers(request.headers))
        result = await self._modern.answer(message, request.headers)
        self._count(self._label(message), "tool_error" if result.get("isError") is True else "ok")
        self._metrics.request_seconds.labels(self._label(message)).observe(time.perf_counter() - began)
        return self._respond(request, result_response(message.id, result))

    def _failure(
        self, request: web.Request, error: RpcError, *, message: Message | None = None, message_id: str | None = None
    ) -> web.Response:
        """The answer to what failed; without an id where there is none, or where it was a notification."""
        self._count("invalid" if message is None else self._label(message), str(error.code))
        message_id = message_id if message is None else message.id
        headers = {"Allow": ALLOWED_METHODS} if isinstance(error, WrongVerbError) else {}
        return self._respond(request, error_response(message_id, error), status=error.status, headers=headers)

    def _respond(
        self,
        request: web.Request,
        body: bytes,
        *,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
    ) -> web.Response:
        everywhere = {"Cache-Control": "no-store", **self._guards.cross_origin_headers(request.headers)}
        return web.Response(body=body, status=status, content_type=JSON, headers={**everywhere, **(headers or {})})

    def _label(self, message: Message) -> str:
        return message.method if message.method in self._modern.methods else "other"

    def _count(self, method: str, outcome: str) -> None:
        self._metrics.requests.labels(method, outcome).inc()

    def _too_large(self) -> BodyTooLargeError:
        return BodyTooLargeError(f"The body is larger than {self._max_body} bytes, the most that this server reads")
