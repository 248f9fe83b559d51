"""A modern request under way. Its client is never sent a request: what it is asked stands in a result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from mcp_types import LOG_LEVEL_META_KEY

from mcptasks_crds import jsontext
from mcptasks_crds.mirrored import MirroredParameter
from mcptasks_crds.task import McpTask
from mcptasks_server.asking import ELICIT, LIST_ROOTS, SAMPLE, is_answer, is_declared, required_capability
from mcptasks_server.caller import Caller
from mcptasks_server.era import TASKS_EXTENSION, Envelope
from mcptasks_server.errors import InvalidParamsError, MissingCapabilityError, RpcError
from mcptasks_server.exchange import LOG_LEVELS, TASK_CLAIM, Abilities, Exchange, InputRequest, InputRequired, Result
from mcptasks_server.headers import Headers
from mcptasks_server.jsonrpc import Message
from mcptasks_server.outbox import Outbox
from mcptasks_server.parameters import check_mirrored
from mcptasks_server.progress import ProgressLine, token_of
from mcptasks_server.projection import complete_result, created_task

from . import mrtr

ANSWERS_CLAIM: Final = "answers"
"""In the claims of a request that was answered by questions: the answers of its earlier rounds."""

_TASKS: Final[Mapping[str, Any]] = {"extensions": {TASKS_EXTENSION: {}}}


@dataclass(frozen=True, kw_only=True)
class ModernExchange(Exchange):
    """One modern request."""

    log_level: str | None = None
    """From which level up the client wants log messages; None where it wants none."""
    taken: dict[str, Any] = field(default_factory=dict)
    """The answers that this round's questions were given already."""

    async def ask(self, requests: Mapping[str, InputRequest]) -> Mapping[str, Any]:
        """The answers of this round and of those before it; the result asks for whatever is missing or is no answer."""
        for request in requests.values():
            if not is_declared(request, self.abilities.capabilities):
                raise self.missing(required_capability(request), why=f"this request needs {request.method}")
        # What was answered earlier stays so, in an earlier round or in this one: it may have been acted on.
        given = {**self.claims.get(ANSWERS_CLAIM, {}), **self.taken}
        offered = {key: answer for key, answer in self.responses.items() if key in requests}
        for key, request in requests.items():
            if not is_answer(request, given.get(key)):
                given.pop(key, None)
                if is_answer(request, offered.get(key)):
                    given[key] = offered[key]
        self.taken.update(given)
        missing = {key: request for key, request in requests.items() if key not in given}
        if missing:
            self._check_can_be_asked()
            raise InputRequired(missing, claims={**self.claims, ANSWERS_CLAIM: given})
        return {key: given[key] for key in requests}

    async def ask_for_task(self, task: McpTask, requests: Mapping[str, InputRequest]) -> None:
        """The result asks; the retry's claims name the task."""
        self._check_can_be_asked()
        raise InputRequired(requests, claims={TASK_CLAIM: task.metadata.name})

    def check_mirrored(self, parameters: tuple[MirroredParameter, ...], arguments: Mapping[str, Any]) -> None:
        """That the tool's mirrored arguments stand in the `Mcp-Param-*` headers."""
        check_mirrored(self.headers, parameters=parameters, arguments=arguments)

    async def log(self, level: str, data: Any, *, logger: str | None = None) -> None:
        """Send a log message, if this very request asked for those of that level."""
        if self.log_level is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(self.log_level):
            return
        params = {"level": level, "data": data} | ({} if logger is None else {"logger": logger})
        await self.outbox.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    def handle(self, task: McpTask) -> Result:
        """A CreateTaskResult."""
        return created_task(task).members()

    def finished(self, text: str) -> Result:
        """The tool's result as it wrote it, marked as complete."""
        complete = complete_result(text)
        if complete is None:
            raise RpcError("The tool's result is no JSON object")
        sources = jsontext.members(complete)
        # These two are looked at on the way out.
        parsed = {name: jsontext.parse(sources[name]) for name in ("isError", "_meta") if name in sources}
        if not isinstance(parsed.get("_meta", {}), Mapping):
            parsed["_meta"] = {}
        return {name: orjson.Fragment(value.encode()) for name, value in sources.items()} | parsed

    def missing(self, required: Mapping[str, Any], *, why: str) -> RpcError:
        """-32021."""
        return MissingCapabilityError(required, why=why)

    def refused_task(self, *, required: bool) -> RpcError:
        """-32021: on this wire only the server decides, so the client can only want too little."""
        assert required
        return lacking_tasks("this tool only runs as a task")

    def _check_can_be_asked(self) -> None:
        if not self.abilities.can_retry:
            raise RpcError("This method's result cannot ask for input")


def exchange_of(
    message: Message, headers: Headers, *, envelope: Envelope, caller: Caller, outbox: Outbox, retry: mrtr.Retry
) -> ModernExchange:
    """The exchange of a request whose envelope was checked.

    Raises:
        InvalidParamsError: a member of its `_meta` is malformed.
    """
    params = message.params or {}
    meta = params["_meta"]
    return ModernExchange(
        id=message.id or "null",
        caller=caller,
        abilities=_abilities(envelope, can_retry=message.method in mrtr.METHODS),
        params=params,
        sources=message.sources,
        headers=headers,
        outbox=outbox,
        progress=ProgressLine(outbox, token=token_of(params, message.sources)),
        claims=retry.claims,
        responses=retry.responses,
        response_sources=retry.sources,
        log_level=_log_level(meta),
    )


def lacking_tasks(why: str) -> RpcError:
    """The error for a client that did not declare the tasks extension, in this very request."""
    return MissingCapabilityError(_TASKS, why=why)


def _abilities(envelope: Envelope, *, can_retry: bool) -> Abilities:
    declared = envelope.capabilities
    return Abilities(
        takes_task=envelope.declares_tasks,
        closing_cancels=True,
        can_retry=can_retry,
        elicitation=is_declared(InputRequest(method=ELICIT), declared),
        sampling=is_declared(InputRequest(method=SAMPLE), declared),
        roots=is_declared(InputRequest(method=LIST_ROOTS), declared),
        capabilities=declared,
    )


def _log_level(meta: Mapping[str, Any]) -> str | None:
    level = meta.get(LOG_LEVEL_META_KEY)
    if level is not None and level not in LOG_LEVELS:
        raise InvalidParamsError(f"Invalid params: _meta/{LOG_LEVEL_META_KEY}: must be one of {', '.join(LOG_LEVELS)}")
    return level
