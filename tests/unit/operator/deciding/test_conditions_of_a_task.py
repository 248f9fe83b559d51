"""The one condition of a task: what `kubectl wait --for=condition=Succeeded` waits for."""

from typing import Any

import pytest

from mcptasks_crds import limits
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import SUCCEEDED, Stopping, TaskCondition
from mcptasks_operator.decide import decide
from mcptasks_operator.observation import Observation
from mcptasks_operator.samples import ago, ended, job, log, observation, pod, status, task, waiting


def condition_of(seen: Observation) -> TaskCondition:
    (condition,) = decide(seen).status.conditions
    return condition


def known(standing: Any, **fields: Any) -> TaskCondition:
    return TaskCondition(
        **{"type": SUCCEEDED, "status": standing, "reason": "Running", "last_transition_time": ago(30), **fields}
    )


@pytest.mark.parametrize(
    ("seen", "standing", "reason"),
    [
        (observation(), "Unknown", "Running"),
        (observation(task=task(status(), cancel_requested=True)), "Unknown", "Cancelled"),
        (observation(pods=(pod(ended(0, "done")),)), "True", "Succeeded"),
        (observation(pods=(pod(ended(3)),), log=log()), "False", "ExitCode"),
        (observation(pods=(), pods_confirmed=True, job_confirmed=True), "False", "PodDeleted"),
        (
            observation(
                task=task(status(Phase.STOPPING, stopping=Stopping(reason=Reason.CANCELLED, at=ago(3)))),
                pods=(),
                pods_confirmed=True,
            ),
            "False",
            "Cancelled",
        ),
    ],
    ids=["running", "cancelling", "a result", "a tool error", "lost", "cancelled"],
)
def test_it_is_true_only_of_a_tool_that_did_what_was_asked(seen: Observation, standing: str, reason: str) -> None:
    condition = condition_of(seen)

    assert (condition.type, condition.status, condition.reason) == ("Succeeded", standing, reason)


def test_its_time_moves_only_when_its_answer_does() -> None:
    before = status(conditions=(known("Unknown"),))

    assert condition_of(observation(task=task(before))).last_transition_time == ago(30)
    over = decide(observation(task=task(before), pods=(pod(ended(0, "done")),))).status
    assert over.conditions[0].last_transition_time == over.finished_at


def test_an_unchanged_task_is_not_written_again() -> None:
    first = decide(observation()).status

    assert decide(observation(task=task(first))).status == first


def test_its_message_is_short_and_there_is_none_where_all_is_well() -> None:
    long = observation(
        task=task(status(Phase.PENDING, pod=False)),
        job=job(created_at=ago(10)),
        pods=(pod(waiting("ErrImagePull", "<" * 5000), phase="Pending"),),
    )

    assert limits.stored_bytes(condition_of(long).message) <= limits.CONDITION_MESSAGE_STORED_BYTES
    assert condition_of(long).message.startswith("the image cannot be pulled yet")
    assert condition_of(observation(pods=(pod(ended(0, "done")),))).message == ""


@pytest.mark.parametrize("word", [*Reason, *Phase])
def test_every_word_that_it_may_hold_fits_it(word: str) -> None:
    assert word.isalpha()
    assert len(word) <= 40
