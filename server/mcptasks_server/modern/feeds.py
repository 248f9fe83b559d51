"""What becomes of tasks, for all streams that tell of them: each task is read and written out once for each change,
however many clients listen.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from mcptasks_crds.task import McpTask
from mcptasks_server.caller import Caller
from mcptasks_server.errors import RefusedError, UnavailableError
from mcptasks_server.projection import is_over
from mcptasks_server.tasks import TaskNotFoundError, TaskStore

RETRY_SECONDS: Final = 1.0
"""How long until a task is read again that could not be read."""


class Listener(Protocol):
    """Who is told."""

    def take(self, task: McpTask) -> None:
        """The task is like this now."""
        ...

    def take_end(self, task_id: str) -> None:
        """Nothing more will come of the task: it is over, or is not there any more."""
        ...

    def fail(self, error: BaseException) -> None:
        """Nothing more will come at all, for it went wrong here."""
        ...


@dataclass(kw_only=True, eq=False)
class _Feed:
    """One task of one caller."""

    listeners: set[Listener]
    following: asyncio.Task[None]


class Feeds:
    """The tasks of which some client wants to be told."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[str, str], _Feed] = {}

    def __len__(self) -> int:
        return len(self._feeds)

    @contextmanager
    def listening(self, listener: Listener, task_ids: list[str], *, tasks: TaskStore, caller: Caller) -> Iterator[None]:
        """Have a listener told of tasks for as long as the context lasts: soon of each one's state, then of changes."""
        for task_id in task_ids:
            feed = self._feeds.get((task_id, caller.name))
            if feed is None or feed.following.done():
                feed = self._feeds[task_id, caller.name] = self._begun(task_id, tasks=tasks, caller=caller)
            feed.listeners.add(listener)
        try:
            yield
        finally:
            for task_id in task_ids:
                self._leave(listener, (task_id, caller.name))

    def _begun(self, task_id: str, *, tasks: TaskStore, caller: Caller) -> _Feed:
        listeners: set[Listener] = set()
        following = asyncio.create_task(_follow(task_id, listeners, tasks=tasks, caller=caller))
        following.add_done_callback(lambda ended: _tell_failure(ended, listeners))
        return _Feed(listeners=listeners, following=following)

    def _leave(self, listener: Listener, key: tuple[str, str]) -> None:
        feed = self._feeds.get(key)
        if feed is None:  # it was over, and somebody who came later has taken and left its place
            return
        feed.listeners.discard(listener)
        if not feed.listeners:
            feed.following.cancel()
            del self._feeds[key]


async def _follow(task_id: str, listeners: set[Listener], *, tasks: TaskStore, caller: Caller) -> None:
    with tasks.watch([task_id]) as changes:
        task: McpTask | None = None
        while task is None or not is_over(task):
            await changes.next()
            task = await _read(task_id, tasks=tasks, caller=caller)
            if task is None:
                break
            for listener in listeners:
                listener.take(task)
    for listener in listeners:
        listener.take_end(task_id)


async def _read(task_id: str, *, tasks: TaskStore, caller: Caller) -> McpTask | None:
    """The task; None where there is none (any more), or none that can be read. The cluster's absence is waited out."""
    while True:
        try:
            return await tasks.get(task_id, caller=caller)
        except (TaskNotFoundError, RefusedError):
            return None
        except UnavailableError:
            await asyncio.sleep(RETRY_SECONDS)


def _tell_failure(ended: "asyncio.Task[None]", listeners: set[Listener]) -> None:
    error = None if ended.cancelled() else ended.exception()
    if error is not None:
        for listener in listeners:
            listener.fail(error)
