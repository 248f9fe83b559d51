"""Writes progress as the schedule says, and all that is left at the end."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from mcptasks_crds.task import McpTask, Progress
from mcptasks_server.errors import RefusedError, UnavailableError
from mcptasks_server.metrics import Metrics
from mcptasks_server.projection import is_over
from mcptasks_server.tasks import TaskNotFoundError

from .patches import progress_patch
from .schedule import Schedule
from .store import NotTakenError, OvertakenError, ReportStore

AT_ONCE: Final = 64
"""How many writes are under way at the same time."""
PAUSE_SECONDS: Final = 0.02
"""The least time between two looks at what is due."""
END_SECONDS: Final = 8.0
"""How long the last writes may take once the process was told to end."""


class Reporter:
    """The progress of one namespace's tasks, as this replica's pods report it."""

    def __init__(
        self, store: ReportStore, *, budget: int, metrics: Metrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`budget`: writes a second of all replicas together."""
        self._store, self._metrics, self._clock = store, metrics, clock
        self._schedule = Schedule(budget=budget)
        self._news = asyncio.Event()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._writing: set[asyncio.Task[None]] = set()
        self._log: Any = structlog.get_logger()
        store.listen(self._noticed)
        metrics.progress_waiting.set_function(lambda: len(self._schedule))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write, for as long as the context lasts; then what is left."""
        loop = asyncio.create_task(self._run())
        try:
            yield
        finally:
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)
            await self._write_the_rest()

    def report(self, task_id: str, progress: Progress) -> None:
        """A pod's newest progress."""
        self._metrics.progress_values.inc()
        known = self._store.known(task_id)
        report = None if known is None else known.status.report
        stands = None if report is None else report.progress
        if self._schedule.offer(task_id, progress, stands=stands, now=self._clock()):
            self._news.set()

    def taken(self, task_id: str) -> Progress | None:
        """What is not written yet of a task, for a write that takes it along."""
        return self._schedule.taken(task_id)

    def _noticed(self, task_id: str, task: McpTask | None) -> None:
        if task is None or is_over(task):
            self._schedule.forget(task_id)
        elif task.status.report is not None:
            self._schedule.noticed(task_id, task.status.report.progress, now=self._clock())

    async def _run(self) -> None:
        while True:
            self._news.clear()
            # No more than can be on its way: what is chosen later is newer.
            room = AT_ONCE - len(self._writing)
            for task_id, progress in self._schedule.due(now=self._clock(), most=room):
                self._begin(task_id, progress)
            has_room = len(self._writing) < AT_ONCE  # else the next write that ends is news
            at = self._schedule.next_at(now=self._clock()) if has_room else None
            try:
                async with asyncio.timeout(None if at is None else max(0.0, at - self._clock())):
                    await self._news.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(PAUSE_SECONDS)

    def _begin(self, task_id: str, progress: Progress) -> None:
        task = asyncio.create_task(self._write(task_id, progress))
        self._writing.add(task)
        task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        """There is room for another write; not a moment earlier, or nobody would be told of it."""
        self._writing.discard(task)
        self._news.set()

    async def _write(self, task_id: str, progress: Progress) -> None:
        async with self._places:
            try:
                await self._store.write(task_id, progress_patch(progress))
            except UnavailableError:
                self._ended(task_id, "unavailable", again=True)
            except (NotTakenError, OvertakenError):
                # Another replica was further, the pod is not the current one any more, or the task is over.
                await self._look_anew(task_id)
            except TaskNotFoundError:
                self._schedule.forget(task_id)
            except RefusedError as error:
                self._log.error("progress is not taken by the cluster", task=task_id, error=error.message)
                self._ended(task_id, "refused", again=False)
            else:
                self._schedule.done(task_id)
                self._metrics.progress_writes.labels("written").inc()

    async def _look_anew(self, task_id: str) -> None:
        try:
            self._noticed(task_id, await self._store.fresh(task_id))
        except TaskNotFoundError:
            self._schedule.forget(task_id)
        except (UnavailableError, RefusedError):
            pass
        self._ended(task_id, "overtaken", again=False)

    def _ended(self, task_id: str, outcome: str, *, again: bool) -> None:
        self._schedule.failed(task_id, again=again)
        self._metrics.progress_writes.labels(outcome).inc()

    async def _write_the_rest(self) -> None:
        try:
            async with asyncio.timeout(END_SECONDS):
                while self._writing:
                    await asyncio.wait(set(self._writing))
                for task_id, progress in self._schedule.rest(now=self._clock()):
                    self._begin(task_id, progress)
                while self._writing:
                    await asyncio.wait(set(self._writing))
        except TimeoutError:
            self._log.warning("progress was not written at the end", tasks=len(self._schedule))
        for task in self._writing:
            task.cancel()
