"""A tool with retries as a table: which failure is the last, what is told in between, and whose word counts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import AnswerRoad, JobSeen, Question, Report, Stopping
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import ConfirmPods, RetireJob, StopJob
from mcptasks_operator.executions import MOST_DISRUPTIONS, backstop_seconds
from mcptasks_operator.observation import Observation, PodSeen
from mcptasks_operator.samples import (
    JOB_UID,
    NOW,
    POD_UID,
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

WITHOUT_POD = JobSeen(name=TASK, uid=JOB_UID, pod_name="pod-1")


def tried(*pods: PodSeen, failed: int = 0, retries: int = 2, **fields: Any) -> Observation:
    """A task of a tool with retries; `failed` is the Job's own count."""
    given = fields.pop("job", {})
    made = job(execution=execution(retries=retries), failed=failed, **given)
    return observation(**{"job": made, "pods": pods, "task": task(status(attempts=1)), **fields})


def second(container: Any = None, **fields: Any) -> PodSeen:
    """Another attempt's pod."""
    return pod(container, **{"name": "pod-2", "uid": "pod-2", "created_at": ago(20), **fields})


FIRST = pod(ended(3), phase="Failed")
FAILURES = {
    "an exit code": pod(ended(3), phase="Failed"),
    "a signal": pod(ended(137, reason="OOMKilled"), phase="Failed"),
    "a command that is not there": pod(ended(128, reason="StartError"), phase="Failed"),
    "an eviction": pod(running(), phase="Failed", reason="Evicted"),
    "a drain": pod(running(), deleting=True),
    "a pod that is gone": None,
}


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_a_failure_is_not_the_end_as_long_as_the_job_tries_again(failure: str) -> None:
    pods = [each for each in [FAILURES[failure]] if each is not None]
    decision = decide(tried(*pods))

    assert decision.need is None
    assert decision.status.phase is Phase.PENDING
    assert decision.status.message is not None
    assert decision.status.message.endswith("; waiting for another attempt")
    assert decision.status.job == WITHOUT_POD  # nobody's report is taken


def test_between_two_attempts_the_message_says_what_became_of_the_last() -> None:
    decision = decide(tried(FIRST, failed=1))

    assert decision.status.message == (
        "the last attempt ended with exit code 3; waiting for another attempt (attempt 2 of 3)"
    )
    assert decision.status.attempts == 1


def test_the_next_attempts_pod_is_on_record_as_soon_as_it_is_there() -> None:
    between = status(Phase.PENDING, attempts=1).model_copy(update={"job": WITHOUT_POD})
    decision = decide(tried(FIRST, second(waiting("ContainerCreating")), failed=1, task=task(between)))

    assert decision.status.job is not None
    assert (decision.status.job.pod_name, decision.status.job.pod_uid) == ("pod-2", "pod-2")
    assert decision.status.attempts == 2


@pytest.mark.parametrize("pods_left", [True, False], ids=["its pod is there", "its pod is gone"])
def test_attempts_are_counted_once_whether_or_not_earlier_pods_are_left(pods_left: bool) -> None:
    between = status(Phase.PENDING, attempts=1).model_copy(update={"job": WITHOUT_POD})
    seen = tried(*([FIRST] if pods_left else []), second(running(ago(5))), failed=1, task=task(between))
    first = decide(seen)
    again = decide(replace(seen, task=task(first.status)))

    assert first.status.attempts == again.status.attempts == 2
    assert first.status.message == "running (attempt 2 of 3)"
    assert first.status.phase is Phase.RUNNING


def test_a_pod_that_takes_its_time_to_go_is_counted_once() -> None:
    going = tried(pod(running(), deleting=True))
    first = decide(going)
    second_look = decide(replace(going, task=task(first.status)))

    assert first.status.job == WITHOUT_POD
    assert second_look.status == first.status
    assert second_look.status.attempts == 1


def test_an_attempt_that_is_over_when_it_is_first_seen_is_counted_too() -> None:
    between = status(Phase.PENDING, attempts=1).model_copy(update={"job": WITHOUT_POD})
    done = second(ended(0, "done"), phase="Succeeded")
    decision = decide(tried(done, failed=1, task=task(between)))

    assert decision.status.attempts == 2
    assert decision.status.job is not None
    assert decision.status.job.pod_name == "pod-2"


def test_a_success_is_final_at_once_whichever_attempt_gave_it() -> None:
    decision = decide(tried(FIRST, second(ended(0, "done"), phase="Succeeded"), failed=1))

    assert decision.status.phase is Phase.COMPLETED
    assert decision.status.reason is Reason.SUCCEEDED


def test_the_last_failure_is_the_task_s_once_the_job_says_so_and_its_own_pod_is_seen() -> None:
    over = {"failure_reason": "BackoffLimitExceeded"}
    late = tried(FIRST, failed=3, job=over)
    assert isinstance(decide(late).need, ConfirmPods)

    last = second(ended(7, "third"), phase="Failed")
    decision = decide(tried(FIRST, last, failed=3, job=over, pods_confirmed=True, log=log()))

    assert decision.status.phase is Phase.COMPLETED
    assert decision.status.reason is Reason.EXIT_CODE
    assert decision.status.exit_code == 7
    assert decision.status.attempts == 3


def test_each_attempt_has_its_own_time_to_start() -> None:
    old = job(execution=execution(retries=2), failed=1, created_at=ago(10 * START_DEADLINE_SECONDS))
    fresh = second(waiting("ContainerCreating"), created_at=ago(START_DEADLINE_SECONDS - 5))
    seen = observation(job=old, pods=(FIRST, fresh), task=task(status(Phase.PENDING, attempts=2)))

    assert decide(seen).status.phase is Phase.PENDING
    assert decide(seen).look_again_at == NOW + timedelta(seconds=5)
    late = decide(replace(seen, now=NOW + timedelta(seconds=5), pods_confirmed=True))
    assert late.status.reason is Reason.START_DEADLINE


def test_an_attempt_has_its_own_time_to_start_also_when_it_is_first_seen() -> None:
    kept = execution(retries=2)
    old = job(execution=kept, failed=1, created_at=ago(10 * START_DEADLINE_SECONDS))
    between = status(Phase.PENDING, attempts=1).model_copy(update={"job": WITHOUT_POD})
    fresh = second(waiting("ContainerCreating"), created_at=ago(1))
    of_kueue = replace(old, execution=replace(kept, queue_name="gpus"), active_since=old.created_at)

    for made in (old, of_kueue):
        decision = decide(observation(job=made, pods=(FIRST, fresh), task=task(between), pods_confirmed=True))

        assert decision.status.phase is Phase.PENDING
        assert decision.status.message == "starting (attempt 2 of 3)"


def test_a_run_that_takes_too_long_is_not_tried_again() -> None:
    seen = tried(pod(running(ago(10_000))), pods_confirmed=True, log=log())
    decision = decide(seen)

    assert decision.status.phase is Phase.STOPPING
    assert decision.after == (StopJob(name=TASK, uid=JOB_UID),)


def test_a_cancel_between_two_attempts_is_over_only_once_the_job_makes_no_more() -> None:
    stopping = status(Phase.STOPPING, stopping=Stopping(reason=Reason.CANCELLED, at=ago(1)), attempts=1)
    going_on = tried(FIRST, failed=1, task=task(stopping, cancel_requested=True))
    assert decide(going_on).status.phase is Phase.STOPPING
    assert StopJob(name=TASK, uid=JOB_UID) in decide(going_on).after

    stopped = replace(going_on, job=job(execution=execution(retries=2), failure_reason="DeadlineExceeded"))
    assert decide(stopped).status.phase is Phase.CANCELLED


def test_a_result_ends_the_job_at_once_where_its_pod_then_fails() -> None:
    given = status(Phase.RUNNING, report=Report(result='{"content":[]}'))
    decision = decide(tried(FIRST, task=task(given)))

    assert decision.status.phase is Phase.COMPLETED
    (retire,) = [action for action in decision.after if isinstance(action, RetireJob)]
    assert retire.stop


@pytest.mark.parametrize(("disruptions", "is_over"), [(MOST_DISRUPTIONS, False), (MOST_DISRUPTIONS + 1, True)])
def test_disruptions_spend_no_retry_and_have_their_own_bound(disruptions: int, is_over: bool) -> None:
    current = status(attempts=disruptions + 1).model_copy(
        update={"job": JobSeen(name=TASK, uid=JOB_UID, pod_name="pod-2", pod_uid="pod-2")}
    )
    decision = decide(tried(second(running(ago(15))), failed=0, retries=1, task=task(current)))

    assert (decision.status.reason is Reason.POD_DELETED) is is_over
    if is_over:
        assert decision.status.message == (
            f"its pods were drained, evicted or preempted {disruptions} times, and failed 0 times of 2"
        )


def test_what_a_pod_left_open_is_closed_when_it_is_over_and_no_other_question() -> None:
    question = Question(message="Sure?", requested_schema="{}", asked_at=ago(30))
    fresh = Question(message="Really?", requested_schema="{}", asked_at=ago(1))
    seen = status(attempts=2, report=Report(questions={"sure": question, "really": fresh}))
    decision = decide(tried(FIRST, second(running(ago(10))), failed=1, task=task(seen)))

    assert decision.status.answers["sure"].road is AnswerRoad.EXPIRED
    assert "really" not in decision.status.answers
    assert decision.status.phase is Phase.INPUT_REQUIRED


def test_without_retries_a_question_stays_open_until_its_time_is_over() -> None:
    question = Question(message="Sure?", requested_schema="{}", asked_at=ago(70))
    decision = decide(observation(task=task(status(report=Report(questions={"sure": question})))))

    assert decision.status.answers == {}


def test_an_attempt_whose_predecessors_came_and_went_unseen_has_its_own_time_to_start() -> None:
    """The operator was away, and a pod that was drained is gone and counted by nobody."""
    made = job(created_at=ago(START_DEADLINE_SECONDS + 1), execution=execution(retries=1))
    again = pod(waiting("ContainerCreating"), created_at=ago(5))
    never_seen = task(status(Phase.PENDING, pod=False))
    decision = decide(observation(task=never_seen, job=made, pods=(again,), pods_confirmed=True))

    assert decision.status.phase is Phase.PENDING
    assert decision.look_again_at == NOW + timedelta(seconds=START_DEADLINE_SECONDS - 5)


def test_kubernetes_own_deadline_has_room_for_all_attempts() -> None:
    once = backstop_seconds(execution())
    per_attempt = execution().start_deadline_seconds + execution().timeout_seconds + execution().grace_seconds

    assert backstop_seconds(execution(retries=3)) >= once + (3 + MOST_DISRUPTIONS) * per_attempt


def test_the_pod_that_speaks_for_the_task_is_the_one_on_record() -> None:
    decision = decide(tried(pod(running())))

    assert decision.status.job is not None
    assert decision.status.job.pod_uid == POD_UID


def test_two_pods_for_the_one_attempt_of_a_tool_without_retries_are_one_attempt() -> None:
    twice = (pod(running()), pod(name="pod-2", node=None, phase="Pending"))

    decision = decide(observation(pods=twice, task=task(status(Phase.PENDING, pod=False))))

    assert (decision.status.attempts, decision.status.job and decision.status.job.pod_name) == (1, "pod-1")
