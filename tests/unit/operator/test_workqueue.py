"""The work queue, with time in the test's hand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_operator.workqueue import LONGEST_DELAY_SECONDS, WorkQueue, backoff_seconds


@dataclass
class HandClock:
    """A clock that stands until it is moved."""

    seconds: float = 0.0
    calls: dict[int, tuple[float, Callable[[], object]]] = field(default_factory=dict)

    def time(self) -> float:
        return self.seconds

    def call_at(self, when: float, callback: Callable[[], object], /) -> "HandTimer":
        timer = HandTimer(self.calls)
        self.calls[id(timer)] = (when, callback)
        return timer

    def move(self, seconds: float) -> None:
        self.seconds += seconds
        due = [key for key, (when, _) in self.calls.items() if when <= self.seconds]
        for key in due:
            self.calls.pop(key)[1]()


@dataclass(eq=False)
class HandTimer:
    calls: dict[int, tuple[float, Callable[[], object]]]

    def cancel(self) -> None:
        self.calls.pop(id(self), None)


@dataclass
class Report:
    """What the queue told of failures."""

    failures: list[tuple[str, int, float]] = field(default_factory=list)
    recoveries: list[tuple[str, int]] = field(default_factory=list)

    def failed(self, key: str, error: Exception, *, failures: int, delay_seconds: float) -> None:
        self.failures.append((key, failures, delay_seconds))

    def recovered(self, key: str, *, failures: int) -> None:
        self.recoveries.append((key, failures))


class Bench:
    """A queue whose work the test does by hand: each pass begins in `begun` and ends when the test says how."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.report = Report()
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.ends: dict[str, asyncio.Future[float | None]] = {}
        self.queue = WorkQueue[str](
            self._work,
            clock=self.clock,
            watcher=self.report,
            least_delay=lambda error: float(str(error) or 0),
            chance=lambda: 0.0,
        )

    async def _work(self, key: str) -> float | None:
        assert key not in self.ends, "two workers on one key"
        self.ends[key] = asyncio.get_running_loop().create_future()
        self.begun.put_nowait(key)
        try:
            return await self.ends[key]
        finally:
            del self.ends[key]

    async def begins(self) -> str:
        return await asyncio.wait_for(self.begun.get(), timeout=5)

    async def is_idle(self) -> bool:
        """Whether nothing more begins, once every worker had its turn."""
        for _ in range(20):
            await asyncio.sleep(0)
        return self.begun.empty()


@asynccontextmanager
async def bench(workers: int = 2) -> AsyncIterator[Bench]:
    made = Bench()
    running = asyncio.create_task(made.queue.run(workers))
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.wait({running})


async def test_a_key_that_is_added_many_times_while_it_waits_is_worked_on_once() -> None:
    async with bench() as b:
        for _ in range(3):
            b.queue.add("a")

        assert await b.begins() == "a"
        b.ends["a"].set_result(None)
        assert await b.is_idle()


async def test_a_key_that_is_added_while_it_is_worked_on_is_worked_on_once_more_and_never_by_two() -> None:
    async with bench() as b:
        b.queue.add("a")
        await b.begins()
        b.queue.add("a")
        b.queue.add("a")
        assert await b.is_idle()

        b.ends["a"].set_result(None)

        assert await b.begins() == "a"
        b.ends["a"].set_result(None)
        assert await b.is_idle()


async def test_no_more_keys_are_worked_on_than_there_are_workers() -> None:
    async with bench(workers=2) as b:
        for key in ("a", "b", "c"):
            b.queue.add(key)

        assert {await b.begins(), await b.begins()} == {"a", "b"}
        assert await b.is_idle()
        assert (b.queue.depth, b.queue.running) == (1, 2)
        b.ends["a"].set_result(None)
        assert await b.begins() == "c"


async def test_work_that_asks_for_it_is_looked_at_again_when_its_time_has_come() -> None:
    async with bench() as b:
        b.queue.add("a")
        await b.begins()
        b.ends["a"].set_result(30.0)
        assert await b.is_idle()

        b.clock.move(29.9)
        assert await b.is_idle()
        b.clock.move(0.2)

        assert await b.begins() == "a"


async def test_the_last_word_on_when_to_look_again_counts() -> None:
    async with bench() as b:
        b.queue.add_after("a", 10)
        b.queue.add_after("a", 20)

        b.clock.move(15)
        assert await b.is_idle()
        b.clock.move(6)
        assert await b.begins() == "a"


async def test_work_that_begins_early_takes_its_timer_along() -> None:
    async with bench() as b:
        b.queue.add_after("a", 10)
        b.queue.add("a")
        await b.begins()
        b.ends["a"].set_result(None)
        assert await b.is_idle()

        b.clock.move(11)

        assert await b.is_idle()


async def test_failures_are_tried_again_later_and_later_until_the_work_succeeds() -> None:
    async with bench() as b:
        b.queue.add("a")
        for delay in (0.1, 0.2, 0.4):
            await b.begins()
            b.ends["a"].set_exception(RuntimeError())
            assert await b.is_idle()
            b.clock.move(delay + 0.001)
        await b.begins()
        b.ends["a"].set_result(None)
        assert await b.is_idle()

        assert b.report.failures == [("a", 1, 0.1), ("a", 2, 0.2), ("a", 3, 0.4)]
        assert b.report.recoveries == [("a", 3)]

        b.queue.add("a")
        await b.begins()
        b.ends["a"].set_exception(RuntimeError())
        assert await b.is_idle()
        assert b.report.failures[-1] == ("a", 1, 0.1)


async def test_a_failure_that_says_how_long_to_wait_is_heeded() -> None:
    async with bench() as b:
        b.queue.add("a")
        await b.begins()
        b.ends["a"].set_exception(RuntimeError("7"))
        assert await b.is_idle()

        b.clock.move(6.9)
        assert await b.is_idle()
        b.clock.move(0.2)
        assert await b.begins() == "a"


async def test_an_event_cuts_a_back_off_short() -> None:
    async with bench() as b:
        b.queue.add("a")
        await b.begins()
        b.ends["a"].set_exception(RuntimeError("60"))
        assert await b.is_idle()

        b.queue.add("a")

        assert await b.begins() == "a"


async def test_one_keys_failure_does_not_hold_up_another() -> None:
    async with bench(workers=1) as b:
        b.queue.add("a")
        b.queue.add("b")
        assert await b.begins() == "a"
        b.ends["a"].set_exception(RuntimeError())

        assert await b.begins() == "b"


async def test_draining_begins_nothing_new_and_waits_for_what_has_begun() -> None:
    async with bench(workers=2) as b:
        b.queue.add("a")
        await b.begins()
        draining = asyncio.create_task(b.queue.drain(5))
        assert await b.is_idle()
        b.queue.add("b")
        assert await b.is_idle()

        b.ends["a"].set_result(None)

        assert await draining is True
        assert b.begun.empty()


async def test_draining_does_not_wait_for_ever() -> None:
    async with bench() as b:
        b.queue.add("a")
        await b.begins()

        assert await b.queue.drain(0.01) is False


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
@given(failures=st.integers(1, 10_000))
def test_a_back_off_is_positive_and_bounded_whatever_the_chance(chance: float, failures: int) -> None:
    assert 0 < backoff_seconds(failures, chance=chance) <= LONGEST_DELAY_SECONDS


def test_back_offs_grow() -> None:
    delays = [backoff_seconds(failures, chance=0.0) for failures in range(1, 15)]

    assert all(first <= second for first, second in pairwise(delays))
