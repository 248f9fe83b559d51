"""The client library: tools are listed and called, tasks are followed, answered and cancelled.

>>> async def main() -> None:
...     async with TasksClient("http://127.0.0.1:8080/mcp") as client:
...         outcome = await client.call_tool("summarize-table", {"group_by": "country"})
...         if isinstance(outcome, TaskHandle):
...             print(await outcome.wait())
"""

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Self, TypeVar

from pydantic import BaseModel, ValidationError

from .errors import (
    HeaderMismatchError,
    InternalServerError,
    InvalidAnswerError,
    NotFinishedError,
    ProtocolError,
    RequestError,
    UnknownTaskError,
    UnreachableError,
)
from .handle import OnRetry, OnUpdate, TaskHandle
from .headers import is_well_annotated, parameter_headers
from .logs import TaskLog, task_log, task_log_uri
from .models import TASK, CreatedTask, Discovery, InputRequired, InputRequiredTask, Task, Tool, ToolResult
from .polling import poll_delay, retry_delay
from .transport import OnProgress, Transport
from .wire import INVALID_PARAMS, TASKS_EXTENSION, Arguments, arguments_text, encode

REQUEST_SECONDS: Final = 30.0
"""The longest a server may take to answer what is not a tool's own work."""
LAST_LOOK_SECONDS: Final = 2.0
"""What a look at a task is given when the time to wait is all but over."""
PATIENCE_SECONDS: Final = 300.0
"""How long a server may be unreachable while a task is waited for."""

Model = TypeVar("Model", bound=BaseModel)
Value = TypeVar("Value")


class TasksClient:
    """A client of one MCP server. Use as an async context manager; it may be shared by many asyncio tasks."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A client of the server at a URL.

        Args:
            url: the server's endpoint, such as `http://127.0.0.1:8080/mcp`.
            headers: sent with each request, such as `Authorization`.
            capabilities: MCP's client capabilities beside the tasks extension: `mcptasks.questions.FORMS` for a
                caller that can answer questions. A server does not ask those who declare nothing.
            patience_seconds: how long the server may be unreachable while a task is waited for.
            sleep: pauses for some seconds.
            clock: seconds that only grow.
        """
        extensions = {**(capabilities or {}).get("extensions", {}), TASKS_EXTENSION: {}}
        self._capabilities = {**(capabilities or {}), "extensions": extensions}
        self._transport = Transport(url, headers=headers)
        self._patience_seconds = patience_seconds
        self._sleep = sleep
        self._clock = clock
        self._ids = itertools.count(1)
        self._tools: dict[str, Tool] = {}

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.__aexit__()

    async def discover(self) -> Discovery:
        """What the server is and can do."""
        return _read(Discovery, await self._request("server/discover"))

    async def list_tools(self) -> tuple[Tool, ...]:
        """All tools that the server offers to this caller, in its order."""
        tools: list[Tool] = []
        params: dict[str, Any] = {}
        seen: set[str] = set()
        while True:
            page = await self._request("tools/list", params)
            tools += [_read(Tool, tool) for tool in page.get("tools", ())]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
            if cursor in seen:
                raise ProtocolError("the server's list of tools goes round in circles")
            seen.add(cursor)
            params = {"cursor": cursor}
        usable = tuple(tool for tool in tools if is_well_annotated(tool.input_schema))
        self._tools = {tool.name: tool for tool in usable}
        return usable

    async def call_tool(
        self,
        name: str,
        arguments: Arguments = "{}",
        *,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
        retry: tuple[InputRequired, Mapping[str, Any]] | None = None,
    ) -> "ToolResult | TaskHandle | InputRequired":
        """Call a tool. It is never called twice: a call without an answer is not repeated.

        Args:
            name: the tool's name.
            arguments: a mapping, or a JSON object as text, which reaches the tool as it is written.
            timeout_seconds: the longest time without a sign of life; None: a tool takes the time it takes.
            on_progress: is told of progress, where the server runs the tool within the call.
            retry: what the server has asked before it started anything, and the answers by its keys. The call must be
                the same otherwise.

        Returns:
            The result, or a handle where the server made a task of it, or its questions where it asks first.

        Raises:
            ArgumentsError: the arguments are not a JSON object.
            UnreachableError: no answer; whether the tool runs is not known.
            RequestError: the server refused the call.
        """
        text = arguments_text(arguments)
        try:
            answer = await self._call(name, text, timeout_seconds, on_progress, retry)
        except HeaderMismatchError:
            # Only the tool's schema says which arguments are wanted as headers, and the tool has not run.
            if name in self._tools or name not in {tool.name for tool in await self.list_tools()}:
                raise
            answer = await self._call(name, text, timeout_seconds, on_progress, retry)
        match answer.get("resultType", "complete"):
            case "task":
                return TaskHandle(self, _read(CreatedTask, answer))
            case "input_required":
                return _read(InputRequired, answer)
            case "complete":
                return _read(ToolResult, answer)
            case other:
                raise ProtocolError(f"the server answered a call with a result of the type {other!r}")

    def task(self, task_id: str) -> TaskHandle:
        """A handle of a task whose id is known from elsewhere."""
        return TaskHandle(self, task_id)

    async def get_task(self, task_id: str, *, timeout_seconds: float = REQUEST_SECONDS) -> Task:
        """The task as it is now.

        Raises:
            UnreachableError: no answer.
            UnknownTaskError: the server has no such task.
        """
        answer = await self._request("tasks/get", {"taskId": task_id}, timeout_seconds=timeout_seconds)
        try:
            return TASK.validate_python(answer)
        except ValidationError as error:
            raise ProtocolError(f"the server's task is not one: {error}") from error

    async def cancel_task(self, task_id: str) -> None:
        """Ask for a task to be cancelled. The answer does not say that it is; a task that is over stays as it is."""
        await self._request("tasks/cancel", {"taskId": task_id})

    async def update_task(self, task_id: str, input_responses: Mapping[str, Any]) -> None:
        """Answer questions of a task, by their keys. Repeated while the server is away: the first answer counts.

        Raises:
            InvalidAnswerError: an answer is not what its question asks for; the server has stored none of them.
            UnknownTaskError: the server has no such task.
            UnreachableError: the server was away for longer than this client's patience.
        """
        params = {"taskId": task_id, "inputResponses": input_responses}
        try:
            await self._patiently(lambda seconds: self._request("tasks/update", params, timeout_seconds=seconds))
        except UnknownTaskError as error:
            # Both are -32602 on the wire; a task that can be looked at is not unknown.
            await self.get_task(task_id)
            raise InvalidAnswerError(str(error), code=error.code, data=error.data) from error

    async def read_resource(self, uri: str) -> tuple[Mapping[str, Any], ...]:
        """The contents of a resource, as the server sent them.

        Raises:
            RequestError: the server has no such resource.
        """
        contents = (await self._request("resources/read", {"uri": uri})).get("contents")
        if not isinstance(contents, list) or not all(isinstance(each, dict) for each in contents):
            raise ProtocolError("the server's resource has no contents")
        return tuple(contents)

    async def read_log(self, task_id: str) -> TaskLog:
        """What a task has printed so far (the resource `mcptask://<task_id>/log`).

        Raises:
            UnknownTaskError: the server has no such task.
        """
        try:
            contents = await self.read_resource(task_log_uri(task_id))
        except RequestError as error:
            if error.code != INVALID_PARAMS:
                raise
            raise UnknownTaskError(f"the server has no task {task_id}", code=error.code, data=error.data) from error
        return task_log(contents)

    async def wait_for_task(
        self,
        task_id: str,
        *,
        timeout_seconds: float | None = None,
        on_update: OnUpdate | None = None,
        on_retry: OnRetry | None = None,
        answered: frozenset[str] = frozenset(),
        first_interval_ms: int | None = None,
    ) -> Task:
        """Follow a task until it is over or asks something. A server that is away for a while does not end it.

        Args:
            task_id: the task.
            timeout_seconds: the longest time to wait; None: without end.
            on_update: is given the task at each look.
            on_retry: is given the error of each look that failed and will be repeated.
            answered: keys of questions that were answered already; a server may still show them for a moment.
            first_interval_ms: how often the server wants to be asked, as far as it is known.

        Raises:
            NotFinishedError: the time is over; the task goes on.
            UnknownTaskError: the server has no such task.
            UnreachableError: the server was away for longer than this client's patience.
        """
        deadline = None if timeout_seconds is None else self._clock() + timeout_seconds
        interval_ms = first_interval_ms
        for polls in itertools.count():
            task = await self._patiently(
                lambda seconds: self.get_task(task_id, timeout_seconds=seconds), deadline=deadline, on_retry=on_retry
            )
            if on_update is not None:
                on_update(task)
            if task.status.is_terminal or (
                isinstance(task, InputRequiredTask) and not answered.issuperset(task.input_requests)
            ):
                return task
            interval_ms = interval_ms if task.poll_interval_ms is None else task.poll_interval_ms
            await self._pause(poll_delay(polls, interval_ms), deadline)
        raise AssertionError("counting does not end")

    async def _patiently(
        self,
        request: Callable[[float], Awaitable[Value]],
        *,
        deadline: float | None = None,
        on_retry: OnRetry | None = None,
    ) -> Value:
        """What a request that may be repeated gives, asked for again and again while the server is away."""
        failures = 0
        away_since = self._clock()
        while True:
            left = REQUEST_SECONDS if deadline is None else deadline - self._clock()
            try:
                # A server that hangs must not make the caller's own time limit longer (than by a last short look).
                return await request(min(max(left, LAST_LOOK_SECONDS), REQUEST_SECONDS))
            except (UnreachableError, InternalServerError) as error:
                failures += 1
                if self._clock() - away_since >= self._patience_seconds:
                    raise
                asked = error.retry_after_seconds if isinstance(error, UnreachableError) else None
                if on_retry is not None:
                    on_retry(error)
            # S311: spreads retries, keeps no secret.
            await self._pause(retry_delay(failures, asked_seconds=asked, chance=random.random()), deadline)  # noqa: S311

    async def _pause(self, seconds: float, deadline: float | None) -> None:
        if deadline is not None:
            left = deadline - self._clock()
            if left <= 0:
                raise NotFinishedError("the task is not over yet")
            seconds = min(seconds, left)
        await self._sleep(seconds)

    async def _call(
        self,
        name: str,
        arguments: str,
        timeout_seconds: float | None,
        on_progress: OnProgress | None,
        retry: tuple[InputRequired, Mapping[str, Any]] | None,
    ) -> dict[str, Any]:
        headers: dict[str, str] = {}
        if name in self._tools:
            headers = parameter_headers(self._tools[name].input_schema, json.loads(arguments))
        request = encode(
            "tools/call",
            {"name": name, **({} if retry is None else _brought_back(*retry))},
            request_id=next(self._ids),
            capabilities=self._capabilities,
            arguments=arguments,
            headers=headers,
        )
        return await self._transport.exchange(request, timeout_seconds=timeout_seconds, on_progress=on_progress)

    async def _request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout_seconds: float = REQUEST_SECONDS
    ) -> dict[str, Any]:
        request = encode(method, params or {}, request_id=next(self._ids), capabilities=self._capabilities)
        return await self._transport.exchange(request, timeout_seconds=timeout_seconds)


def _brought_back(asked: InputRequired, answers: Mapping[str, Any]) -> dict[str, Any]:
    """What the repeated call has beside its own parameters."""
    state = {} if asked.request_state is None else {"requestState": asked.request_state}
    return {"inputResponses": dict(answers), **state}


def _read(kind: type[Model], document: Any) -> Model:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        raise ProtocolError(f"the server's {kind.__name__} is not one: {error}") from error
