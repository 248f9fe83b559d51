"""Writes progress as the schedule says, and all that is left at the end."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
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
"""For so long news gather after a look before there is another."""
LEAST_SECONDS: Final = 0.002
"""The least time between two looks, whatever is due."""
END_SECONDS: Final = 8.0
"""How long the last writes may take once the process was told to end, all together."""


class Reporter:
    """The progress of one namespace's tasks, as this replica's pods report it."""

    def __init__(
        self,
        store: ReportStore,
        *,
        budget: int,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`budget`: writes a second of all replicas together. `sleep`: until the clock has gone on by so much."""
        self._store, self._metrics, self._clock, self._sleep = store, metrics, clock, sleep
        self._schedule = Schedule(budget=budget)
        self._news = asyncio.Event()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._writing: set[asyncio.Task[None]] = set()
        self._awaited: dict[str, asyncio.Future[RefusedError | None]] = {}
        """Who waits until a task's progress is written, by the task."""
        self._ends_at: float | None = None
        """Once the end has begun: until when the last writes are made."""
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
            await self.write_the_rest()

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

    async def written(self, task_id: str, *, seconds: float) -> bool:
        """Wait until nothing that a pod said of the task is left to be written, for so long at most; whether it is so.

        Raises:
            RefusedError: the cluster does not take it.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self._schedule.taken(task_id) is not None:
            ended = self._awaited.setdefault(task_id, loop.create_future())
            await asyncio.wait({ended}, timeout=max(0.0, until - loop.time()))
            if not ended.done():
                return False
            refused = ended.result()
            if refused is not None:
                raise refused
        return True

    def _noticed(self, task_id: str, task: McpTask | None) -> None:
        if task is None or is_over(task):
            self._schedule.forget(task_id)
        elif task.status.report is not None:
            self._schedule.noticed(task_id, task.status.report.progress, now=self._clock())
        self._tell(task_id)

    def _tell(self, task_id: str, refused: RefusedError | None = None) -> None:
        """Let those who wait for a task's progress look again."""
        awaited = self._awaited.pop(task_id, None)
        if awaited is not None:
            awaited.set_result(refused)

    async def _run(self) -> None:
        while True:
            self._news.clear()
            # No more than can be on its way: what is chosen later is newer.
            room = AT_ONCE - len(self._writing)
            looked_at = self._clock()
            for task_id, progress in self._schedule.due(now=looked_at, most=room):
                self._begin(task_id, progress)
            has_room = len(self._writing) < AT_ONCE  # else the next write that ends is news
            at = self._schedule.next_at(now=looked_at) if has_room else None
            if at is None or at > looked_at + PAUSE_SECONDS:
                await self._wait_for_news(at)
                gathered_at = max(self._clock(), looked_at + PAUSE_SECONDS)
                at = gathered_at if at is None else min(at, gathered_at)
            # Not a moment later than it is due: where the budget is used up, it would be the next one's age.
            await self._sleep(max(at, looked_at + LEAST_SECONDS) - self._clock())

    async def _wait_for_news(self, until: float | None) -> None:
        try:
            async with asyncio.timeout(None if until is None else max(0.0, until - self._clock())):
                await self._news.wait()
        except TimeoutError:
            pass

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
                self._tell(task_id)
            except RefusedError as error:
                self._log.error("progress is not taken by the cluster", task=task_id, error=error.message)
                self._ended(task_id, "refused", again=False, refused=error)
            else:
                self._schedule.done(task_id)
                self._metrics.progress_writes.labels("written").inc()
                self._tell(task_id)

    async def _look_anew(self, task_id: str) -> None:
        try:
            self._noticed(task_id, await self._store.fresh(task_id))
        except TaskNotFoundError:
            self._schedule.forget(task_id)
        except (UnavailableError, RefusedError):
            pass
        self._ended(task_id, "overtaken", again=False)

    def _ended(self, task_id: str, outcome: str, *, again: bool, refused: RefusedError | None = None) -> None:
        self._schedule.failed(task_id, again=again)
        self._metrics.progress_writes.labels(outcome).inc()
        self._tell(task_id, refused)

    async def write_the_rest(self) -> None:
        """Write all that is left, now: no budget counts at the end."""
        if self._ends_at is None:
            self._ends_at = self._clock() + END_SECONDS
        try:
            async with asyncio.timeout(max(0.0, self._ends_at - self._clock())):
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
