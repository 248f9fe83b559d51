"""`subscriptions/listen`: a stream that tells of changes until its client closes it, or nothing more can come.

Source: specification 2026-07-28, "Subscriptions"; the tasks extension, "Task Status Notifications".
"""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcptasks_crds.task import McpTask
from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.era import TASKS_EXTENSION
from mcptasks_server.errors import InvalidParamsError, NotAcceptableError, UnavailableError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.projection import is_over
from mcptasks_server.tasks import Changes, TaskNotFoundError
from mcptasks_server.watching import Topic
from mcptasks_server.wire.ext_tasks import ListenParams

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
RETRY_SECONDS: Final = 1.0
"""How long until a task is read again that could not be read."""


@dataclass(kw_only=True)
class Listener:
    """One stream."""

    services: Services
    exchange: Exchange
    notifications: TaskNotifications
    open_tasks: set[str]
    """Those that can still change."""
    told: dict[str, bytes] = field(default_factory=dict)
    """What was said of each last."""

    async def tell_of_tools(self) -> None:
        """Tell of each change of the list of tools, for ever."""
        with self.services.notices.watch([Topic.TOOLS], initially=False) as changes:
            while True:
                await changes.next()
                self.exchange.outbox.replace(Topic.TOOLS, tools_changed(self.exchange.id))

    async def tell_of_tasks(self, changes: Changes) -> None:
        """Tell of each task's present state, then of each change, until all are over."""
        head = task_head(self.exchange.id)
        while self.open_tasks:
            for task_id in await changes.next() & self.open_tasks:
                await self._tell_of(task_id, head)

    async def _tell_of(self, task_id: str, head: bytes) -> None:
        task = await self._read(task_id)
        if task is None:  # removed, for its time is over: its id ends without a word
            self._is_over(task_id)
            return
        tail = self.notifications.tail_of(task, elicitation=self.exchange.abilities.elicitation)
        if self.told.get(task_id) != tail:
            self.exchange.outbox.replace(task_id, task_notification(head, tail))
            self.told[task_id] = tail
        if is_over(task):
            self._is_over(task_id)

    def _is_over(self, task_id: str) -> None:
        self.open_tasks.discard(task_id)
        self.told.pop(task_id, None)

    async def _read(self, task_id: str) -> McpTask | None:
        while True:
            try:
                return await self.services.tasks.get(task_id, caller=self.exchange.caller)
            except TaskNotFoundError:
                return None
            except UnavailableError:  # a stream outlives the API server's absence
                await asyncio.sleep(RETRY_SECONDS)


class Subscriptions:
    """All streams of a process; they share what they tell."""

    def __init__(self) -> None:
        self._notifications = TaskNotifications()

    async def listen(self, services: Services, exchange: Exchange) -> Result:
        """Acknowledge, then tell; the result says that nothing more comes."""
        self._check_abilities(exchange)
        wanted = parsed(ListenParams, {"notifications": exchange.params.get("notifications")}).notifications
        ids = tuple(dict.fromkeys(wanted.task_ids or ()))
        if len(ids) > MOST_TASKS:
            raise InvalidParamsError(
                f"Invalid params: notifications/taskIds: one stream tells of at most {MOST_TASKS} tasks, "
                f"not of {len(ids)}: open another one for the rest"
            )
        if not exchange.outbox.is_heard:
            raise NotAcceptableError("subscriptions/listen is answered by a stream: accept text/event-stream")
        with services.tasks.watch(ids) as changes:
            found = await _visible(ids, services, exchange)
            accepted: dict[str, Any] = {}
            if wanted.tools_list_changed:
                accepted["toolsListChanged"] = True
            if wanted.task_ids is not None:
                accepted["taskIds"] = found
            await exchange.outbox.send(acknowledgement(exchange.id, accepted))
            listener = Listener(
                services=services, exchange=exchange, notifications=self._notifications, open_tasks=set(found)
            )
            work: list[Coroutine[Any, Any, None]] = []
            if wanted.tools_list_changed:
                work.append(listener.tell_of_tools())
            if wanted.task_ids is not None:
                work.append(listener.tell_of_tasks(changes))
            await _until_nothing_comes(work, services=services, exchange=exchange)
        return {"resultType": "complete", "_meta": subscription_meta(exchange.id)}

    @staticmethod
    def _check_abilities(exchange: Exchange) -> None:
        """That a client which asks for tasks knows tasks, which is said before anything else is."""
        notifications = exchange.params.get("notifications")
        asks_for_tasks = isinstance(notifications, Mapping) and notifications.get("taskIds") is not None
        if asks_for_tasks and not exchange.abilities.takes_task:
            raise exchange.missing(
                {"extensions": {TASKS_EXTENSION: {}}}, why="notifications/taskIds belongs to the tasks extension"
            )


async def _visible(ids: tuple[str, ...], services: Services, exchange: Exchange) -> list[str]:
    """Those of the ids that are tasks of the caller. Unknown, foreign and expired ones are absent alike."""
    places = asyncio.Semaphore(READS_AT_ONCE)

    async def is_visible(task_id: str) -> bool:
        async with places:
            try:
                await services.tasks.get(task_id, caller=exchange.caller)
            except TaskNotFoundError:
                return False
            return True

    seen = await asyncio.gather(*(is_visible(task_id) for task_id in ids))
    return [task_id for task_id, is_seen in zip(ids, seen, strict=True) if is_seen]


async def _until_nothing_comes(
    work: list[Coroutine[Any, Any, None]], *, services: Services, exchange: Exchange
) -> None:
    """Do the work until all of it is done, the caller's token ends, or this process does. Without any, only those."""
    expires_at = exchange.caller.expires_at
    seconds = None if expires_at is None else max(0.0, expires_at - services.clock().timestamp())
    stopping = asyncio.create_task(services.stopping.wait())
    running: set[asyncio.Task[Any]] = {asyncio.create_task(each) for each in work}
    everything = {stopping, *running}
    try:
        async with asyncio.timeout(seconds):
            while not stopping.done():
                done, _ = await asyncio.wait({stopping, *running}, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                if work and not (running := running - done):
                    return
    except TimeoutError:
        pass
    finally:
        for task in everything:
            task.cancel()
        await asyncio.gather(*everything, return_exceptions=True)
