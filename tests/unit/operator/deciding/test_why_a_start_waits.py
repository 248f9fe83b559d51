"""The table of causes: for each row what Kubernetes says (its own words), when the task ends with it, and as what."""

from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_operator.causes import MENDING, SYMPTOMS, Heals, Source, Symptom, cause_of, words_of_pull
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import ConfirmPods, RetireJob
from mcptasks_operator.observation import EventSeen, Observation
from mcptasks_operator.samples import JOB_UID, NOW, ago, event, job, observation, pod, running, status, task, waiting
from mcptasks_operator.situation import Situation

FORBIDDEN: Final = 'Error creating: pods "mt-a-x7x2z" is forbidden: '
SAID: Final = (
    (
        Source.JOB_EVENT,
        "FailedCreate",
        FORBIDDEN + "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
    ),
    (
        Source.JOB_EVENT,
        "FailedCreate",
        FORBIDDEN + 'error looking up service account ns/none: serviceaccount "none" not found',
    ),
    (
        Source.JOB_EVENT,
        "FailedCreate",
        'Error creating: Internal error occurred: failed calling webhook "w.example": connection refused',
    ),
    (Source.JOB_EVENT, "FailedCreate", FORBIDDEN + 'violates PodSecurity "restricted:latest": runAsNonRoot != true'),
    (Source.JOB_EVENT, "FailedCreate", "Error creating: etcdserver: leader changed"),
    (Source.SCHEDULER, "", '0/1 nodes are available: persistentvolumeclaim "data" not found.'),
    (Source.SCHEDULER, "", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
    (Source.SCHEDULER, "", "0/1 nodes are available: 1 Insufficient memory."),
    (Source.CONTAINER, "InvalidImageName", 'couldn\'t parse image name "UPPER::bad": invalid reference format'),
    (Source.CONTAINER, "ErrImagePull", 'failed to pull image "x": no match for platform in manifest: not found'),
    (Source.CONTAINER, "ImagePullBackOff", 'Back-off pulling image "x": ErrImagePull: no such host'),
    (Source.CONTAINER, "CreateContainerConfigError", 'secret "x" not found'),
    (Source.CONTAINER, "CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
    (Source.CONTAINER, "CrashLoopBackOff", "init container proxy: back-off 10s restarting failed container"),
    (Source.CONTAINER, "CreateContainerError", "context deadline exceeded"),
    (Source.POD_EVENT, "Pulling", 'Pulling image "registry.example/echo:1"'),
    (
        Source.POD_EVENT,
        "FailedMount",
        'MountVolume.SetUp failed for volume "t" : failed to fetch token: serviceaccounts "none" not found',
    ),
    (Source.POD_EVENT, "FailedMount", 'MountVolume.SetUp failed for volume "m" : secret "mt-ab2-arguments" not found'),
    (Source.POD_EVENT, "FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "x" not found'),
    (Source.POD_EVENT, "FailedMount", 'MountVolume.SetUp failed for volume "v" : mount failed: exit status 32'),
    (Source.POD_EVENT, "FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: no network"),
)
"""What is said for each row of the table, in its order; taken from real clusters and Kubernetes' source."""


def seen_of(
    source: Source, word: str, message: str, *, at: datetime = NOW, began: float = 60, **fields: Any
) -> Observation:
    """A start of so many seconds ago that waits for this, as of the last word at a time."""
    made: dict[str, Any] = {
        "task": task(status(Phase.PENDING, pod=False)),
        "job": job(created_at=ago(began)),
        "pods": (pod(phase="Pending", scheduled_at=ago(began), created_at=ago(began)),),
        "pods_confirmed": True,
    }
    match source:
        case Source.JOB_EVENT:
            made |= {"pods": (), "events": (event(word, message, about=JOB_UID, at=at),)}
        case Source.SCHEDULER:
            waits = pod(phase="Pending", node=None, scheduled_at=None, created_at=ago(began), unschedulable=message)
            made["pods"] = (waits,)
        case Source.CONTAINER:
            waits = pod(waiting(word, message), phase="Pending", scheduled_at=ago(began), created_at=ago(began))
            made["pods"] = (waits,)
        case Source.POD_EVENT:
            waits = pod(waiting("ContainerCreating"), phase="Pending", scheduled_at=ago(began), created_at=ago(began))
            made |= {"pods": (waits,), "events": (event(word, message, at=at),)}
    return observation(**made | fields)


ROWS = [pytest.param(row, *said, id=said[2][:60]) for row, said in zip(SYMPTOMS, SAID, strict=True)]


@pytest.mark.parametrize(("row", "source", "word", "message"), ROWS)
def test_each_row_is_said_and_leads_to_its_reason_when_it_may_last_no_longer(
    row: Symptom, source: Source, word: str, message: str
) -> None:
    young = seen_of(source, word, message, began=1)
    cause = cause_of(Situation(seen=young), began=ago(1))
    assert cause is not None
    assert (cause.reason, cause.heals) == (row.reason, row.heals)

    early = decide(seen_of(source, word, message, began=MENDING.total_seconds() - 1)).status
    mended = decide(seen_of(source, word, message, began=MENDING.total_seconds())).status
    late = decide(seen_of(source, word, message, began=300)).status

    is_over = [each.phase is Phase.FAILED for each in (early, mended, late)]
    assert is_over == [row.heals is Heals.NEVER, row.heals is not Heals.BY_ITSELF, True]
    assert late.reason is (row.reason or Reason.START_DEADLINE)
    waits = early if row.heals is not Heals.NEVER else mended
    told = message.removeprefix(FORBIDDEN).removeprefix("Error creating: ")
    told = words_of_pull(told) if row.reason is Reason.IMAGE_PULL else told
    assert told.lower() in (waits.message or "").lower()
    assert (waits.message or "").startswith(row.says)


@pytest.mark.parametrize(("row", "source", "word", "message"), ROWS)
def test_while_it_waits_the_condition_names_what_it_will_end_with(
    row: Symptom, source: Source, word: str, message: str
) -> None:
    if row.heals is Heals.NEVER:
        return
    decided = decide(seen_of(source, word, message, began=10)).status

    (condition,) = decided.conditions
    assert decided.reason is None
    assert (condition.status, condition.reason) == ("Unknown", str(row.reason or "Pending"))


def test_a_hopeless_start_leaves_nothing_behind_that_could_start_later() -> None:
    decision = decide(seen_of(Source.CONTAINER, "InvalidImageName", "bad"))

    assert [(each.stop, each.ttl_seconds) for each in decision.after if isinstance(each, RetireJob)] == [(True, 600)]


def test_a_start_that_may_have_come_is_looked_at_before_it_is_given_up() -> None:
    seen = seen_of(Source.CONTAINER, "CreateContainerConfigError", 'secret "x" not found', pods_confirmed=False)

    assert decide(seen).need == ConfirmPods()


def test_the_time_to_mend_begins_when_the_pod_has_a_node() -> None:
    late = pod(
        waiting("CreateContainerConfigError", 'secret "x" not found'), phase="Pending", scheduled_at=ago(5), node="n"
    )
    decision = decide(seen_of(Source.CONTAINER, "X", "", began=200, pods=(late,)))

    assert decision.status.phase is Phase.PENDING
    assert decision.look_again_at == ago(5) + MENDING


def test_what_an_event_said_long_ago_is_no_end_but_only_what_it_says_again() -> None:
    words = 'MountVolume.SetUp failed for volume "v" : secret "x" not found'
    old = decide(seen_of(Source.POD_EVENT, "FailedMount", words, at=ago(50)))
    again = decide(seen_of(Source.POD_EVENT, "FailedMount", words, at=ago(30)))

    assert old.status.phase is Phase.PENDING
    assert old.look_again_at == NOW + timedelta(seconds=240)
    assert again.status.reason is Reason.CONFIG_MISSING


@pytest.mark.parametrize("same_second", [True, False])
def test_the_latest_event_tells_what_is_waited_for(same_second: bool) -> None:
    mount = event("FailedMount", 'secret "x" not found', at=ago(2 if same_second else 3))
    pull = event("Pulling", 'Pulling image "y"', at=ago(2))

    def told(*events: EventSeen) -> str | None:
        return decide(seen_of(Source.POD_EVENT, "X", "", events=events)).status.message

    assert told(mount, pull) == 'pulling image "y"'
    assert told(mount) == 'a Secret or ConfigMap is missing: secret "x" not found'


def test_events_about_others_say_nothing() -> None:
    decided = decide(seen_of(Source.JOB_EVENT, "FailedCreate", "x", events=(event("FailedCreate", "x", about="y"),)))

    assert decided.status.message == "waiting for its pod to be created"


def test_what_was_said_before_the_tool_ran_does_not_count_any_more() -> None:
    ran = observation(
        task=task(status(Phase.PENDING, started_at=ago(40))),
        pods=(pod(waiting("InvalidImageName")),),
        pods_confirmed=True,
    )
    runs = observation(pods=(pod(running()),), events=(event("FailedMount", 'secret "x" not found'),))

    assert decide(ran).status.phase is Phase.PENDING
    assert decide(runs).status.phase is Phase.RUNNING


def test_a_pod_that_is_refused_at_once_is_told_of_at_once() -> None:
    decided = decide(seen_of(Source.JOB_EVENT, "FailedCreate", FORBIDDEN + "exceeded quota: q", began=1)).status

    assert (decided.message or "").startswith("waiting for quota: ")
