"""Waiting on a task for one client: each change is told as progress, each question is put, silence is filled.

Source: both eras' "Progress".
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from mcptasks_crds.phases import Phase
from mcptasks_crds.task import McpTask

from .dispatch import Services
from .errors import UnavailableError
from .exchange import Exchange
from .progress import ProgressLine
from .projection import is_over, progress_of, status_message
from .questions import requests_of

BEAT_SECONDS: Final = 20.0
"""After this long without news a sign of life is sent."""
AGAIN_SECONDS: Final = 1.0
"""Until a task that could not be read is read again."""


async def follow(
    services: Services,
    exchange: Exchange,
    task_id: str,
    *,
    seconds: float | None,
    is_enough: Callable[[McpTask], bool] = is_over,
    lines: Sequence[ProgressLine] = (),
) -> McpTask:
    """The task once it is enough, or as it is when the time is up (None: never) or this process is to end.

    `lines`: further ones that are told how far it is.

    Raises:
        TaskNotFoundError: it is not there (any more).
        InputRequired: it asks what the client answers by a retry.
        UnavailableError: when the time is up, the task cannot be read.
    """
    clock = _Clock(seconds)
    with services.tasks.watch([task_id]) as changes:
        await changes.next()  # at first, all may have changed
        loop = asyncio.get_running_loop()
        news, again = loop.create_task(changes.next()), loop.create_task(exchange.wants_a_look())
        stop = loop.create_task(services.stopping.wait())
        try:
            while True:
                is_last = clock.is_up or services.stopping.is_set()
                seen = await _read(services, exchange, task_id, is_last=is_last)
                if seen is not None:
                    if is_enough(seen):
                        return seen
                    for line in (exchange.progress, *lines):
                        tell(line, seen, now=services.clock())
                    services.operations.told(exchange)
                    if requests := requests_of(seen, exchange.abilities):
                        await exchange.ask_for_task(seen, requests)
                    if is_last:
                        return seen
                exchange.outbox.begin()  # it is waited: the client shall see that its call is under way
                timeout = clock.at_most(AGAIN_SECONDS if seen is None else BEAT_SECONDS)
                await asyncio.wait({news, again, stop}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if news.done():
                    news = loop.create_task(changes.next())
                if again.done():
                    again = loop.create_task(exchange.wants_a_look())
        finally:
            for waiting in (news, again, stop):
                waiting.cancel()
            await asyncio.gather(news, again, stop, return_exceptions=True)


async def _read(services: Services, exchange: Exchange, task_id: str, *, is_last: bool) -> McpTask | None:
    """The task as it is; None where it cannot be read now, unless it is the last time."""
    try:
        return await services.tasks.get(task_id, caller=exchange.caller)
    except UnavailableError:
        if is_last:
            raise
        return None


def tell(line: ProgressLine, task: McpTask, *, now: datetime) -> None:
    """Tell how far a living task is; where that has not changed, that it lives, and for how long."""
    progress = progress_of(task)
    if progress is None or not line.report(progress.progress, total=progress.total, message=progress.message):
        line.beat(_duration(task, now=now))


def _duration(task: McpTask, *, now: datetime) -> str:
    """What is so, and for how long: `running for 40 s: 3/10`."""
    runs = task.status.phase is Phase.RUNNING
    since = (task.status.started_at if runs else None) or task.metadata.creation_timestamp or now
    state, words = "running" if runs else "waiting", status_message(task)
    return f"{state} for {max(0, round((now - since).total_seconds()))} s" + (f": {words}" if words else "")


class _Clock:
    """The time that a wait may take."""

    def __init__(self, seconds: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = None if seconds is None else self._loop.time() + seconds

    @property
    def is_up(self) -> bool:
        return self._until is not None and self._loop.time() >= self._until

    def at_most(self, seconds: float) -> float:
        """The shorter one: those seconds, or what is left."""
        return seconds if self._until is None else max(0.0, min(seconds, self._until - self._loop.time()))
