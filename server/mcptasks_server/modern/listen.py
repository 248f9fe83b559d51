"""`subscriptions/listen`: a stream that tells of changes until its client closes it, or nothing more can come.

Source: specification 2026-07-28, "Subscriptions"; the tasks extension, "Task Status Notifications".
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, Final
from weakref import WeakValueDictionary

from mcptasks_crds.task import McpTask
from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.era import TASKS_EXTENSION
from mcptasks_server.errors import InvalidParamsError, NotAcceptableError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.operations import Door, Phase
from mcptasks_server.projection import is_over
from mcptasks_server.tasks import TaskNotFoundError
from mcptasks_server.watching import Topic
from mcptasks_server.wire.ext_tasks import ListenFilter, ListenParams

from .feeds import Feeds
from .notifications import (
    TaskNotifications,
    acknowledgement,
    subscription_meta,
    task_head,
    task_notification,
    tools_changed,
)

MOST_TASKS: Final = 1000
"""How many tasks one stream tells of."""
READS_AT_ONCE: Final = 16
"""In all streams of a caller that are being opened. Ids that nobody knows are looked for at the API server, one by one;
nobody waits for another caller's."""


class TaskTeller:
    """Tells one stream of its tasks: the present state of each, then each change that its client can see."""

    def __init__(
        self, exchange: Exchange, notifications: TaskNotifications, tasks: Iterable[McpTask], *, ends_stream: bool
    ) -> None:
        """`ends_stream`: whether nothing more can come on the stream once all tasks are over."""
        self._ends_stream = ends_stream
        self._outbox, self._elicitation = exchange.outbox, exchange.abilities.elicitation
        self._notifications, self._head = notifications, task_head(exchange.id)
        self._first = {task.metadata.name: task for task in tasks}
        self._open = set(self._first)
        self._told: dict[str, tuple[int, bytes]] = {}
        self._ended_early: set[str] = set()
        self._is_acknowledged = False
        self.end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once nothing more can come, or it went wrong."""

    def begin(self) -> None:
        """Tell the present states, for the stream is acknowledged."""
        self._is_acknowledged = True
        for task in self._first.values():
            self.take(task)
        self._first.clear()
        for task_id in self._ended_early:
            self.take_end(task_id)
        self._end_if_over()

    def take(self, task: McpTask) -> None:
        """Tell a task's state, unless it was told already, or a newer one."""
        name, version = task.metadata.name, int(task.metadata.resource_version)
        if not self._is_acknowledged:
            self._first[name] = max(task, self._first[name], key=lambda each: int(each.metadata.resource_version))
            return
        if name not in self._open:
            return
        told_version, told = self._told.get(name, (-1, b""))
        if version <= told_version:
            return
        tail = self._notifications.tail_of(task, elicitation=self._elicitation)
        if tail != told:
            self._outbox.replace(name, task_notification(self._head, tail))
        self._told[name] = (version, tail)
        if is_over(task):
            self.take_end(name)

    def take_end(self, task_id: str) -> None:
        """A task is over, or was removed, for its time is: its id ends without a word."""
        if not self._is_acknowledged:
            self._ended_early.add(task_id)
            return
        self._open.discard(task_id)
        self._told.pop(task_id, None)
        self._end_if_over()

    def fail(self, error: BaseException) -> None:
        """End the stream by an error."""
        if not self.end.done():
            self.end.set_exception(error)

    def _end_if_over(self) -> None:
        if self._ends_stream and not self._open and not self.end.done():
            self.end.set_result(None)


class Subscriptions:
    """All streams of a process; they share what they tell."""

    def __init__(self) -> None:
        self._notifications, self._feeds = TaskNotifications(), Feeds()
        self._places: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def listen(self, services: Services, exchange: Exchange) -> Result:
        """Acknowledge, then tell; the result says that nothing more comes."""
        wanted = _wanted(exchange)
        if not exchange.outbox.is_heard:
            raise NotAcceptableError("subscriptions/listen is answered by a stream: accept text/event-stream")
        tasks = await self._visible(wanted.task_ids or (), services, exchange)
        found = [task.metadata.name for task in tasks]
        ends_stream = wanted.task_ids is not None and not wanted.tools_list_changed
        teller = TaskTeller(exchange, self._notifications, tasks, ends_stream=ends_stream)
        with self._feeds.listening(teller, found, tasks=services.tasks, caller=exchange.caller), ExitStack() as more:
            ends: set[asyncio.Future[None]] = {teller.end}
            if wanted.tools_list_changed:
                tools = asyncio.create_task(_tell_of_tools(services, exchange))
                more.callback(tools.cancel)
                ends.add(tools)
            door = Door.PLAIN if wanted.task_ids is None else Door.EXTENSION
            more.enter_context(services.operations.under_way(exchange, Phase.LISTEN, door=door))
            await exchange.outbox.send(acknowledgement(exchange.id, _accepted(wanted, found)))
            teller.begin()
            await _until_it_ends(ends, services=services, exchange=exchange)
        return {"resultType": "complete", "_meta": subscription_meta(exchange.id)}

    async def _visible(self, ids: Iterable[str], services: Services, exchange: Exchange) -> list[McpTask]:
        """The tasks with these ids that are the caller's. Unknown, foreign and expired ones are absent alike."""

        places = self._places.setdefault(exchange.caller.name, asyncio.Semaphore(READS_AT_ONCE))

        async def read(task_id: str) -> McpTask | None:
            async with places:
                try:
                    return await services.tasks.get(task_id, caller=exchange.caller)
                except TaskNotFoundError:
                    return None

        found = await asyncio.gather(*(read(task_id) for task_id in dict.fromkeys(ids)))
        return [task for task in found if task is not None]


def _wanted(exchange: Exchange) -> ListenFilter:
    """What the client asks to be told of.

    Raises:
        MissingCapabilityError: it asks for tasks, and does not know them. Said before anything else is.
        InvalidParamsError: it is malformed, or too much.
    """
    notifications = exchange.params.get("notifications")
    asks_for_tasks = isinstance(notifications, Mapping) and notifications.get("taskIds") is not None
    if asks_for_tasks and not exchange.abilities.takes_task:
        raise exchange.missing(
            {"extensions": {TASKS_EXTENSION: {}}}, why="notifications/taskIds belongs to the tasks extension"
        )
    wanted = parsed(ListenParams, {"notifications": notifications}).notifications
    many = len(set(wanted.task_ids or ()))
    if many > MOST_TASKS:
        raise InvalidParamsError(
            f"Invalid params: notifications/taskIds: one stream tells of at most {MOST_TASKS} tasks, "
            f"not of {many}: open another one for the rest"
        )
    return wanted


def _accepted(wanted: ListenFilter, found: list[str]) -> Mapping[str, Any]:
    accepted: dict[str, Any] = {}
    if wanted.tools_list_changed:
        accepted["toolsListChanged"] = True
    if wanted.task_ids is not None:
        accepted["taskIds"] = found
    return accepted


async def _tell_of_tools(services: Services, exchange: Exchange) -> None:
    """Tell of each change of the list of tools, for ever."""
    with services.notices.watch([Topic.TOOLS], initially=False) as changes:
        while True:
            await changes.next()
            exchange.outbox.replace(Topic.TOOLS, tools_changed(exchange.id))


async def _until_it_ends(ends: set[asyncio.Future[None]], *, services: Services, exchange: Exchange) -> None:
    """Wait until nothing more can come (one of `ends`), the caller's token ends, or this process does."""
    seconds = exchange.caller.seconds_left(now=services.clock().timestamp())
    stopping = asyncio.create_task(services.stopping.wait())
    anything: set[asyncio.Future[Any]] = {stopping, *ends}
    try:
        done, _ = await asyncio.wait(anything, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        stopping.cancel()
