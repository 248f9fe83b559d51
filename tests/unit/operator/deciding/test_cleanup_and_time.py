"""What comes after a decision, how long a task is kept, and when it is looked at again."""

from datetime import datetime

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Report, Stopping, TaskResult, TaskStatus
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import Action, DeleteTask, RecordEvent, RetireJob, StopJob
from mcptasks_operator.observation import Absent, JobView, Observation, PodSeen
from mcptasks_operator.samples import (
    GRACE_SECONDS,
    JOB_UID,
    NOW,
    RETENTION_SECONDS,
    START_DEADLINE_SECONDS,
    TASK,
    TASK_UID,
    TIMEOUT_SECONDS,
    ago,
    ahead,
    ended,
    job,
    log,
    observation,
    pod,
    running,
    status,
    task,
    tool,
)

RETIRED = job(ttl_seconds_after_finished=600)
RETIRE = RetireJob(name=TASK, uid=JOB_UID, ttl_seconds=600, stop=False)
RETIRE_AND_STOP = RetireJob(name=TASK, uid=JOB_UID, ttl_seconds=600, stop=True)
STOP = StopJob(name=TASK, uid=JOB_UID)
OVER = status(Phase.COMPLETED, reason=Reason.SUCCEEDED, finished_at=ago(10), expires_at=ahead(3590))
DAY = 86_400
KEPT_FOR_MORE_THAN_AN_HOUR = task(retention_seconds=3601)
KEPT_FOR_A_DAY = task(retention_seconds=DAY)
OVER_FOR_A_DAY = status(Phase.COMPLETED, reason=Reason.SUCCEEDED, finished_at=ago(10), expires_at=ahead(DAY - 10))
REPORTED = status(report=Report(result='{"content":[]}'))
GAVE_ITS_RESULT = status(
    Phase.COMPLETED,
    reason=Reason.SUCCEEDED,
    finished_at=NOW,
    expires_at=ahead(3600),
    report=Report(result='{"content":[]}'),
    result=TaskResult(source="report"),
)
CANCELLING = Stopping(reason=Reason.CANCELLED, at=ago(3))


def over(job: JobView | Absent, *pods: PodSeen, status: TaskStatus = OVER, now: datetime = NOW) -> Observation:
    return observation(task=task(status), job=job, pods=pods, now=now)


def actions(seen: Observation) -> list[Action]:
    return [action for action in decide(seen).after if not isinstance(action, RecordEvent)]


AFTER = [
    pytest.param(observation(), [], id="nothing is done to a Job that runs"),
    pytest.param(
        observation(task=KEPT_FOR_A_DAY, pods=(pod(ended(0, "done")),)),
        [RETIRE],
        id="a Job that ended well is left to end by itself",
    ),
    pytest.param(
        observation(pods=(pod(ended(0, "done")),)),
        [],
        id="a Job that goes with its task within the hour is left",
    ),
    pytest.param(
        observation(task=KEPT_FOR_MORE_THAN_AN_HOUR, pods=(pod(ended(0, "done")),)),
        [RETIRE],
        id="a Job that its task takes along after more than an hour is retired",
    ),
    pytest.param(observation(task=task(REPORTED)), [], id="a program that gave its result may end by itself"),
    pytest.param(
        over(job(), pod(running()), status=GAVE_ITS_RESULT, now=ahead(10)),
        [RETIRE_AND_STOP],
        id="a program that runs on for ten seconds after its result is stopped",
    ),
    pytest.param(
        observation(task=task(REPORTED), pods=()),
        [RETIRE_AND_STOP],
        id="a Job that may start a pod after the result is stopped",
    ),
    pytest.param(
        observation(task=KEPT_FOR_A_DAY, job=job(finished=True), pods=(pod(ended(0, "done")),)),
        [RETIRE],
        id="a finished Job needs no stop",
    ),
    pytest.param(observation(job=job(deleting=True)), [], id="a Job that is being deleted needs nothing"),
    pytest.param(observation(job=job(is_ours=False), task=task(), pods=()), [], id="somebody else's Job is left alone"),
    pytest.param(
        observation(task=task(status(), cancel_requested=True)), [STOP], id="a cancel stops the Job once it is written"
    ),
    pytest.param(
        observation(task=task(status(Phase.STOPPING, stopping=CANCELLING))),
        [STOP],
        id="a stop that a crash lost is done again",
    ),
    pytest.param(
        observation(task=task(status(Phase.STOPPING, stopping=CANCELLING)), job=job(active_deadline_seconds=1)),
        [],
        id="a stop that was done is not done again",
    ),
    pytest.param(over(RETIRED, pod(ended(), phase="Succeeded")), [], id="what is retired is left alone"),
    pytest.param(
        over(job(), pod(ended(), phase="Succeeded"), status=OVER_FOR_A_DAY),
        [RETIRE],
        id="a retirement that a crash lost is done",
    ),
    pytest.param(over(job(), pod(running())), [RETIRE_AND_STOP], id="a pod that runs on for nobody is stopped"),
    pytest.param(
        over(job(ttl_seconds_after_finished=600, active_deadline_seconds=1), pod(running())),
        [],
        id="a pod that is being stopped is waited for",
    ),
    pytest.param(over(RETIRED, pod(ended(), phase="Running")), [], id="a sidecar may still do its work"),
    pytest.param(
        over(RETIRED, pod(ended(), phase="Running"), now=ahead(20)),
        [RETIRE_AND_STOP],
        id="a sidecar that does not end within half a minute is stopped",
    ),
    pytest.param(
        over(RETIRED, pod(ended(), phase="Succeeded"), now=ahead(3000)),
        [],
        id="a Job whose pod succeeded is not made a failed one, however late Kubernetes is",
    ),
    pytest.param(
        over(RETIRED, pod(ended(), phase="Succeeded"), pod(running(), name="pod-2"), now=ahead(3000)),
        [RETIRE_AND_STOP],
        id="a pod beside the one that succeeded is stopped",
    ),
    pytest.param(over(Absent.UNKNOWN), [], id="a Job that is gone needs nothing"),
    pytest.param(
        over(job(uid="another", is_ours=True)),
        [RetireJob(name=TASK, uid="another", ttl_seconds=600, stop=True)],
        id="a Job of ours that comes to light late is ended",
    ),
    pytest.param(
        over(Absent.UNKNOWN, now=ahead(3590)), [DeleteTask(uid=TASK_UID)], id="a task whose time is over is deleted"
    ),
    pytest.param(over(Absent.UNKNOWN, now=ahead(3589)), [], id="a task is kept until its time is over"),
    pytest.param(
        over(Absent.UNKNOWN, status=TaskStatus(phase=Phase.FAILED), now=ahead(4000)),
        [DeleteTask(uid=TASK_UID)],
        id="a task without any times is kept from its creation",
    ),
    pytest.param(
        observation(task=task(OVER, deleting=True), now=ahead(9999)),
        [],
        id="a task that is being deleted is left to Kubernetes",
    ),
    pytest.param(
        observation(task=task(deleting=True), job=Absent.UNKNOWN, pods=()),
        [],
        id="a task that is being deleted gets no Job",
    ),
]


@pytest.mark.parametrize(("seen", "expected"), AFTER)
def test_what_comes_after(seen: Observation, expected: list[Action]) -> None:
    assert actions(seen) == expected


def test_an_end_is_told_once_with_its_reason_after_the_job_is_retired() -> None:
    seen = observation(task=KEPT_FOR_A_DAY, pods=(pod(ended(3)),), log=log())

    first = decide(seen)
    second = decide(observation(task=task(first.status), pods=seen.pods))

    assert first.after == (RETIRE, RecordEvent(type="Warning", reason=Reason.EXIT_CODE, message="exit code 3"))
    assert not any(isinstance(action, RecordEvent) for action in second.after)


@pytest.mark.parametrize("exit_code", [0, 1])
def test_only_a_good_end_is_a_normal_event(exit_code: int) -> None:
    told = [
        action.type
        for action in decide(observation(pods=(pod(ended(exit_code, "x")),), log=log())).after
        if isinstance(action, RecordEvent)
    ]

    assert told == ["Normal" if exit_code == 0 else "Warning"]


NEXT = [
    pytest.param(observation(), ago(50 - TIMEOUT_SECONDS), id="a running tool is looked at when its limit is over"),
    pytest.param(
        observation(pods=(pod(running(NOW)),), task=task(status(expires_at=ahead(1900)))),
        ahead(100),
        id="a running tool is looked at when its lease is half over",
    ),
    pytest.param(
        observation(task=task(status(Phase.PENDING, pod=False)), pods=()),
        ago(60 - START_DEADLINE_SECONDS),
        id="a waiting pod is looked at when its start deadline is over",
    ),
    pytest.param(
        observation(task=task(status(Phase.STOPPING, stopping=CANCELLING))),
        ago(3 - GRACE_SECONDS - 60),
        id="a stopping task is looked at when there should be proof",
    ),
    pytest.param(
        observation(task=task(), tool=tool(generation=2), job=Absent.UNKNOWN, pods=()),
        ahead(1),
        id="an unchecked tool is looked at in a second",
    ),
    pytest.param(
        over(RETIRED, pod(ended(), phase="Running")),
        ahead(20),
        id="a pod that lingers is looked at after half a minute",
    ),
    pytest.param(
        over(RETIRED, pod(ended(), phase="Running"), now=ahead(20)),
        ahead(3590),
        id="a pod that was told to end is not looked at for that",
    ),
    pytest.param(
        over(RETIRED, pod(ended(), phase="Succeeded")),
        ahead(3590),
        id="a pod that succeeded as a whole is not looked at for that",
    ),
    pytest.param(over(Absent.UNKNOWN), ahead(3590), id="a task that is over is looked at when its time is"),
    pytest.param(over(Absent.UNKNOWN, now=ahead(3590)), None, id="a task that is deleted is not looked at"),
    pytest.param(observation(task=task(deleting=True)), None, id="a task that is being deleted is not looked at"),
]


@pytest.mark.parametrize(("seen", "moment"), NEXT)
def test_the_next_look(seen: Observation, moment: datetime | None) -> None:
    assert decide(seen).look_again_at == moment


LEASES = [
    pytest.param(None, ahead(RETENTION_SECONDS), id="a new task gets a lease of its retention"),
    pytest.param(ahead(1801), ahead(1801), id="a lease is left alone in its first half"),
    pytest.param(ahead(1800), ahead(RETENTION_SECONDS), id="a lease is renewed at half time"),
    pytest.param(ago(100), ahead(RETENTION_SECONDS), id="a lease that ran out while nobody looked is renewed"),
    pytest.param(ahead(99_999), ahead(99_999), id="a longer promise is kept"),
]


@pytest.mark.requirement("failures/f3-11")
@pytest.mark.parametrize(("before", "after"), LEASES)
def test_the_lease_of_a_living_task(before: datetime | None, after: datetime) -> None:
    decided = decide(observation(task=task(status(expires_at=before)))).status

    assert decided.expires_at == after


@pytest.mark.parametrize(
    ("promised", "kept"),
    [
        pytest.param(None, ahead(RETENTION_SECONDS), id="the retention counts from the end"),
        pytest.param(ahead(1801), ahead(RETENTION_SECONDS), id="an ordinary lease ends before it"),
        pytest.param(ahead(99_999), ahead(99_999), id="a longer promise is kept"),
    ],
)
def test_how_long_a_task_is_kept_after_its_end(promised: datetime | None, kept: datetime) -> None:
    decided = decide(observation(task=task(status(expires_at=promised)), pods=(pod(ended(0, "done")),))).status

    assert (decided.finished_at, decided.expires_at) == (NOW, kept)


def test_a_status_that_would_not_change_keeps_its_date() -> None:
    first = decide(observation()).status
    second = decide(observation(task=task(first), now=ahead(5))).status

    assert first.last_updated_at == NOW
    assert second == first
