"""Progress is written by itself once it was reported, whatever the writes come to."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mcptasks_crds.task import McpTask, Progress
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.errors import RefusedError, UnavailableError
from mcptasks_server.metrics import Metrics
from mcptasks_server.taskendpoint.reporter import AT_ONCE, Reporter
from mcptasks_server.testing.pods import POD_UID, InMemoryReports


class Failing(InMemoryReports):
    """Tasks whose first writes fail."""

    def __init__(self, *failures: Exception) -> None:
        super().__init__()
        self.failures = list(failures)

    async def write(self, task_id: str, report: dict[str, Any], *, version: str | None = None) -> McpTask:
        if self.failures:
            raise self.failures.pop(0)
        return await super().write(task_id, report, version=version)


@pytest.fixture
async def reporter(store: InMemoryReports, metrics: Metrics) -> AsyncIterator[Reporter]:
    """One that may write as much as it likes."""
    reporter = Reporter(store, budget=1000, metrics=metrics)
    async with reporter.running():
        yield reporter


def at(value: float) -> Progress:
    """A value of the current pod's."""
    return Progress(progress=value, pod_uid=POD_UID)


def shown(store: InMemoryReports, task_id: str) -> float | None:
    """What is shown of a task."""
    report = store.task(task_id).status.report
    return None if report is None or report.progress is None else report.progress.progress


async def test_more_tasks_than_can_be_written_at_once_are_all_written_without_being_reported_again(
    store: InMemoryReports, reporter: Reporter
) -> None:
    tasks = [store.add() for _ in range(AT_ONCE * 5)]
    for number, task in enumerate(tasks):
        reporter.report(task, at(number))

    async def is_written() -> bool:
        return [shown(store, task) for task in tasks] == list(range(len(tasks)))

    await eventually(is_written, what="each task's progress is written")


async def test_each_is_written_at_its_moment(metrics: Metrics) -> None:
    now = [100.0]
    moments: list[float] = []
    store = InMemoryReports()
    store.before_write = lambda _: moments.append(now[0])

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)  # what was begun begins now
        now[0] += max(0.0, seconds)

    reporter = Reporter(store, budget=100, metrics=metrics, clock=lambda: now[0], sleep=sleep)
    for _ in range(50):
        reporter.report(store.add(), at(1))
    async with reporter.running():

        async def are_written() -> bool:
            return len(moments) == 50

        await eventually(are_written, what="each task's progress is written")

    assert moments == pytest.approx([100 + number / 100 for number in range(50)])


@pytest.mark.parametrize("failures", [1, 3])
async def test_a_write_is_made_again_while_the_api_server_is_away(failures: int, metrics: Metrics) -> None:
    store = Failing(*[UnavailableError("away")] * failures)
    task = store.add()
    reporter = Reporter(store, budget=50, metrics=metrics)
    async with reporter.running():
        reporter.report(task, at(1))

        async def is_written() -> bool:
            return shown(store, task) == 1

        await eventually(is_written, what="the progress is written")


async def test_a_write_that_the_cluster_refuses_is_given_up_and_the_next_is_tried(metrics: Metrics) -> None:
    store = Failing(RefusedError("no right"))
    task = store.add()
    reporter = Reporter(store, budget=50, metrics=metrics)
    async with reporter.running():
        reporter.report(task, at(1))

        async def is_given_up() -> bool:
            return not store.failures

        await eventually(is_given_up, what="the write was refused")
        reporter.report(task, at(2))

    assert shown(store, task) == 2


async def test_an_old_pods_value_is_dropped_once_the_api_server_has_refused_it(
    store: InMemoryReports, metrics: Metrics
) -> None:
    task = store.add()
    reporter = Reporter(store, budget=50, metrics=metrics)
    async with reporter.running():
        reporter.report(task, Progress(progress=1, pod_uid="another pod"))

    assert store.writes == []
    assert reporter.taken(task) is None


async def test_before_pods_find_another_replica_all_that_was_told_is_written(
    store: InMemoryReports, reporter: Reporter
) -> None:
    """While it still serves: what comes in between is written by the next call."""
    task = store.add()
    for value in (1, 2):
        reporter.report(task, at(value))
        await reporter.write_the_rest()
        assert shown(store, task) == value
        assert await reporter.written(task, seconds=0)


async def test_all_ends_together_take_no_longer_than_one(metrics: Metrics) -> None:
    store = Failing(*[UnavailableError("away")] * 1000)
    task, now = store.add(), [0.0]
    reporter = Reporter(store, budget=50, metrics=metrics, clock=lambda: now[0])
    reporter.report(task, at(1))
    await reporter.write_the_rest()
    now[0] = 100.0
    await reporter.write_the_rest()

    assert not await reporter.written(task, seconds=0)
    assert len(store.failures) < 1000
