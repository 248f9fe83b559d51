"""Arguments that are in a Secret: when it is looked for, and what it means that it is not there."""

from datetime import datetime
from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import ArgumentsSource
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import (
    ConfirmArguments,
    ConfirmPods,
    CreateJob,
    Decision,
    DeleteJob,
    Need,
    RecordEvent,
    RetireJob,
)
from mcptasks_operator.observation import Absent, ArgumentsSeen, Observation, Presence
from mcptasks_operator.samples import (
    NOW,
    START_DEADLINE_SECONDS,
    TASK,
    ago,
    ahead,
    job,
    observation,
    pod,
    running,
    status,
    task,
    waiting,
)

SECRET = ArgumentsSource(secret_name=f"{TASK}-arguments")
CREATING = pod(waiting("ContainerCreating"), phase="Pending")


def secret(age: float = 30, *, phase: Phase = Phase.PENDING, **fields: Any) -> Observation:
    """A task of that age whose arguments are in a Secret, and whose pod waits."""
    made = task(status(phase, pod=False), created=ago(age), arguments=None, arguments_from=SECRET)
    return observation(**{"task": made, "job": job(created_at=ago(age)), "pods": (CREATING,), **fields})


def seen(presence: Presence, at: datetime = NOW) -> ArgumentsSeen:
    return ArgumentsSeen(presence=presence, at=at)


def held(age: float = 30, **fields: Any) -> Observation:
    """The same, where the task waits for an answer."""
    question: Any = {"message": "Sure?", "requestedSchema": '{"type":"object"}', "when": "beforeStart"}
    waits = task(
        status(Phase.INPUT_REQUIRED, pod=False),
        created=ago(age),
        arguments=None,
        arguments_from=SECRET,
        questions={"sure": question},
    )
    return observation(**{"task": waits, "job": job(is_held_back=True), "pods": (), **fields})


NEW = task(arguments=None, arguments_from=SECRET)


def row(sentence: str, *values: object) -> Any:
    return pytest.param(*values, id=sentence)


NEEDS = [
    row("after 30 s the Secret is looked for", secret(), ConfirmArguments(since=NOW)),
    row("a later look needs no newer answer", secret(40), ConfirmArguments(since=ago(10))),
    row("a task that waits for an answer needs it too", held(100), ConfirmArguments(since=ago(70))),
    row(
        "what was let start is looked at anew",
        secret(1000, job=job(created_at=ago(1000), released_at=ago(31)), arguments=seen(Presence.THERE, ago(900))),
        ConfirmArguments(since=ago(1)),
    ),
    row(
        "at the start deadline it is looked for once more",
        secret(START_DEADLINE_SECONDS + 7, arguments=seen(Presence.THERE, ago(200))),
        ConfirmArguments(since=ago(7)),
    ),
    row(
        "a Secret that is missing needs to know that nothing runs",
        secret(arguments=seen(Presence.MISSING)),
        ConfirmPods(),
    ),
    row("a new task needs its Job first", secret(99, job=Absent.UNKNOWN, pods=(), task=NEW), CreateJob()),
]


@pytest.mark.parametrize(("situation", "need"), NEEDS)
def test_needs(situation: Observation, need: Need) -> None:
    assert decide(situation).need == need


def in_the_task(age: float) -> Observation:
    made = task(status(Phase.PENDING, pod=False), created=ago(age))
    return observation(task=made, job=job(created_at=ago(age)), pods=(CREATING,))


NO_NEED = [
    row("before 30 s it may still come", secret(29.9)),
    row("what was there is not looked for again", secret(200, arguments=seen(Presence.THERE, ago(170)))),
    row("what cannot be known is not asked again and again", secret(200, arguments=seen(Presence.UNKNOWN, ago(170)))),
    row("nor is what waits for an answer", held(86_400, arguments=seen(Presence.THERE, ago(80_000)))),
    row("a tool that runs has it", secret(100, phase=Phase.RUNNING, pods=(pod(running()),))),
    row("arguments in the task are in no Secret", in_the_task(100)),
]


@pytest.mark.parametrize("situation", NO_NEED)
def test_no_need(situation: Observation) -> None:
    decision = decide(situation)

    assert (decision.need, decision.status.reason) == (None, None)


def lost(situation: Observation) -> Decision:
    decision = decide(situation)
    assert (decision.status.phase, decision.status.reason) == (Phase.FAILED, Reason.ARGUMENTS_LOST)
    return decision


def test_a_missing_secret_ends_the_task_with_its_name_and_stops_its_job() -> None:
    decision = lost(secret(arguments=seen(Presence.MISSING), pods_confirmed=True))

    assert decision.status.message == f"the Secret {TASK}-arguments with the call's arguments is not there"
    assert decision.status.error is not None
    assert decision.status.error.code == -32603
    assert [type(action) for action in decision.after] == [RetireJob, RecordEvent]


def test_a_task_that_waits_for_an_answer_ends_too_and_nobody_is_asked_in_vain() -> None:
    decision = lost(held(arguments=seen(Presence.MISSING), pods_confirmed=True))

    assert [type(action) for action in decision.after] == [DeleteJob, RecordEvent]


def test_a_cancel_comes_before_it() -> None:
    missing = secret(arguments=seen(Presence.MISSING))
    cancelled = missing.task.model_copy(
        update={"spec": missing.task.spec.model_copy(update={"cancel_requested": True})}
    )

    decision = decide(secret(task=cancelled, arguments=seen(Presence.MISSING), pods_confirmed=True))

    assert decision.status.reason is Reason.CANCELLED


@pytest.mark.parametrize(
    ("situation", "moment"),
    [
        (secret(10), ahead(20)),
        (held(10), ahead(20)),
        (secret(100, arguments=seen(Presence.THERE)), ahead(START_DEADLINE_SECONDS - 100)),
        (secret(10, phase=Phase.RUNNING, pods=(pod(running(ago(5))),)), None),
    ],
    ids=["pending", "waiting for an answer", "there", "running"],
)
def test_a_task_is_looked_at_again_when_its_secret_is_due(situation: Observation, moment: datetime | None) -> None:
    decision = decide(situation)

    assert decision.need is None
    assert (decision.look_again_at == moment) == (moment is not None)
