"""The way of a `tools/call`, whichever wire it comes on: find the tool, check the call, answer it through its door."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import orjson
from mcp_types import CallToolRequestParams

from mcptasks_crds.arguments import EMPTY
from mcptasks_crds.limits import ARGUMENTS_BYTES, KIB, PROGRESS_TOKEN_STORED_BYTES, stored_bytes
from mcptasks_crds.task import McpTask

from .answering import answer_what_conforms
from .dispatch import Services, parsed
from .doors import Door, Handle, Held, Refused, door_of
from .errors import InvalidParamsError, RefusedError, UnavailableError
from .exchange import TASK_CLAIM, Exchange, Result
from .holding import Hold, hold
from .idempotency import Identity, identities, key_of
from .jsonrpc import quoted
from .offers import find_tool
from .prequestions import ROUNDS_CLAIM, DeclinedError, ask_first
from .questions import ELICITATION, NobodyToAskError, Plan, plan_of
from .tasks import NewTask, OtherCallError, TaskNotFoundError
from .tools import InlineTool, JobTool, Tool

MAX_VIOLATION_LENGTH: Final = 500
_NO_ANSWERS: Final[Mapping[str, str]] = MappingProxyType({})


async def call_tool(services: Services, exchange: Exchange) -> Result:
    """Answer a call.

    Raises:
        InvalidParamsError: there is no such tool for this caller, or the call is malformed.
        InputRequired: it goes on with the client's answers, which come with a retry.
        RpcError: it cannot be run.
    """
    params = parsed(CallToolRequestParams, _only(exchange.params, "name", "arguments"))
    tool = find_tool(services, params.name, caller=exchange.caller)
    if tool is None:
        raise InvalidParamsError(f"Unknown tool: {quoted(params.name)}")
    # A null is an object's absence to the wire, and would be a null to the pod.
    source = EMPTY if params.arguments is None else exchange.sources["arguments"]
    arguments = exchange.params.get("arguments") or {}
    match tool:
        case JobTool():
            return await _run_as_task(services, exchange, tool, arguments, source)
        case InlineTool():
            return await _run_inline(services, exchange, tool, arguments)
        case _:
            raise TypeError(f"no way to run {type(tool).__name__}")


def tool_error(exchange: Exchange, text: str) -> Result:
    """A result that says what was wrong with the call, for the model that made it."""
    return exchange.finished(orjson.dumps({"content": [{"type": "text", "text": text}], "isError": True}).decode())


async def _run_inline(services: Services, exchange: Exchange, tool: InlineTool, arguments: Mapping[str, Any]) -> Result:
    if exchange.abilities.wants_task:
        raise exchange.refused_task(required=False)
    exchange.check_mirrored(tool.mirrored, arguments)
    if problem := _problem(tool, arguments):
        return tool_error(exchange, problem)
    running = tool.run(exchange, arguments)
    if not exchange.abilities.closing_cancels:
        running = services.background.outlive(running, unless=lambda: exchange.is_withdrawn)
    result = await running
    return exchange.finished(orjson.dumps(result).decode())


async def _run_as_task(
    services: Services, exchange: Exchange, tool: JobTool, arguments: Mapping[str, Any], source: str
) -> Result:
    door = door_of(tool, exchange.abilities)
    if isinstance(door, Refused):
        raise exchange.refused_task(required=door.required)
    exchange.check_mirrored(tool.mirrored, arguments)
    if len(source.encode()) > ARGUMENTS_BYTES:
        return tool_error(
            exchange,
            f"The arguments are larger than {ARGUMENTS_BYTES // KIB} KiB of JSON, the most a task can take: "
            "hand over large data by reference, such as a URL or a file's name",
        )
    if problem := _problem(tool, arguments):
        return tool_error(exchange, problem)
    call = _Call(services=services, exchange=exchange, tool=tool, door=door, source=source)
    claimed = exchange.claims.get(TASK_CLAIM)
    if claimed is not None:
        return await call.go_on(claimed)
    try:
        return await call.begin()
    except NobodyToAskError:
        raise exchange.missing(ELICITATION, why="this tool asks what only a person may answer") from None
    except DeclinedError as error:
        return tool_error(exchange, str(error))


@dataclass(frozen=True, kw_only=True)
class _Call:
    """A call that is in order, of a tool that runs as a Job."""

    services: Services
    exchange: Exchange
    tool: JobTool
    door: Door
    source: str
    """The arguments as the client wrote them."""

    async def begin(self) -> Result:
        """Answer a call that comes for the first time, or again: under its idempotency key, or with first answers."""
        keyed = self._identities()
        for identity in keyed:
            try:
                task = await self.services.tasks.get(identity.name, caller=self.exchange.caller)
            except TaskNotFoundError:
                continue
            if task.spec.arguments_digest != identity.arguments_digest:
                raise OtherCallError
            return await self._answer(task, is_again=True)
        plan = plan_of(self.tool, self.door, self.exchange.abilities)
        answers = await ask_first(self.exchange, plan.first)
        task = await self._create(self._new(plan, answers, keyed[0] if keyed else None))
        return await self._answer(task, is_again=bool(keyed))  # another replica may have been first

    async def go_on(self, task_id: str) -> Result:
        """Answer the retry of a call whose task has asked something, with the answers that it brings."""
        task = await self.services.tasks.get(task_id, caller=self.exchange.caller)
        return await self._answer(task, is_again=True, answers=self.exchange.response_sources)

    async def _answer(self, task: McpTask, *, is_again: bool, answers: Mapping[str, str] = _NO_ANSWERS) -> Result:
        services, exchange, task_id = self.services, self.exchange, task.metadata.name
        match self.door:
            case Handle():
                await answer_what_conforms(services.tasks, task_id, answers, caller=exchange.caller)
                if not task.spec.detached:  # it was made for a held call, which shall not end it any more
                    task = await services.tasks.detach(task_id, caller=exchange.caller)
                return exchange.handle(task)
            case Held() as door:
                may_come_back = key_of(exchange.params) is not None
                how = Hold(door=door, is_again=is_again, may_come_back=may_come_back, answers=answers)
                return await hold(services, exchange, task, how)

    async def _create(self, new: NewTask) -> McpTask:
        creating = self.services.tasks.create(new, caller=self.exchange.caller)
        try:
            if self.exchange.abilities.closing_cancels:
                return await creating
            return await self.services.background.outlive(creating)
        except (UnavailableError, RefusedError, asyncio.CancelledError):
            if new.name is not None and not new.detached:
                # It may be there all the same, and its client may come for it once more.
                self.services.background.abandon(
                    self.services.tasks, new.name, held_at={None}, caller=self.exchange.caller, may_come_back=True
                )
            raise

    def _identities(self) -> tuple[Identity, ...]:
        return identities(
            self.services.signer,
            caller=self.exchange.caller,
            tool=self.tool.name,
            key=key_of(self.exchange.params),
            rounds=self.exchange.claims.get(ROUNDS_CLAIM),
            arguments=self.source,
        )

    def _new(self, plan: Plan, answers: Mapping[str, str], identity: Identity | None) -> NewTask:
        tool, token = self.tool, self.exchange.progress.token
        return NewTask(
            tool=tool.name,
            tool_uid=tool.uid,
            tool_generation=tool.generation,
            input_schema=tool.input_schema,
            arguments=self.source,
            retention_seconds=tool.retention_seconds,
            poll_interval_ms=tool.poll_interval_ms,
            name=None if identity is None else identity.name,
            arguments_digest=None if identity is None else identity.arguments_digest,
            questions={**plan.first, **plan.by_task},
            answers=answers,
            progress_token=token if token and stored_bytes(token) <= PROGRESS_TOKEN_STORED_BYTES else None,
            request_key=self.exchange.request_key,
            detached=isinstance(self.door, Handle),
        )


def _problem(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, for the model that wrote them."""
    violation = tool.arguments.violation(arguments)
    if violation is None:
        return None
    text = str(violation)
    return "Invalid arguments: " + (
        text if len(text) <= MAX_VIOLATION_LENGTH else text[: MAX_VIOLATION_LENGTH - 3] + "..."
    )


def _only(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The named parameters: others (`task`, which the modern wire does not have) are not looked at."""
    return {name: params[name] for name in names if name in params}
