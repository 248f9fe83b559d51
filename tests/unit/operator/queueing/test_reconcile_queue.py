"""Passes over tasks of a tool with a limit: what is asked of the API server, and what survives a restart."""

import asyncio
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, TASKS, TOOLS, Kind, RejectedError, RetryableError
from mcptasks_operator.testing.cluster import Call, FakeCluster, Fault
from mcptasks_operator.testing.desk import NAMESPACE, Desk

POST_JOB: Final = Call("create", "jobs")
PATCH_JOB: Final = Call("patch", "jobs")
PATCH_STATUS: Final = Call("patch", "mcptasks/status")
OVER: Final = {
    "phase": "Succeeded",
    "containerStatuses": [
        {
            "name": "tool",
            "state": {
                "terminated": {
                    "exitCode": 0,
                    "message": "said",
                    "reason": "Completed",
                    "startedAt": "2026-11-30T00:00:00Z",
                    "finishedAt": "2026-11-30T00:00:00Z",
                }
            },
        }
    ],
}


@pytest.fixture
def desk() -> Desk:
    return Desk()


def is_suspended(desk: Desk, task: str) -> bool:
    job = next(each for each in desk.cluster.all(JOBS) if each["metadata"]["name"] == task)
    return bool(job["spec"].get("suspend"))


def calls(desk: Desk, count: int = 3, **limits: int) -> list[str]:
    """So many calls, a second apart, of a tool that runs one at a time."""
    desk.tool(limits={"running": 1} | limits)
    made = []
    for _ in range(count):
        made.append(desk.task())
        desk.move(1)
    return made


async def test_the_first_starts_and_the_next_is_rendered_at_once_and_waits(desk: Desk) -> None:
    first, second, _ = calls(desk)

    await desk.tasks.reconcile(first)
    assert desk.cluster.calls == [POST_JOB, PATCH_JOB, PATCH_STATUS]
    await desk.tasks.reconcile(second)
    assert desk.cluster.calls[3:] == [POST_JOB, PATCH_STATUS]

    assert not is_suspended(desk, first)
    assert is_suspended(desk, second)
    assert desk.status(second)["message"] == "queued (0 ahead)"


async def test_the_end_of_one_wakes_the_next_alone(desk: Desk) -> None:
    first, second, third = calls(desk)
    for task in (first, second, third):
        await desk.tasks.reconcile(task)
    desk.woken.clear()
    desk.pod(first, OVER)

    await desk.tasks.reconcile(first)

    assert desk.status(first)["phase"] == "Completed"
    assert desk.woken == [second]
    await desk.tasks.reconcile(second)
    assert not is_suspended(desk, second)
    assert is_suspended(desk, third)


async def test_a_place_in_the_line_is_kept_by_the_cluster_alone(desk: Desk) -> None:
    made = calls(desk)
    for task in made:
        await desk.tasks.reconcile(task)

    other = Desk(cluster=desk.cluster)
    other.see()
    for task in reversed(made):
        await other.tasks.reconcile(task)

    assert [is_suspended(desk, task) for task in made] == [False, True, True]
    assert other.lines.waiting == 2


async def test_a_release_whose_answer_was_lost_is_nobody_elses_place(desk: Desk) -> None:
    first, second, _ = calls(desk)
    desk.cluster.faults.append(Fault(call=PATCH_JOB, error=RetryableError("no answer"), is_done=True))

    with pytest.raises(RetryableError):
        await desk.tasks.reconcile(first)
    await desk.tasks.reconcile(second)

    assert is_suspended(desk, second)
    await desk.tasks.reconcile(first)
    assert desk.status(first)["phase"] == "Pending"


class SlowCluster(FakeCluster):
    """An API server that takes its time to let a Job start."""

    def __init__(self) -> None:
        super().__init__(now=datetime(2026, 11, 30, tzinfo=UTC))
        self.gate = asyncio.Event()

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Json, **options: Any) -> Json:
        if kind == JOBS:
            await self.gate.wait()
        return await super().patch(kind, namespace, name, patch, **options)


async def test_two_workers_give_one_place_away_once() -> None:
    cluster = SlowCluster()
    desk = Desk(cluster=cluster)
    made = calls(desk)

    at_work = [asyncio.create_task(desk.tasks.reconcile(task)) for task in made]
    await asyncio.sleep(0)
    cluster.gate.set()
    await asyncio.gather(*at_work)

    assert [is_suspended(desk, task) for task in made] == [False, True, True]


async def test_a_task_that_is_cancelled_while_its_release_is_uncertain_keeps_its_place_until_its_job_is_gone(
    desk: Desk,
) -> None:
    first, second, _ = calls(desk)
    desk.cluster.faults.append(Fault(call=PATCH_JOB, error=RetryableError("no answer"), is_done=True))
    with pytest.raises(RetryableError):
        await desk.tasks.reconcile(first)
    for task in (first, second):
        await desk.cluster.patch(TASKS, NAMESPACE, task, {"spec": {"cancelRequested": task == first}})
        desk.store.put(TASKS, await desk.cluster.get(TASKS, NAMESPACE, task))  # and of the Job no watch has told

    await desk.tasks.reconcile(second)
    assert is_suspended(desk, second)

    await desk.tasks.reconcile(first)
    desk.see()
    assert second in desk.woken
    await desk.tasks.reconcile(second)
    assert not is_suspended(desk, second)


async def test_a_refused_release_gives_the_place_to_the_next(desk: Desk) -> None:
    first, second, _ = calls(desk)
    refused = RejectedError("no", status=403, reason="Forbidden", words="exceeded quota")
    desk.cluster.faults.append(Fault(call=PATCH_JOB, error=refused))

    await desk.tasks.reconcile(first)
    assert desk.status(first)["reason"] == "JobRejected"
    desk.see()
    await desk.tasks.reconcile(second)

    assert not is_suspended(desk, second)


async def test_who_is_cancelled_in_the_line_is_over_once_its_job_is_gone(desk: Desk) -> None:
    first, second, third = calls(desk)
    for task in (first, second, third):
        await desk.tasks.reconcile(task)
    await desk.cluster.patch(TASKS, NAMESPACE, second, {"spec": {"cancelRequested": True}})
    desk.see()

    await desk.tasks.reconcile(second)
    desk.see()
    await desk.tasks.reconcile(second)

    assert desk.status(second)["phase"] == "Cancelled"
    assert [job["metadata"]["name"] for job in desk.cluster.all(JOBS)] == [first, third]
    assert desk.lines.seen(third).ahead == 0


@pytest.mark.parametrize("change", ["edited", "deleted"])
async def test_who_waits_runs_what_was_called(desk: Desk, change: str) -> None:
    first, second, _ = calls(desk)
    for task in (first, second):
        await desk.tasks.reconcile(task)
    template = next(job for job in desk.cluster.all(JOBS) if job["metadata"]["name"] == second)["spec"]["template"]

    if change == "edited":
        other: Json = {"template": {"spec": {"containers": [{"name": "tool", "image": "example.invalid/other:2"}]}}}
        desk.tool(job=other, limits={"running": 1})
        desk.see()
    else:
        await desk.cluster.delete(TOOLS, NAMESPACE, "echo")
        desk.see()
    desk.pod(first, OVER)
    await desk.tasks.reconcile(first)
    await desk.tasks.reconcile(second)

    job = next(job for job in desk.cluster.all(JOBS) if job["metadata"]["name"] == second)
    assert not job["spec"]["suspend"]
    assert job["spec"]["template"]["spec"] == template["spec"]


async def test_a_task_beyond_the_queue_has_no_job(desk: Desk) -> None:
    made = calls(desk, 4, queued=2)
    for task in made:
        await desk.tasks.reconcile(task)

    assert [desk.status(task).get("reason") for task in made] == [None, None, None, "QueueFull"]
    assert len(desk.cluster.all(JOBS)) == 3
