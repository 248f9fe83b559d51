"""A queue of keys to be worked on: each key once, never by two workers at a time, again later when that failed.

The form is client-go's: a key that is added while it is being worked on is worked on once more afterwards; a key that
is added while it waits is there once. What is to be done about a key is not the queue's affair: the worker looks.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)

FIRST_DELAY_SECONDS: Final = 0.1
LONGEST_DELAY_SECONDS: Final = 60.0


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Let it not come."""


class Clock(Protocol):
    """What the queue needs of an event loop (`asyncio.AbstractEventLoop` is one)."""

    def time(self) -> float:
        """Seconds, monotonic."""

    def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
        """Call back at that time."""


class Watcher(Protocol[K_contra]):
    """Who is told how the work goes."""

    def failed(self, key: K_contra, error: Exception, *, failures: int, delay_seconds: float) -> None:
        """The work on a key failed, for the `failures`th time in a row."""

    def recovered(self, key: K_contra, *, failures: int) -> None:
        """The work on a key succeeded after so many failures."""


Work = Callable[[K], Awaitable[float | None]]
"""Work on a key. Returns after how many seconds it is to be looked at again, if nothing happens before."""


def backoff_seconds(failures: int, *, chance: float) -> float:
    """How long to wait after the nth failure in a row: doubling, up to a minute, less a random half (`chance` 0 to 1).

    >>> [backoff_seconds(n, chance=0.0) for n in (1, 2, 3, 30)]
    [0.1, 0.2, 0.4, 60.0]
    """
    delay = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(failures - 1, 20))
    return delay * (1 - chance / 2)


class WorkQueue(Generic[K]):
    """Keys, and the workers that work on them."""

    def __init__(
        self,
        work: Work[K],
        *,
        clock: Clock,
        watcher: Watcher[K],
        least_delay: Callable[[Exception], float] = lambda _: 0.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._work = work
        self._clock = clock
        self._watcher = watcher
        self._least_delay = least_delay
        self._chance = chance
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._waiting: set[K] = set()
        self._running: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, Timer] = {}
        self._failures: dict[K, int] = {}
        self._closed = False
        self._quiet = asyncio.Event()
        self._quiet.set()

    @property
    def depth(self) -> int:
        """How many keys wait for a worker."""
        return len(self._waiting) + len(self._again)

    @property
    def running(self) -> int:
        """How many keys are being worked on."""
        return len(self._running)

    def add(self, key: K) -> None:
        """Have a key worked on as soon as may be. A key that is backing off from a failure waits no longer."""
        if key in self._running:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Have a key worked on in so many seconds. The last call for a key counts."""
        self._cancel_timer(key)
        self._timers[key] = self._clock.call_at(self._clock.time() + max(0.0, seconds), lambda: self._due(key))

    async def run(self, workers: int) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(workers):
                    group.create_task(self._worker(), name=f"worker {number}")
        finally:
            for key in list(self._timers):
                self._cancel_timer(key)

    async def drain(self, seconds: float) -> bool:
        """Begin nothing new, and wait so long for what has begun. Whether that ended in time."""
        self._closed = True
        try:
            async with asyncio.timeout(seconds):
                await self._quiet.wait()
        except TimeoutError:
            return False
        return True

    async def _worker(self) -> None:
        while True:
            key = await self._ready.get()
            if self._closed:
                return
            self._waiting.discard(key)
            self._running.add(key)
            self._quiet.clear()
            try:
                await self._one(key)
            finally:
                self._running.discard(key)
                if not self._running:
                    self._quiet.set()
            if key in self._again:
                self._again.discard(key)
                self.add(key)
            # Work that never waits would otherwise keep the whole loop to itself while the queue is long.
            await asyncio.sleep(0)

    async def _one(self, key: K) -> None:
        self._cancel_timer(key)
        try:
            seconds = await self._work(key)
        except Exception as error:  # noqa: BLE001  # the outermost boundary: one key's error must not stop the others
            self._retry(key, error)
            return
        failures = self._failures.pop(key, 0)
        if failures:
            self._watcher.recovered(key, failures=failures)
        if seconds is not None:
            self.add_after(key, seconds)

    def _retry(self, key: K, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = max(backoff_seconds(failures, chance=self._chance()), self._least_delay(error))
        self._watcher.failed(key, error, failures=failures, delay_seconds=delay)
        self.add_after(key, delay)

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _cancel_timer(self, key: K) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
