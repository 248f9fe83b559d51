"""The experimental tasks: `tasks/get`, `tasks/result`, `tasks/cancel`, `tasks/list`. Source: 2025-11-25, "Tasks"."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from mcp_types import PaginatedRequestParams

from mcptasks_crds.task import McpTask
from mcptasks_crds.times import format_time
from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.ending import TaskCancelledError, outcome_of
from mcptasks_server.errors import InvalidParamsError, UnavailableError
from mcptasks_server.exchange import Result
from mcptasks_server.following import follow
from mcptasks_server.largeresults import with_stand_in
from mcptasks_server.operations import Door, Phase
from mcptasks_server.projection import is_over, result_text
from mcptasks_server.signing import Purpose, SealError
from mcptasks_server.wire.ext_tasks import TaskParams

from .exchange import LegacyExchange
from .projection import STOPPING_SECONDS, call_result, cancelled_members, is_cancelled, task_members
from .task_progress import TaskProgress

PAGE_SIZE: Final = 100
"""Tasks in one answer of `tasks/list`."""


async def get_task(services: Services, exchange: LegacyExchange) -> Result:
    """The task's state."""
    return _members(await _task_of(services, exchange), services, exchange)


async def task_result(services: Services, exchange: LegacyExchange) -> Result:
    """The result of the call, once there is one. Until then the stream tells progress and asks questions."""
    task = await _task_of(services, exchange)
    task_id = task.metadata.name
    if not _is_settled(services)(task):
        exchange.outbox.begin()
        with exchange.replica.result_streams.newest(task_id) as stream:
            progress = TaskProgress(task, outbox=exchange.outbox, own_token=exchange.progress.token, stream=stream)
            speaking = replace(exchange, progress=progress, stream=stream, of_task=True)
            seconds = exchange.caller.seconds_left(now=services.clock().timestamp())
            with services.operations.under_way(speaking, Phase.RESULT, door=Door.LEGACY_TASK):
                task = await follow(services, speaking, task_id, seconds=seconds, is_enough=_is_settled(services))
    if is_cancelled(task, now=services.clock()):
        raise TaskCancelledError("The task was cancelled")
    if not is_over(task):
        raise UnavailableError(
            "The task goes on; this stream ends, with its server or its caller's token: call tasks/result again"
        )
    return call_result(outcome_of(task), task_id=task_id)


async def cancel_task(services: Services, exchange: LegacyExchange) -> Result:
    """Cancel the task, and wait until it is: the answer of this wire says that it is cancelled.

    Raises:
        InvalidParamsError: it is over, or ends otherwise before it can be cancelled.
    """
    task = await _task_of(services, exchange)
    _check_not_over(task, services, exchange)
    task_id = task.metadata.name
    await services.tasks.cancel(task_id, caller=exchange.caller)
    task = await follow(services, exchange, task_id, seconds=STOPPING_SECONDS, is_enough=_is_settled(services))
    if not is_cancelled(task, now=services.clock()):
        _check_not_over(task, services, exchange)
    return cancelled_members(task)


async def list_tasks(services: Services, exchange: LegacyExchange) -> Result:
    """The caller's own tasks, newest first, a page at a time."""
    cursor = parsed(PaginatedRequestParams, _only(exchange, "cursor")).cursor
    after = None if cursor is None else _place_of(cursor, services, exchange)
    tasks = sorted(await services.tasks.list(caller=exchange.caller), key=_place, reverse=True)
    rest = [task for task in tasks if after is None or _place(task) < after]
    page = await _whole(rest[:PAGE_SIZE], services, exchange)
    result: dict[str, Any] = {"tasks": [_members(task, services, exchange) for task in page]}
    if len(rest) > PAGE_SIZE:
        claims = {"after": _place(rest[PAGE_SIZE - 1]), "caller": exchange.caller.name}
        result["nextCursor"] = services.signer.seal(Purpose.CURSOR, claims)
    return result


def _is_settled(services: Services) -> Callable[[McpTask], bool]:
    return lambda task: is_over(task) or is_cancelled(task, now=services.clock())


async def _task_of(services: Services, exchange: LegacyExchange) -> McpTask:
    params = parsed(TaskParams, _only(exchange, "taskId"))
    return await services.tasks.get(params.task_id, caller=exchange.caller)


def _members(task: McpTask, services: Services, exchange: LegacyExchange) -> dict[str, Any]:
    return task_members(task, elicitation=exchange.abilities.elicitation, now=services.clock())


def _check_not_over(task: McpTask, services: Services, exchange: LegacyExchange) -> None:
    status = _members(task, services, exchange)["status"]
    if status in {"completed", "failed", "cancelled"}:
        raise InvalidParamsError(f"Cannot cancel task: already in terminal status '{status}'")


async def _whole(tasks: Sequence[McpTask], services: Services, exchange: LegacyExchange) -> list[McpTask]:
    """The tasks, with the results that say whether they have failed: a list may leave large ones out."""
    found = []
    for each in tasks:
        task = with_stand_in(each)
        lacks_result = is_over(task) and task.status.result is not None and result_text(task) is None
        found.append(await services.tasks.get(task.metadata.name, caller=exchange.caller) if lacks_result else task)
    return found


def _place(task: McpTask) -> tuple[str, str]:
    """Where a task stands in the list."""
    created: datetime | None = task.metadata.creation_timestamp
    return ("" if created is None else format_time(created), task.metadata.name)


def _place_of(cursor: str, services: Services, exchange: LegacyExchange) -> tuple[str, str]:
    try:
        claims = services.signer.open(Purpose.CURSOR, cursor, now=services.clock().timestamp())
    except SealError as error:
        raise InvalidParamsError("Invalid params: cursor: it is none that this server has given") from error
    if claims.get("caller") != exchange.caller.name:
        raise InvalidParamsError("Invalid params: cursor: it is none that this server has given")
    created, name = claims["after"]
    return created, name


def _only(exchange: LegacyExchange, name: str) -> dict[str, Any]:
    return {name: exchange.params[name]} if name in exchange.params else {}
