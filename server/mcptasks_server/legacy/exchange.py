"""A legacy request under way. Its client is asked by requests on the request's own stream, and answers by a POST."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from mcptasks_crds.task import McpTask
from mcptasks_server.asking import ELICIT, LIST_ROOTS, SAMPLE, is_answer, is_declared, required_capability
from mcptasks_server.caller import Caller
from mcptasks_server.errors import InvalidParamsError, RpcError
from mcptasks_server.exchange import Abilities, Exchange, InputRequest, Result
from mcptasks_server.headers import Headers
from mcptasks_server.jsonrpc import Message, Response, quoted
from mcptasks_server.outbox import Outbox
from mcptasks_server.progress import ProgressLine, token_of

from .errors import TaskSupportError, UndeclaredCapabilityError
from .first_round import FirstRound
from .projection import IMMEDIATE_RESPONSE, call_result, created_members, related
from .replica import Replica
from .result_streams import ResultStream
from .server_requests import Asked, TaskQuestion
from .sessions import Session

ASK_SECONDS: Final = 600.0
"""How long an inline tool's request waits for its client: a person may have to answer."""
TRIES: Final = 3
"""How often a client is asked that gives no answer to what it was asked."""
Meta = Mapping[str, Any] | None
CANCELLED: Final[Mapping[str, Any]] = {"action": "cancel"}
"""The answer to a form that the client could not put before anybody."""


@dataclass(frozen=True, kw_only=True)
class LegacyExchange(Exchange):
    """One legacy request."""

    session: Session
    replica: Replica
    asked: Asked = field(default_factory=Asked)
    """The questions of a task that were put on this stream."""
    stream: ResultStream = field(default_factory=ResultStream)
    """Whether this stream may speak for its task."""
    of_task: bool = False
    """Whether the request is about a task that its client knows, so that what is sent to it names that task."""

    @property
    def is_withdrawn(self) -> bool:
        """By `notifications/cancelled`."""
        return self.request_key is not None and self.replica.under_way.is_withdrawn(self.request_key)

    async def ask(self, requests: Mapping[str, InputRequest]) -> Mapping[str, Any]:
        """Put all of them at once, and wait for all answers. They must come to this replica."""
        for request in requests.values():
            if not is_declared(request, self.abilities.capabilities):
                raise self.missing(required_capability(request), why=f"this request needs {request.method}")
        with ExitStack() as waiting:
            sent = {key: await self._put(request, waiting) for key, request in requests.items()}
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    return {
                        key: await self._answer_to(requests[key], waiting, *expected) for key, expected in sent.items()
                    }
            except TimeoutError as error:
                for request_id, answer in sent.values():
                    if not answer.done() or answer.cancelled():
                        await self._give_up(request_id)
                raise RpcError(f"The client did not answer within {ASK_SECONDS:g} s") from error

    async def ask_first(
        self, requests: Mapping[str, InputRequest], *, task_id: str, seconds: float, stopping: asyncio.Event
    ) -> Mapping[str, str]:
        """Put all of them on this stream, until all are answered, one is declined, or the time is up.

        Their ids are those of the task's own questions, so an answer that comes later is the task's.
        """
        return await FirstRound(exchange=self, requests=requests, task_id=task_id).answers(
            seconds=seconds, stopping=stopping
        )

    async def put_for_task(self, question: TaskQuestion, request: InputRequest, *, meta: Meta = None) -> str:
        """Put a question of a task on this stream; its id."""
        request_id = self.replica.server_requests.question_id(question, session=self.session.nonce, asked=self.asked)
        await self._send(request_id, request, meta=meta)
        return request_id

    async def ask_for_task(self, task: McpTask, requests: Mapping[str, InputRequest]) -> None:
        """Put those that were not put on this stream yet. Their answers may come to any replica."""
        for key, request in requests.items() if self.stream.speaks else ():
            if self.asked.is_new(key):
                meta = related(task.metadata.name) if self.of_task else None
                await self.put_for_task(TaskQuestion(task_id=task.metadata.name, key=key), request, meta=meta)

    async def wants_a_look(self) -> None:
        """After an answer that its question does not take."""
        await self.asked.news()

    async def log(self, level: str, data: Any, *, logger: str | None = None) -> None:
        """Send a log message, if the session's level lets it through."""
        if self.replica.log_levels.wants(self.session.nonce, level):
            params = {"level": level, "data": data} | ({} if logger is None else {"logger": logger})
            await self.outbox.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    def handle(self, task: McpTask) -> Result:
        """A CreateTaskResult, with words for the model that is told of it before the result is there."""
        task_id = task.metadata.name
        words = f"The call runs as task {task_id}. Its result will follow; do not call the tool again for it."
        return {"task": created_members(task), "_meta": {**related(task_id), IMMEDIATE_RESPONSE: words}}

    def finished(self, text: str) -> Result:
        """The tool's result as it wrote it."""
        return call_result(text)

    def missing(self, required: Mapping[str, Any], *, why: str) -> RpcError:
        """-32600: this wire has no code of its own for it."""
        names = ", ".join(required)
        return UndeclaredCapabilityError(
            f"The client has not declared the capability {names} in initialize: {why}",
            data={"requiredCapabilities": dict(required)},
        )

    def refused_task(self, *, required: bool) -> RpcError:
        """-32601."""
        if not required:
            return TaskSupportError("This tool does not run as a task: call it without the parameter task")
        if self.session.has_tasks:
            return TaskSupportError('This tool only runs as a task: call it with the parameter "task": {}')
        return TaskSupportError(f"This tool only runs as a task, which version {self.session.version} does not have")

    async def _put(self, request: InputRequest, waiting: ExitStack) -> tuple[str, asyncio.Future[Response]]:
        request_id, answer = waiting.enter_context(self.replica.server_requests.expecting(session=self.session.nonce))
        await self._send(request_id, request)
        return request_id, answer

    async def _answer_to(
        self, request: InputRequest, waiting: ExitStack, request_id: str, answer: asyncio.Future[Response]
    ) -> Any:
        for _ in range(TRIES):
            response = await answer
            if response.result is None:
                return _failed(request, response.error or {})
            if is_answer(request, response.result):
                return response.result
            structlog.get_logger().info("a client's answer is none", method=request.method)
            request_id, answer = await self._put(request, waiting)
        await self._give_up(request_id)
        raise InvalidParamsError(f"The client's answers to {request.method} are not what was asked for")

    async def _send(self, request_id: str, request: InputRequest, *, meta: Mapping[str, Any] | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": request.method}
        params = dict(request.params or {})
        if params.get("mode") == "form":
            del params["mode"]  # the default, and 2025-06-18 has no such member
        if meta is not None:
            params["_meta"] = {**params.get("_meta", {}), **meta}
        if params or request.params is not None:
            message["params"] = params
        await self.outbox.send(message)

    async def take_back(self, request_id: str, reason: str) -> None:
        """Tell the client that nobody waits for its answer any more."""
        params = {"requestId": request_id, "reason": reason}
        await self.outbox.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    async def _give_up(self, request_id: str) -> None:
        await self.take_back(request_id, "no answer in time")


def exchange_of(
    message: Message,
    headers: Headers,
    *,
    session: Session,
    caller: Caller,
    outbox: Outbox,
    replica: Replica,
    request_key: str | None,
) -> LegacyExchange:
    """The exchange of a session's request.

    `request_key`: by which its client can withdraw it. A call that becomes a task cannot be withdrawn.

    Raises:
        InvalidParamsError: its progress token or `task` is malformed.
    """
    params = message.params or {}
    wants_task = message.method == "tools/call" and session.has_tasks and _wants_task(params)
    return LegacyExchange(
        id=message.id or "null",
        caller=caller,
        abilities=_abilities(session, is_heard=outbox.is_heard, wants_task=wants_task),
        params=params,
        sources=message.sources,
        headers=headers,
        outbox=outbox,
        progress=ProgressLine(outbox, token=token_of(params, message.sources)),
        request_key=None if wants_task else request_key,
        session=session,
        replica=replica,
    )


def _abilities(session: Session, *, is_heard: bool, wants_task: bool) -> Abilities:
    """`is_heard`: whether the client takes anything before the answer; one that does not cannot be asked."""
    declared = session.capabilities if is_heard else {}
    return Abilities(
        takes_task=wants_task,
        wants_task=wants_task,
        elicitation=is_declared(InputRequest(method=ELICIT), declared),
        sampling=is_declared(InputRequest(method=SAMPLE), declared),
        roots=is_declared(InputRequest(method=LIST_ROOTS), declared),
        capabilities=declared,
    )


def _wants_task(params: Mapping[str, Any]) -> bool:
    task = params.get("task")
    if task is None:
        return False
    if not isinstance(task, Mapping):
        raise InvalidParamsError("Invalid params: task: must be a JSON object")
    ttl = task.get("ttl")
    if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, int | float) or ttl < 0):
        raise InvalidParamsError("Invalid params: task/ttl: must be a number of milliseconds, 0 or more")
    return True


def _failed(request: InputRequest, error: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a client's error means to whoever asked: a form was cancelled; nothing else has such an answer."""
    if request.method == ELICIT:
        return CANCELLED
    raise RpcError(f"The client could not answer {request.method}: {quoted(str(error.get('message', 'no message')))}")
