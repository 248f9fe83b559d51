"""A call that is held open while its task runs: how it is answered, and what becomes of the task if it is cut.

Nothing of it is kept but the task: whoever takes a cut call up again, at whichever replica, follows the same object.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mcptasks_crds.task import McpTask
from mcptasks_crds.times import format_time

from .answering import answer_what_conforms
from .dispatch import Services
from .doors import Held
from .ending import outcome_of
from .errors import UnavailableError
from .exchange import Exchange, Result
from .following import AGAIN_SECONDS, follow
from .handles import handle_result
from .operations import Door, Phase
from .projection import is_over
from .questions import a_model_is_asked
from .tasks import held_at


@dataclass(frozen=True, kw_only=True)
class Hold:
    """How a call is held."""

    door: Held
    is_again: bool = False
    """Whether somebody else may hold the same call, who is to leave it to us."""
    may_come_back: bool = False
    """Whether the call, if it is cut, can be taken up again by its idempotency key."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Answers to the task's questions that it brings, by key, as JSON text."""


async def hold(services: Services, exchange: Exchange, task: McpTask, how: Hold) -> Result:
    """The result of a task, or a handle where it takes too long.

    If the client closes the stream before the answer, the task is cancelled, where that is what closing means: at once,
    or, where the call may come back, after a while.

    Raises:
        RpcError: the task failed, or was cancelled.
        InputRequired: it asks what the client answers by a retry.
    """
    at = services.clock()
    try:
        if how.is_again and not is_over(task):
            await services.tasks.hold_again(task.metadata.name, at=at, caller=exchange.caller)
        await answer_what_conforms(services.tasks, task.metadata.name, how.answers, caller=exchange.caller)
        with services.operations.under_way(exchange, Phase.HELD, door=Door.PLAIN):
            return await _held(services, exchange, task.metadata.name, how.door)
    except asyncio.CancelledError:
        # A process that ends cuts calls too: that is no client's wish.
        if exchange.abilities.closing_cancels and not services.stopping.is_set():
            services.background.abandon(
                services.tasks,
                task.metadata.name,
                held_at={held_at(task), format_time(at)},
                caller=exchange.caller,
                may_come_back=how.may_come_back,
            )
        raise


async def _held(services: Services, exchange: Exchange, task_id: str, door: Held) -> Result:
    is_enough = _enough(exchange, door)
    ends = (door.seconds, exchange.caller.seconds_left(now=services.clock().timestamp()))
    seconds = min((each for each in ends if each is not None), default=None)
    while True:
        try:
            task = await follow(services, exchange, task_id, seconds=seconds, is_enough=is_enough)
            if not is_over(task):
                # Committed before the handle's first byte: from then on no disconnect touches the task.
                task = await services.tasks.detach(task_id, caller=exchange.caller)
        except UnavailableError:
            if services.stopping.is_set():
                raise
            seconds = AGAIN_SECONDS  # an answer now would lose the task: its client does not know its name
            continue
        if is_over(task):
            return exchange.finished(outcome_of(task))
        if door.seconds is None:
            raise _left(task)
        return exchange.finished(handle_result(task))


def _enough(exchange: Exchange, door: Held) -> Callable[[McpTask], bool]:
    """When a call need not be held any longer: at the end, or where only a model can answer, which needs the handle."""
    hands_out_to_ask = door.seconds is not None and not exchange.abilities.elicitation

    def is_enough(task: McpTask) -> bool:
        return is_over(task) or (hands_out_to_ask and a_model_is_asked(task))

    return is_enough


def _left(task: McpTask) -> UnavailableError:
    """For a call that is to be held until its end, where the process or its caller's token ends before it."""
    task_id = task.metadata.name
    return UnavailableError(
        "The call cannot be held any longer: the server is being restarted, or the caller's token has ended. It goes "
        f"on as task {task_id}: get its result by calling `task_get` with that taskId. Do not call "
        f"`{task.spec.tool.name}` again: that would start it a second time",
        data={"taskId": task_id},
    )
