"""A tool's queue as a table: who may start, what is told of a place in the line, and how waiting ends."""

from datetime import timedelta
from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import AnswerRoad, AnswerSeen
from mcptasks_crds.tool import McpTool
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import ConfirmJob, CreateJob, DeleteJob, ReleaseJob
from mcptasks_operator.observation import Absent, LineSeen, Observation
from mcptasks_operator.samples import (
    JOB_UID,
    NOW,
    TASK,
    ago,
    execution,
    job,
    observation,
    status,
    task,
    tool,
)

QUEUE_SECONDS = 500


def queued(line: LineSeen, *, limit: int = 2, waited: float = 60, **fields: Any) -> Observation:
    """A task that waits for nothing but its turn."""
    kept = execution(running_limit=limit, queue_seconds=QUEUE_SECONDS)
    made = job(is_held_back=True, created_at=ago(waited), execution=kept)
    seen = fields.pop("status", status(Phase.PENDING, pod=False))
    spec = fields.pop("spec", {})
    return observation(**{"task": task(seen, **spec), "job": made, "pods": (), "line": line, **fields})


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        (LineSeen(), 1),
        (LineSeen(running=1), 2),
        (LineSeen(running=1, ahead=1), 3),
        (LineSeen(running=7, is_taken=True), 1),
    ],
    ids=["nobody else", "a place is free", "one for each ahead and for it", "its place was given to it"],
)
def test_a_task_whose_turn_it_is_starts(line: LineSeen, limit: int) -> None:
    decision = decide(queued(line, limit=limit))

    assert isinstance(decision.need, ReleaseJob)


@pytest.mark.parametrize(
    ("line", "limit", "message"),
    [
        (LineSeen(running=1), 1, "queued (0 ahead)"),
        (LineSeen(running=1, ahead=3), 2, "queued (3 ahead)"),
        (LineSeen(running=5, ahead=1), 2, "queued (1 ahead)"),
        (LineSeen(running=1, ahead=1, ahead_may_start=False), 9, "queued (1 ahead)"),
    ],
    ids=["no place", "others before it", "more run than may", "one with a lower limit is before it"],
)
def test_a_task_whose_turn_it_is_not_waits_and_says_how_many_are_ahead(
    line: LineSeen, limit: int, message: str
) -> None:
    decision = decide(queued(line, limit=limit))

    assert decision.need is None
    assert decision.after == ()
    assert decision.status.phase is Phase.PENDING
    assert decision.status.message == message


def test_without_a_limit_nobody_waits() -> None:
    seen = queued(LineSeen(running=100, ahead=100), limit=1)
    unlimited = job(is_held_back=True, execution=execution())

    assert isinstance(decide(observation(task=seen.task, job=unlimited, pods=(), line=seen.line)).need, ReleaseJob)


def test_a_place_in_the_line_is_told_anew_only_after_a_while_and_the_longer_the_further_back() -> None:
    told = decide(queued(LineSeen(running=2, ahead=50))).status
    moved = LineSeen(running=2, ahead=40)
    decision = decide(queued(moved, status=told))

    assert decision.status == told
    assert decision.look_again_at == NOW + timedelta(seconds=50)
    later = decide(queued(moved, status=told, now=NOW + timedelta(seconds=50)))
    assert later.status.message == "queued (40 ahead)"


def test_a_place_that_is_the_same_is_not_written_again() -> None:
    told = decide(queued(LineSeen(running=2, ahead=4))).status
    later = NOW + timedelta(seconds=100)
    decision = decide(queued(LineSeen(running=2, ahead=4), status=told, now=later))

    assert decision.status == told
    assert decision.look_again_at == later + timedelta(seconds=14)


def test_who_waited_for_too_long_fails_and_its_job_goes() -> None:
    decision = decide(queued(LineSeen(running=2, ahead=3), waited=QUEUE_SECONDS))

    assert decision.status.phase is Phase.FAILED
    assert decision.status.reason is Reason.QUEUE_TIME_OVER
    assert decision.status.message == "not started within 500 s in the queue: 2 of the tool's tasks run, 3 are ahead"
    assert DeleteJob(name=TASK, uid=JOB_UID) in decision.after


def test_a_task_is_looked_at_when_its_queue_time_is_over() -> None:
    decision = decide(queued(LineSeen(running=2, ahead=400), waited=QUEUE_SECONDS - 7))

    assert decision.look_again_at == NOW + timedelta(seconds=7)


def test_a_place_that_is_free_at_the_last_moment_is_taken() -> None:
    assert isinstance(decide(queued(LineSeen(), waited=QUEUE_SECONDS)).need, ReleaseJob)


def test_the_time_for_an_answer_is_not_time_in_the_queue() -> None:
    answered = {"sure": AnswerSeen(at=ago(10), road=AnswerRoad.CALLER)}
    told = status(Phase.PENDING, pod=False, answers=answered)
    decision = decide(queued(LineSeen(running=2), waited=10_000, status=told))

    assert decision.status.phase is Phase.PENDING


def test_a_task_that_is_cancelled_in_the_queue_is_over_once_its_job_is_gone() -> None:
    decision = decide(queued(LineSeen(running=2, ahead=3), spec={"cancel_requested": True}))

    assert decision.after == (DeleteJob(name=TASK, uid=JOB_UID),)
    assert decision.status.phase is Phase.STOPPING
    gone = observation(task=task(decision.status, cancel_requested=True), job=Absent.CONFIRMED, pods=())
    gone_for_sure = observation(task=gone.task, job=Absent.CONFIRMED, pods=(), pods_confirmed=True)
    assert decide(gone_for_sure).status.phase is Phase.CANCELLED


def limited(running: int, queued: int | None = None) -> McpTool:
    """A tool with that limit."""
    document: Any = tool().model_dump(by_alias=True)
    document["spec"]["limits"] = {"running": running, "queued": queued}
    return McpTool.model_validate(document)


@pytest.mark.parametrize(("older", "is_full"), [(0, False), (4, False), (5, True), (6, True)])
def test_a_task_beyond_the_queue_fails_before_it_has_a_job(older: int, is_full: bool) -> None:
    seen = observation(
        task=task(), tool=limited(2, 3), job=Absent.CONFIRMED, pods=(), line=LineSeen(older=older, running=2)
    )
    decision = decide(seen)

    if not is_full:
        assert isinstance(decision.need, CreateJob)
        return
    assert decision.status.reason is Reason.QUEUE_FULL
    assert decision.status.message == f"the queue of echo is full: {older - 2} tasks wait, and limits.queued is 3"


def test_a_full_queue_ends_no_task_that_may_have_its_job_already() -> None:
    seen = observation(task=task(), tool=limited(1, 0), job=Absent.UNKNOWN, pods=(), line=LineSeen(older=9))

    assert isinstance(decide(seen).need, ConfirmJob)


def test_a_thousand_may_wait_unless_the_tool_says_otherwise() -> None:
    seen = observation(task=task(), tool=limited(1), job=Absent.CONFIRMED, pods=(), line=LineSeen(older=1000))

    assert isinstance(decide(seen).need, CreateJob)
    beyond = observation(task=task(), tool=limited(1), job=Absent.CONFIRMED, pods=(), line=LineSeen(older=1001))
    assert decide(beyond).status.reason is Reason.QUEUE_FULL
