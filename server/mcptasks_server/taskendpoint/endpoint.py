"""The task endpoint over HTTP: paths, tokens, bodies, problems. No behaviour of any operation."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import orjson
import structlog
from aiohttp import web

from mcptasks_crds.names import PROGRESS_HEADER, TASKS_PATH
from mcptasks_server.metrics import Metrics

from . import bodies
from .newcomers import Newcomers
from .openapi import document
from .operations import Operations
from .problems import (
    CONTENT_TYPE,
    NotThereProblem,
    Problem,
    TooLargeProblem,
    UnknownPodProblem,
    WrongVerbProblem,
)
from .reading import long_body
from .tokens import PodTokens
from .toolarge import Sampled

OPENAPI_PATH: Final = "/v1/openapi.json"
MAX_BODY_BYTES: Final = 2 * 1024 * 1024
"""More than any of them may be: each names its own limit where it is over it."""
LONG_BODY_BYTES: Final = 64 * 1024
"""What is longer is read in a thread."""
LONG_BODIES_AT_ONCE: Final = 4
"""A parsed body takes up to fifty times its bytes of memory until its request is answered: the others wait as bytes."""
BODY_SECONDS: Final = 30.0
MOST_WAIT_SECONDS: Final = 60.0
"""How long an answer, or a write, is waited for in one request."""
_SCHEME: Final = "bearer"

ReadT = TypeVar("ReadT")
DoneT = TypeVar("DoneT")


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a request is answered with."""

    status: HTTPStatus
    body: dict[str, Any] | None = None


Handler = Callable[[web.Request, str, str], Awaitable[Reply]]
"""Answers a request about a task, made by one of its pods: (request, task, uid of the pod)."""


class TaskEndpoint:
    """What pods talk to."""

    def __init__(self, *, operations: Operations, tokens: PodTokens, newcomers: Newcomers, metrics: Metrics) -> None:
        self._do, self._tokens, self._newcomers, self._metrics = operations, tokens, newcomers, metrics
        self._openapi = orjson.dumps(document(), option=orjson.OPT_INDENT_2)
        self._places = asyncio.Semaphore(LONG_BODIES_AT_ONCE)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By the task, of which one long body at a time is read: else one pod could take all places."""
        self._log: Any = structlog.get_logger()

    def app(self) -> web.Application:
        """The application. Run it with `handler_cancellation=True`."""
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[self._answered])
        task = f"{TASKS_PATH}/{{task}}"
        app.router.add_get(OPENAPI_PATH, self._show_openapi)
        app.router.add_get(task, self._of_a_pod("task", self._task))
        app.router.add_get(f"{task}/questions/{{key}}", self._of_a_pod("answer", self._answer))
        # Some clients (BusyBox's wget) have no PUT.
        for method in ("PUT", "POST"):
            app.router.add_route(method, f"{task}/progress", self._of_a_pod("progress", self._progress))
            app.router.add_route(method, f"{task}/questions/{{key}}", self._of_a_pod("ask", self._ask))
            app.router.add_route(method, f"{task}/result", self._of_a_pod("result", self._result))
        app.router.add_post(f"{task}/content", self._of_a_pod("content", self._content))
        return app

    def _of_a_pod(self, operation: str, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            began, status = time.perf_counter(), HTTPStatus.INTERNAL_SERVER_ERROR
            try:
                task = request.match_info["task"]
                pod = await self._tokens.pod_of(_token(request), task=task)
                reply = await self._newcomers.heard(pod, lambda: handler(request, task, pod.pod_uid))
                status = reply.status
                return _response(reply)
            except Problem as problem:
                status = problem.status
                raise
            finally:
                self._metrics.pod_requests.labels(operation, str(int(status))).inc()
                if operation != "answer":  # which waits for people
                    self._metrics.pod_request_seconds.labels(operation).observe(time.perf_counter() - began)

        return handle

    async def _task(self, _: web.Request, task: str, pod: str) -> Reply:
        return Reply(status=HTTPStatus.OK, body=await self._do.task(task, pod=pod))

    async def _progress(self, request: web.Request, task: str, pod: str) -> Reply:
        seconds = _seconds(request)
        is_written, seen = await self._with_body(
            request,
            task,
            bodies.progress_body,
            lambda body: self._do.progress(task, body, seconds=seconds, pod=pod),
        )
        return Reply(status=HTTPStatus.OK if is_written else HTTPStatus.ACCEPTED, body=seen)

    async def _ask(self, request: web.Request, task: str, pod: str) -> Reply:
        key = bodies.question_key(request.match_info["key"])
        is_new = await self._with_body(
            request, task, bodies.question_body, lambda body: self._do.ask(task, key, body, pod=pod)
        )
        return Reply(status=HTTPStatus.CREATED if is_new else HTTPStatus.OK, body={})

    async def _answer(self, request: web.Request, task: str, pod: str) -> Reply:
        key = bodies.question_key(request.match_info["key"])
        body = await self._do.answer(task, key, seconds=_seconds(request), pod=pod)
        return Reply(status=HTTPStatus.OK if "answer" in body else HTTPStatus.ACCEPTED, body=body)

    async def _content(self, request: web.Request, task: str, pod: str) -> Reply:
        key = request.headers.get("Idempotency-Key")
        await self._with_body(
            request, task, bodies.content_body, lambda body: self._do.add_content(task, body, key=key, pod=pod)
        )
        return Reply(status=HTTPStatus.NO_CONTENT)

    async def _result(self, request: web.Request, task: str, pod: str) -> Reply:
        progress = bodies.progress_header(request.headers.get(PROGRESS_HEADER))
        await self._with_either(
            request,
            task,
            bodies.result_body,
            lambda result: self._do.give_result(task, result, progress=progress, pod=pod),
        )
        return Reply(status=HTTPStatus.NO_CONTENT)

    async def _with_body(
        self,
        request: web.Request,
        task: str,
        read: Callable[[bytes], ReadT],
        operation: Callable[[ReadT], Awaitable[DoneT]],
    ) -> DoneT:
        """What the operation gives with what a body holds."""

        async def with_what_fits(body: ReadT | Sampled) -> DoneT:
            if isinstance(body, Sampled):
                raise TooLargeProblem(f"The body of {body.size} bytes is larger than {MAX_BODY_BYTES} bytes")
            return await operation(body)

        return await self._with_either(request, task, read, with_what_fits)

    async def _with_either(
        self,
        request: web.Request,
        task: str,
        read: Callable[[bytes], ReadT],
        operation: Callable[[ReadT | Sampled], Awaitable[DoneT]],
    ) -> DoneT:
        """The same; of a body that is larger than any may be, with both its ends.

        A long one takes a few hundred milliseconds, which no other request shall wait for, and much memory, until its
        operation is done.
        """
        size = request.content_length
        if size is not None and size <= LONG_BODY_BYTES:
            body = await self._bytes(request)
            return await operation(body if isinstance(body, Sampled) else read(body))
        turn = self._turns.setdefault(task, asyncio.Lock())
        async with turn:
            body = await self._bytes(request)
            if isinstance(body, Sampled):
                return await operation(body)
            if len(body) <= LONG_BODY_BYTES:
                return await operation(read(body))
            async with self._places:
                return await operation(await asyncio.to_thread(read, body))

    @staticmethod
    async def _bytes(request: web.Request) -> bytes | Sampled:
        return await long_body(request, whole=MAX_BODY_BYTES, seconds=BODY_SECONDS)

    async def _show_openapi(self, _: web.Request) -> web.Response:
        return web.Response(body=self._openapi, content_type="application/json")

    @web.middleware
    async def _answered(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except Problem as problem:
            return _problem(problem)
        except web.HTTPMethodNotAllowed as error:
            allowed = ", ".join(sorted(error.allowed_methods))
            return _problem(WrongVerbProblem(f"Only {allowed} can be done here", allowed=allowed))
        except web.HTTPException as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return _problem(NotThereProblem("There is nothing at this path"))
        except Exception as error:  # noqa: BLE001  # the outermost boundary: the pod gets an answer, we get a trace
            # Neither the error's text nor any value: they may hold what a pod sent.
            frames = [
                f"{each.name} ({each.filename}:{each.lineno})" for each in traceback.extract_tb(error.__traceback__)
            ]
            self._log.error("a pod's request failed unexpectedly", error=type(error).__name__, frames=frames)
            return _problem(Problem("Internal error"))


def _token(request: web.Request) -> str:
    values = request.headers.getall("Authorization", [])
    scheme, _, token = values[0].strip().partition(" ") if len(values) == 1 else ("", "", "")
    if scheme.lower() != _SCHEME or not token.strip():
        raise UnknownPodProblem("Send Authorization: Bearer with the token of $MCPTASK_TOKEN_FILE")
    return token.strip()


def _seconds(request: web.Request) -> float:
    return bodies.seconds_to_wait(request.query.get("wait"), most=MOST_WAIT_SECONDS)


def _response(reply: Reply) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    if reply.body is None:
        return web.Response(status=reply.status, headers=headers)
    return web.Response(
        status=reply.status, body=orjson.dumps(reply.body), content_type="application/json", headers=headers
    )


def _problem(problem: Problem) -> web.Response:
    return web.Response(
        status=problem.status,
        body=orjson.dumps(problem.body()),
        content_type=CONTENT_TYPE,
        headers={"Cache-Control": "no-store", **problem.headers()},
    )
