"""A cancellation that comes before its task, after it, or never meets one."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from mcptasks_crds.names import REQUEST_LABEL
from mcptasks_crds.task import McpTask
from mcptasks_server.caller import ANONYMOUS, Caller
from mcptasks_server.cluster.cancelled_requests import MOST_REMEMBERED, REMEMBERED, CancelledRequests
from mcptasks_server.errors import UnavailableError


class Clock:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def task(request: str | None = "r", *, name: str = "mt-a", phase: str | None = None, **spec: Any) -> McpTask:
    return McpTask.model_validate(
        {
            "metadata": {"name": name, "labels": {} if request is None else {REQUEST_LABEL: request}},
            "spec": {
                "tool": {"name": "t", "uid": "u", "generation": 1},
                "caller": "anonymous",
                "retentionSeconds": 60,
                "pollIntervalMs": 1000,
                **spec,
            },
            "status": {} if phase is None else {"phase": phase},
        }
    )


class Cancelled:
    """What was cancelled."""

    def __init__(self) -> None:
        self.names: list[tuple[str, str]] = []
        self.failure: UnavailableError | None = None

    async def __call__(self, name: str, caller: Caller) -> None:
        self.names.append((name, caller.name))
        if self.failure is not None:
            raise self.failure


async def test_only_a_living_task_of_that_request_and_caller_that_was_not_handed_out_is_cancelled() -> None:
    cancelled = Cancelled()
    requests = CancelledRequests(cancelled, clock=Clock())
    requests.add("r", caller=ANONYMOUS)
    requests.add("foreign", caller=Caller(name="somebody else"))

    for each in (
        task("other"),
        task(None),
        task("foreign"),
        task(detached=True),
        task(cancelRequested=True),
        task(phase="Completed"),
        task(name="mt-b"),
    ):
        requests.look_at(each)
    await requests.settle(seconds=5)

    assert cancelled.names == [("mt-b", "anonymous")]


async def test_a_task_is_cancelled_once_however_often_it_is_looked_at() -> None:
    cancelled = Cancelled()
    requests = CancelledRequests(cancelled, clock=Clock())
    requests.add("r", caller=ANONYMOUS)

    seen = [requests.look_at(task()) for _ in range(3)]
    await requests.settle(seconds=5)

    assert len({id(each) for each in seen}) == 1
    assert len(cancelled.names) == 1


async def test_a_cancellation_is_forgotten_after_a_while_and_memory_is_bounded() -> None:
    clock, cancelled = Clock(), Cancelled()
    requests = CancelledRequests(cancelled, clock=clock)
    requests.add("r", caller=ANONYMOUS)
    clock.now += REMEMBERED + timedelta(seconds=1)
    for number in range(MOST_REMEMBERED + 10):
        requests.add(str(number), caller=ANONYMOUS)

    assert requests.look_at(task("r")) is None
    assert requests.look_at(task("0")) is None
    assert requests.look_at(task(str(MOST_REMEMBERED))) is not None
    assert len(requests._remembered) == MOST_REMEMBERED
    await requests.settle(seconds=5)


async def test_a_cancellation_that_fails_harms_nobody() -> None:
    cancelled = Cancelled()
    cancelled.failure = UnavailableError("away")
    requests = CancelledRequests(cancelled, clock=Clock())
    requests.add("r", caller=ANONYMOUS)

    running = requests.look_at(task())
    assert running is not None
    await asyncio.wait([running])

    assert running.exception() is None
