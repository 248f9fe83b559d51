"""A call of a tool that runs as a Job, answered with its task through its door."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.limits import PROGRESS_TOKEN_STORED_BYTES, stored_bytes
from mcptasks_crds.task import McpTask

from .answering import answer_what_conforms
from .dispatch import Services
from .doors import Door, Handle, Held
from .errors import RefusedError, UnavailableError
from .exchange import TASK_CLAIM, Exchange, Result
from .holding import Hold, hold
from .idempotency import Identity, identities, key_of
from .operations import Phase, door_of_call
from .prequestions import ROUNDS_CLAIM, ask_first
from .projection import is_over
from .questions import Plan, plan_of
from .tasks import NewTask, OtherCallError, TaskNotFoundError
from .tools import JobTool

ASK_SECONDS: Final = 45.0
"""How long a question is put before there is a task, where the call itself does not say how long it is held."""
_NO_ANSWERS: Final[Mapping[str, str]] = MappingProxyType({})


async def go_on(services: Services, exchange: Exchange, door: Door) -> Result:
    """Answer the retry of a call whose task has asked something, with the answers that it brings.

    Raises:
        TaskNotFoundError: the task is not there any more.
    """
    task = await services.tasks.get(exchange.claims[TASK_CLAIM], caller=exchange.caller)
    return await _answer(services, exchange, door, task, is_again=True, answers=exchange.response_sources)


async def _answer(
    services: Services,
    exchange: Exchange,
    door: Door,
    task: McpTask,
    *,
    is_again: bool,
    answers: Mapping[str, str] = _NO_ANSWERS,
) -> Result:
    """Answer a call with its task. `is_again`: whether somebody else may hold the same call."""
    match door:
        case Handle():
            task_id = task.metadata.name
            await answer_what_conforms(services.tasks, task_id, answers, caller=exchange.caller)
            if not (task.spec.detached or is_over(task)):
                # It was made for a held call, whose end must not end it any more.
                task = await services.tasks.detach(task_id, caller=exchange.caller)
            return exchange.handle(task)
        case Held():
            may_come_back = key_of(exchange.params) is not None
            how = Hold(door=door, is_again=is_again, may_come_back=may_come_back, answers=answers)
            return await hold(services, exchange, task, how)


@dataclass(frozen=True, kw_only=True)
class JobCall:
    """A call that is in order."""

    services: Services
    exchange: Exchange
    tool: JobTool
    door: Door
    source: str
    """The arguments as the client wrote them."""

    async def begin(self) -> Result:
        """Answer a call that comes for the first time, or again: under its idempotency key, or with first answers.

        Raises:
            OtherCallError: its key was used for other arguments.
            InputRequired: there are questions to be answered before there is a task.
            DeclinedError: one of them was declined.
            NobodyToAskError: its client cannot put the tool's questions before a person.
        """
        known = identities(
            self.services.signer,
            caller=self.exchange.caller,
            tool=self.tool.name,
            key=key_of(self.exchange.params),
            rounds=self.exchange.claims.get(ROUNDS_CLAIM),
            arguments=self.source,
        )
        task = await self._find(known)
        if task is not None:
            # Whoever made it may have died before all of it was there.
            await self.services.tasks.restore(task, input_schema=self.tool.input_schema, arguments=self.source)
            return await _answer(self.services, self.exchange, self.door, task, is_again=True)
        return await self._first_round(known[0] if known else None)

    async def _first_round(self, identity: Identity | None) -> Result:
        plan = plan_of(self.tool, self.door, self.exchange.abilities)
        name = names.new_task_id() if identity is None else identity.name
        clock = asyncio.get_running_loop().time
        began = clock()
        answers = await ask_first(
            self.exchange,
            plan.first,
            tool=self.tool,
            task_id=name,
            seconds=self._seconds_to_ask(),
            stopping=self.services.stopping,
        )
        plan = plan.left_to_task(plan.first.keys() - answers.keys())
        task = await self._create(self._new(plan, answers, name, identity))
        door = self.door.after(clock() - began) if isinstance(self.door, Held) else self.door
        # Of a call that can come again, another replica may have made the task a moment before.
        return await _answer(self.services, self.exchange, door, task, is_again=identity is not None)

    def _seconds_to_ask(self) -> float:
        """How long a client may be asked before there is a task: as long as its kind waits for an answer at all."""
        seconds, left = self.tool.hold_seconds, self.exchange.caller.seconds_left(now=self.services.clock().timestamp())
        return min(each for each in (ASK_SECONDS if seconds is None else seconds, left) if each is not None)

    async def _find(self, known: tuple[Identity, ...]) -> McpTask | None:
        for identity in known:
            try:
                task = await self.services.tasks.get(identity.name, caller=self.exchange.caller)
            except TaskNotFoundError:
                continue
            if task.spec.arguments_digest != identity.arguments_digest:
                raise OtherCallError
            return task
        return None

    async def _create(self, new: NewTask) -> McpTask:
        creating = self.services.tasks.create(new, caller=self.exchange.caller)
        door = door_of_call(self.exchange.abilities)
        try:
            with self.services.operations.under_way(self.exchange, Phase.CREATE, door=door):
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

    def _new(self, plan: Plan, answers: Mapping[str, str], name: str, identity: Identity | None) -> NewTask:
        tool, token = self.tool, self.exchange.progress.token
        return NewTask(
            tool=tool.name,
            tool_uid=tool.uid,
            tool_generation=tool.generation,
            input_schema=tool.input_schema,
            arguments=self.source,
            retention_seconds=tool.retention_seconds,
            poll_interval_ms=tool.poll_interval_ms,
            running_limit=tool.running_limit,
            queued_limit=tool.queued_limit,
            name=None if identity is None else identity.name,
            chosen_name=name,
            arguments_digest=None if identity is None else identity.arguments_digest,
            questions={**plan.first, **plan.by_task},
            answers=answers,
            progress_token=token if token and stored_bytes(token) <= PROGRESS_TOKEN_STORED_BYTES else None,
            request_key=self.exchange.request_key,
            detached=isinstance(self.door, Handle),
        )
