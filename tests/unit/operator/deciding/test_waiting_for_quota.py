"""A tool whose Jobs Kueue lets start, as a table: what is suspended waits, also when it was stopped to make room."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, JobSeen
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import DeleteJob, ReleaseJob
from mcptasks_operator.observation import JobView, Observation
from mcptasks_operator.samples import (
    JOB_UID,
    NOW,
    START_DEADLINE_SECONDS,
    TASK,
    ago,
    ended,
    execution,
    job,
    log,
    observation,
    pod,
    running,
    status,
    task,
    waiting,
)

QUEUE_SECONDS = 500
WITHOUT_POD = JobSeen(name=TASK, uid=JOB_UID, pod_name="pod-1")


def queued(**fields: Any) -> JobView:
    """A Job that Kueue has not let start."""
    kept = execution(queue_name="gpus", queue_seconds=QUEUE_SECONDS)
    return job(**{"execution": kept, "is_suspended": True, "suspended_at": ago(60), "active_since": None, **fields})


def admitted(**fields: Any) -> JobView:
    """A Job that Kueue has let start."""
    return queued(**{"is_suspended": False, "suspended_at": None, "active_since": ago(59), **fields})


def seen(made: JobView, *pods: Any, **fields: Any) -> Observation:
    return observation(**{"job": made, "pods": pods, "task": task(status(Phase.PENDING, pod=False)), **fields})


def test_a_suspended_job_waits_and_is_never_let_start_by_us() -> None:
    decision = decide(seen(queued()))

    assert decision.need is None
    assert decision.after == ()
    assert decision.status.phase is Phase.PENDING
    assert decision.status.message == "queued: waiting for quota in Kueue's queue gpus"
    assert decision.look_again_at == NOW + timedelta(seconds=QUEUE_SECONDS - 60)


def test_who_is_not_admitted_in_time_fails_and_its_job_goes() -> None:
    decision = decide(seen(queued(created_at=ago(QUEUE_SECONDS), suspended_at=ago(QUEUE_SECONDS))))

    assert decision.status.reason is Reason.QUEUE_TIME_OVER
    assert decision.status.message == "not admitted within 500 s by Kueue's queue gpus"
    assert DeleteJob(name=TASK, uid=JOB_UID) in decision.after


def test_the_time_in_the_queue_does_not_count_towards_the_start() -> None:
    waits = pod(waiting("ContainerCreating"), created_at=ago(30))
    long_ago = admitted(created_at=ago(100_000), active_since=ago(31))
    decision = decide(seen(long_ago, waits))

    assert decision.status.phase is Phase.PENDING
    assert decision.look_again_at == NOW + timedelta(seconds=START_DEADLINE_SECONDS - 31)
    late = replace(seen(replace(long_ago, active_since=ago(START_DEADLINE_SECONDS)), waits), pods_confirmed=True)
    assert decide(late).status.reason is Reason.START_DEADLINE


def test_who_is_admitted_begins_to_start_once_the_job_controller_has_looked() -> None:
    decision = decide(seen(admitted(created_at=ago(100_000), active_since=None), pods_confirmed=True))

    assert decision.status.phase is Phase.PENDING
    assert decision.look_again_at is not None
    assert decision.look_again_at > NOW


def test_who_was_stopped_to_make_room_begins_to_wait_then_also_before_the_job_controller_has_looked() -> None:
    long_ago = queued(created_at=ago(100_000), suspended_at=None, active_since=ago(90_000))
    decision = decide(seen(long_ago, pod(running()), task=task(status(attempts=1))))

    assert decision.status.phase is Phase.PENDING
    assert (
        decision.status.message
        == "queued again: it was stopped to make room, and waits for quota in Kueue's queue gpus"
    )


def test_a_task_that_was_stopped_to_make_room_is_queued_again_and_nobody_speaks_for_it() -> None:
    for pods in ((pod(running(), deleting=True),), ()):
        decision = decide(seen(queued(suspended_at=ago(1)), *pods, task=task(status(attempts=1))))

        assert decision.need is None
        assert decision.status.phase is Phase.PENDING
        assert decision.status.message == (
            "queued again: it was stopped to make room, and waits for quota in Kueue's queue gpus"
        )
        assert decision.status.job == WITHOUT_POD


@pytest.mark.parametrize("pods", [(pod(running(), deleting=True),), ()], ids=["its pod goes", "its pod is gone"])
def test_a_pod_that_goes_is_no_end_while_the_cache_may_be_late_with_the_jobs_suspension(pods: Any) -> None:
    decision = decide(seen(admitted(), *pods, task=task(status(attempts=1)), pods_confirmed=True))

    assert decision.status.phase is Phase.PENDING
    assert decision.status.finished_at is None


def test_the_time_in_the_queue_does_not_count_towards_kubernetes_own_deadline() -> None:
    long_ago = admitted(created_at=ago(100_000), active_deadline_seconds=1000)
    going = pod(running(), deleting=True)
    decision = decide(seen(long_ago, going, task=task(status(attempts=1)), pods_confirmed=True))

    assert decision.status.phase is Phase.PENDING
    assert decision.status.finished_at is None


def test_a_pod_that_was_deleted_by_hand_ends_the_task_once_kubernetes_says_so() -> None:
    over = admitted(failure_reason="BackoffLimitExceeded", finished=True)
    decision = decide(seen(over, pod(running(), deleting=True), task=task(status(attempts=1)), job_confirmed=True))

    assert decision.status.phase is Phase.FAILED


def test_what_was_done_before_the_eviction_counts() -> None:
    decision = decide(seen(queued(), pod(ended(0, "done"), phase="Succeeded"), task=task(status(attempts=1))))

    assert decision.status.reason is Reason.SUCCEEDED


def test_without_retries_the_tools_own_failure_is_final_at_once() -> None:
    decision = decide(seen(admitted(), pod(ended(3), phase="Failed"), log=log()))

    assert decision.status.reason is Reason.EXIT_CODE


def test_admitted_again_it_runs_with_another_pod() -> None:
    again = pod(running(ago(3)), name="pod-2", uid="pod-2", created_at=ago(5))
    evicted = status(Phase.PENDING, attempts=1).model_copy(update={"job": WITHOUT_POD})
    decision = decide(seen(admitted(active_since=ago(6)), again, task=task(evicted)))

    assert decision.status.phase is Phase.RUNNING
    assert decision.status.message == "running"
    assert decision.status.attempts == 2


def test_a_cancel_in_kueues_queue_deletes_the_job() -> None:
    decision = decide(seen(queued(), task=task(status(Phase.PENDING, pod=False), cancel_requested=True)))

    assert decision.after == (DeleteJob(name=TASK, uid=JOB_UID),)


def test_kueue_is_told_of_the_job_only_once_its_questions_are_answered() -> None:
    question = TaskQuestion(message="Sure?", requested_schema='{"type":"object"}', when=QuestionTime.BEFORE_START)
    yes = Answer(response='{"action":"accept","content":{}}', by="alice")
    held = queued(is_held_back=True)
    open_ = task(status(Phase.INPUT_REQUIRED, pod=False), questions={"sure": question})
    answered = task(status(Phase.INPUT_REQUIRED, pod=False), questions={"sure": question}, answers={"sure": yes})

    assert decide(seen(held, task=open_)).status.phase is Phase.INPUT_REQUIRED
    need = decide(seen(held, task=answered)).need
    assert isinstance(need, ReleaseJob)
    assert need.queue_name == "gpus"


def test_somebody_elses_suspension_of_a_job_without_a_queue_is_no_queue() -> None:
    suspended = job(is_suspended=True)
    decision = decide(seen(suspended, pod(running(), deleting=True), task=task(status()), job_confirmed=True))

    assert decision.status.phase is Phase.FAILED
