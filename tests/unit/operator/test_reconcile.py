"""One pass over a task: what is asked of the API server, in which order, and what its errors come to."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import EVENTS, JOBS, PODS, TASKS, ConflictError, KubeError, RejectedError, RetryableError
from mcptasks_operator.errors import NotLeadingError
from mcptasks_operator.testing.cluster import Call, Fault
from mcptasks_operator.testing.desk import NAMESPACE, Desk
from mcptasks_operator.testing.kubelet import running, terminated

DAY = 86_400
NOW = datetime(2026, 11, 30, tzinfo=UTC)
POST_JOB = Call("create", "jobs")
PATCH_JOB = Call("patch", "jobs")
PATCH_STATUS = Call("patch", "mcptasks/status")


async def started(desk: Desk, **spec: Any) -> str:
    """A task whose container runs; it is kept for a day unless that is said otherwise."""
    desk.tool()
    task = desk.task(**{"retentionSeconds": DAY} | spec)
    await desk.tasks.reconcile(task)
    desk.pod(task, running(desk.cluster.now))
    await desk.tasks.reconcile(task)
    assert desk.status(task)["phase"] == "Running"
    return task


async def ended(desk: Desk, **spec: Any) -> str:
    """A task that is completed."""
    task = await started(desk, **spec)
    desk.pod(task, terminated(desk.cluster.now, message="done"))
    await desk.tasks.reconcile(task)
    assert desk.status(task)["phase"] == "Completed"
    return task


async def test_a_new_task_gets_its_job_and_the_status_says_which(desk: Desk) -> None:
    desk.tool()
    task = desk.task()

    await desk.tasks.reconcile(task)

    job = desk.cluster.all(JOBS)[0]
    assert desk.status(task)["job"] == {"name": names.job_name(task), "uid": job["metadata"]["uid"]}
    assert desk.cluster.calls == [POST_JOB, PATCH_STATUS]


async def test_a_pass_that_finds_nothing_new_asks_and_writes_nothing(desk: Desk) -> None:
    task = await started(desk)
    before = len(desk.cluster.calls)

    await desk.tasks.reconcile(task)
    desk.see()
    await desk.tasks.reconcile(task)

    assert len(desk.cluster.calls) == before


async def test_no_object_is_read_on_the_straight_way(desk: Desk) -> None:
    task = await ended(desk, retentionSeconds=10)
    desk.move(11)
    await desk.tasks.reconcile(task)

    assert desk.cluster.all(TASKS) == ()
    assert desk.cluster.calls == [
        POST_JOB,
        PATCH_STATUS,
        PATCH_STATUS,
        PATCH_STATUS,
        Call("create", "events"),
        Call("delete", "mcptasks"),
    ]


@pytest.mark.requirement("failures/f1-01")
async def test_the_outcome_is_written_before_the_job_is_retired(desk: Desk) -> None:
    await ended(desk)

    last_status = max(index for index, call in enumerate(desk.cluster.calls) if call == PATCH_STATUS)
    assert last_status < desk.cluster.calls.index(PATCH_JOB)
    assert desk.cluster.all(JOBS)[0]["spec"]["ttlSecondsAfterFinished"] > 0


async def test_a_status_that_could_not_be_written_leaves_the_job_as_it_is(desk: Desk) -> None:
    task = await started(desk)
    desk.pod(task, terminated(NOW, message="done"))
    desk.cluster.faults.append(Fault(call=PATCH_STATUS, error=RetryableError("500", status=500)))

    with pytest.raises(RetryableError):
        await desk.tasks.reconcile(task)
    assert "ttlSecondsAfterFinished" not in desk.cluster.all(JOBS)[0]["spec"]

    await desk.tasks.reconcile(task)
    assert desk.status(task)["phase"] == "Completed"


async def test_a_retirement_that_fails_is_done_by_the_next_pass_and_the_end_is_told_all_the_same(desk: Desk) -> None:
    task = await started(desk)
    desk.pod(task, terminated(NOW, message="done"))
    desk.cluster.faults.append(Fault(call=PATCH_JOB, error=RetryableError("500", status=500)))

    with pytest.raises(RetryableError):
        await desk.tasks.reconcile(task)
    assert [event["reason"] for event in desk.cluster.all(EVENTS)] == ["Succeeded"]

    await desk.tasks.reconcile(task)
    assert "ttlSecondsAfterFinished" in desk.cluster.all(JOBS)[0]["spec"]


async def test_a_deletion_that_meets_a_conflict_with_nobody_is_done_by_the_next_pass(desk: Desk) -> None:
    task = await ended(desk, retentionSeconds=10)
    desk.move(11)
    conflict = ConflictError("try again", status=409, reason="Conflict")
    desk.cluster.faults += [Fault(call=Call("delete", "mcptasks"), error=conflict) for _ in range(9)]

    with pytest.raises(KubeError):
        await desk.tasks.reconcile(task)
    desk.cluster.faults.clear()
    await desk.tasks.reconcile(task)

    assert desk.cluster.all(TASKS) == ()


@pytest.mark.parametrize("error", [RetryableError("500"), RejectedError("403"), ConflictError("409")], ids=str)
async def test_an_event_that_cannot_be_recorded_is_nothing_to_stop_for(desk: Desk, error: KubeError) -> None:
    task = await started(desk)
    desk.pod(task, terminated(NOW, message="done"))
    desk.cluster.faults.append(Fault(call=Call("create", "events"), error=error))

    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Completed"


@pytest.mark.requirement("failures/f2-27")
async def test_a_job_whose_answer_was_lost_is_found_and_taken(desk: Desk) -> None:
    desk.tool()
    task = desk.task()
    desk.cluster.faults.append(Fault(call=POST_JOB, error=RetryableError("no answer"), is_done=True))

    with pytest.raises(RetryableError):
        await desk.tasks.reconcile(task)
    await desk.tasks.reconcile(task)

    assert len(desk.cluster.all(JOBS)) == 1
    assert desk.status(task)["job"]["uid"] == desk.cluster.all(JOBS)[0]["metadata"]["uid"]


async def test_anothers_job_of_that_name_is_not_taken(desk: Desk) -> None:
    desk.tool()
    task = desk.task()
    foreign = {"metadata": {"name": names.job_name(task)}, "spec": {"template": {"metadata": {}, "spec": {}}}}
    desk.cluster.put(JOBS, NAMESPACE, foreign)

    await desk.tasks.reconcile(task)

    assert desk.status(task)["reason"] == "JobNameTaken"
    assert desk.cluster.all(JOBS)[0]["spec"] == foreign["spec"]
    assert desk.store.get(JOBS, names.job_name(task)) is None


async def test_a_job_that_the_api_server_refuses_ends_the_task_with_its_words(desk: Desk) -> None:
    desk.tool()
    task = desk.task()
    desk.cluster.refused_jobs = "spec.template.spec.priorityClassName: no such class"

    await desk.tasks.reconcile(task)

    status = desk.status(task)
    assert (status["phase"], status["reason"]) == ("Failed", "JobRejected")
    assert "no such class" in status["error"]["message"]


async def test_a_task_that_was_written_to_meanwhile_is_decided_anew(desk: Desk) -> None:
    task = await started(desk)
    # The wish to cancel is in the cluster, and no watch has brought it.
    await desk.cluster.patch(TASKS, NAMESPACE, task, {"spec": {"cancelRequested": True}})
    desk.cluster.put(PODS, NAMESPACE, desk.cluster.all(PODS)[0] | {"status": terminated(NOW, message="done")})
    desk.store.put(PODS, desk.cluster.all(PODS)[0])

    await desk.tasks.reconcile(task)

    # The tool ended by itself before anybody began to stop it.
    assert desk.status(task)["phase"] == "Completed"
    assert desk.count("get", "mcptasks") == 1


async def test_whoever_ended_the_task_first_has_ended_it(desk: Desk) -> None:
    task = await started(desk)
    end = {"phase": "Cancelled", "reason": "Cancelled", "finishedAt": "2026-11-30T00:00:00.000Z"}
    await desk.cluster.patch(TASKS, NAMESPACE, task, {"status": end}, subresource="status")
    # The watch brings the pod's end, and not yet the task's.
    finished = desk.cluster.put(PODS, NAMESPACE, desk.cluster.all(PODS)[0] | {"status": terminated(NOW, message="x")})
    desk.store.put(PODS, finished)

    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Cancelled"
    assert "result" not in desk.status(task)
    assert desk.count("get", "mcptasks") == 1


async def test_a_refusal_of_the_status_that_is_nobody_elses_doing_is_shown(desk: Desk) -> None:
    task = await started(desk)
    desk.pod(task, terminated(NOW, message="done"))
    desk.cluster.faults.append(Fault(call=PATCH_STATUS, error=RejectedError("a rule", status=422)))

    with pytest.raises(RejectedError, match="a rule"):
        await desk.tasks.reconcile(task)


async def test_a_task_that_is_gone_is_let_go(desk: Desk) -> None:
    task = await started(desk)
    desk.pod(task, terminated(NOW, message="done"))
    await desk.cluster.delete(TASKS, NAMESPACE, task)

    assert await desk.tasks.reconcile(task) is None
    assert desk.store.get(TASKS, task) is None
    assert await desk.tasks.reconcile(task) is None


async def test_the_cache_is_never_older_than_our_own_writes(desk: Desk) -> None:
    desk.tool()
    task = desk.task()
    before = dict(desk.store.get(TASKS, task) or {})
    await desk.tasks.reconcile(task)

    assert desk.store.put(TASKS, before) is False  # a late event
    await desk.tasks.reconcile(task)

    assert desk.count("create", "jobs") == 1


async def test_a_log_is_read_once_though_the_status_must_be_written_twice(desk: Desk) -> None:
    task = await started(desk)
    pod = desk.pod(task, terminated(NOW))
    desk.cluster.logs[pod, "tool"] = b"said\n"
    desk.cluster.faults.append(Fault(call=PATCH_STATUS, error=ConflictError("409", status=409)))

    await desk.tasks.reconcile(task)

    assert "said" in json.loads(desk.status(task)["result"]["inline"])["content"][0]["text"]
    assert desk.count("get", "pods/log") == 1


async def test_a_missing_job_is_confirmed_before_it_ends_the_task(desk: Desk) -> None:
    task = await started(desk)
    job = desk.store.get(JOBS, names.job_name(task))
    assert job is not None
    desk.store.remove(JOBS, names.job_name(task), version=job["metadata"]["resourceVersion"])

    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Running"
    assert desk.count("get", "jobs") == 1


async def test_a_pod_that_goes_with_its_job_tells_of_the_jobs_end_though_its_watch_is_ahead(desk: Desk) -> None:
    task = await started(desk)
    (pod,) = desk.store.pods_of(task)
    await desk.cluster.delete(JOBS, NAMESPACE, names.job_name(task))
    desk.store.remove(PODS, pod["metadata"]["name"], version=pod["metadata"]["resourceVersion"])

    await desk.tasks.reconcile(task)

    assert (desk.status(task)["phase"], desk.status(task)["reason"]) == ("Failed", "JobDeleted")
    assert desk.store.get(JOBS, names.job_name(task)) is None


async def test_why_a_pod_went_is_known_though_it_was_gone_before_anybody_looked(desk: Desk) -> None:
    task = await started(desk)
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "for a guest",
    }
    pod = desk.pod(task, {**running(desk.cluster.now), "conditions": [condition]})
    await desk.cluster.delete(PODS, NAMESPACE, pod)
    desk.see()

    await desk.tasks.reconcile(task)

    assert desk.status(task)["reason"] == "Preempted"
    assert "for a guest" in desk.status(task)["message"]


async def test_another_job_that_took_the_name_meanwhile_is_not_stopped(desk: Desk) -> None:
    task = await started(desk)
    desk.pod(task, terminated(NOW, message="done"))
    await desk.cluster.delete(JOBS, NAMESPACE, names.job_name(task))
    desk.cluster.put(JOBS, NAMESPACE, {"metadata": {"name": names.job_name(task)}, "spec": {}})

    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Completed"
    assert desk.cluster.all(JOBS)[0]["spec"] == {}


async def test_a_job_that_refuses_its_retirement_is_not_passed_over(desk: Desk) -> None:
    task = await started(desk)
    desk.pod(task, terminated(NOW, message="done"))
    desk.cluster.faults.append(Fault(call=PATCH_JOB, error=RejectedError("no", status=403)))

    with pytest.raises(RejectedError):
        await desk.tasks.reconcile(task)


@pytest.mark.parametrize(
    "labels",
    [{names.TASK_LABEL: "other"}, {names.MANAGED_BY_LABEL: "me"}, {"batch.kubernetes.io/job-name": "other"}],
    ids=["its task", "its manager", "its Job"],
)
async def test_a_pod_that_somebody_labelled_otherwise_is_neither_lost_nor_left_running(
    labels: dict[str, str], desk: Desk
) -> None:
    task = await started(desk)
    relabelled = desk.cluster.all(PODS)[0]
    relabelled["metadata"]["labels"] |= labels
    desk.cluster.put(PODS, NAMESPACE, relabelled)
    desk.see()
    if names.MANAGED_BY_LABEL in labels:  # what a watch that selects by it says then
        desk.store.remove(PODS, relabelled["metadata"]["name"], version=desk.cluster.version)

    await desk.tasks.reconcile(task)
    await desk.cluster.patch(TASKS, NAMESPACE, task, {"spec": {"cancelRequested": True}})
    desk.see()
    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Stopping"

    await desk.cluster.delete(PODS, NAMESPACE, relabelled["metadata"]["name"])
    desk.see()
    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Cancelled"


async def test_a_cancelled_task_whose_job_was_deleted_waits_for_the_pod_that_the_job_left_behind(desk: Desk) -> None:
    task = await started(desk)
    await desk.cluster.patch(TASKS, NAMESPACE, task, {"spec": {"cancelRequested": True}})
    left = desk.cluster.all(PODS)[0]
    await desk.cluster.delete(JOBS, NAMESPACE, names.job_name(task))
    left["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z"  # its grace: Kubernetes has told it to end
    desk.cluster.put(PODS, NAMESPACE, left)
    desk.see()

    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Stopping"


async def test_what_is_looked_at_again_is_told_in_seconds(desk: Desk) -> None:
    task = await ended(desk, retentionSeconds=100)
    desk.move(40)

    seconds = await desk.tasks.reconcile(task)

    assert seconds == pytest.approx(60)


@dataclass
class Deposed:
    transitions = 0

    async def run(self) -> None: ...

    async def acquired(self) -> None: ...

    async def give_up(self) -> None: ...

    def holds(self) -> bool:
        return False


async def test_no_job_is_made_by_who_does_not_lead() -> None:
    desk = Desk(leadership=Deposed())
    desk.tool()
    task = desk.task()

    with pytest.raises(NotLeadingError):
        await desk.tasks.reconcile(task)

    assert desk.cluster.all(JOBS) == ()


@pytest.mark.parametrize("call", [POST_JOB, PATCH_STATUS, PATCH_JOB, Call("delete", "mcptasks")], ids=str)
@pytest.mark.parametrize("is_done", [False, True], ids=["refused", "answer lost"])
@pytest.mark.requirement("failures/f1-02")
async def test_any_write_may_fail_once_and_all_ends_well(desk: Desk, call: Call, is_done: bool) -> None:
    desk.cluster.faults.append(Fault(call=call, error=RetryableError("500", status=500), is_done=is_done))
    desk.tool()
    task = desk.task(retentionSeconds=DAY)
    statuses = [running(NOW), terminated(NOW, message="done")]

    for _ in range(8):
        desk.see()
        try:
            await desk.tasks.reconcile(task)
        except RetryableError:
            continue
        if desk.cluster.all(JOBS) and statuses:
            desk.pod(task, statuses.pop(0))
        elif not statuses:
            desk.move(DAY + 1)

    assert desk.cluster.faults == []
    assert desk.cluster.all(TASKS) == desk.cluster.all(JOBS) == desk.cluster.all(PODS) == ()
    assert [event["reason"] for event in desk.cluster.all(EVENTS)] == ["Succeeded"]
