"""What is to be done about a task: one pure and total function of what was seen of it, `now` included.

The decision is an ordered ladder: each rung is a small function that either knows the answer or passes the question on,
and the last one always answers. Read `LADDER` aloud and you know the operator.
"""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Final, assert_never

from mcptasks_crds import limits
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import TaskStatus

from .answered import has_news, records
from .cleanup import STOP_NOW_SECONDS, after_the_end, retirement
from .decision import Action, Decision, DeleteJob, ExtendJob, ReadPolicy, RecordEvent, StopJob
from .disruptions import pod_failed, pod_was_deleted
from .ending import (
    ended_by_itself,
    job_is_gone,
    job_is_over,
    job_passed_its_deadline,
    with_its_parts,
)
from .executions import backstop_seconds
from .expiry import renewal
from .holding import is_held_back
from .lostarguments import arguments_are_lost, next_look
from .observation import Observation
from .podquestions import asks, next_expiry, will_have_waited
from .quota import waits_for_quota
from .reported import gave_a_result
from .retrying import is_between_attempts, is_disrupted_too_often
from .situation import Situation
from .starting import has_no_job, name_is_taken
from .statuses import ended, living
from .stopping import cancel_is_wanted, is_stopping, run_limit_is_over
from .verdicts import Ask, End, GoOn, Verdict
from .waiting import runs, start_deadline_is_over, start_is_hopeless, waits

_EVENT_NOTE_BYTES: Final = 1000  # the API allows 1024
_MAX_DEADLINE_SECONDS: Final = 2**31 - 1  # the most that a pod's deadline may be
_GOOD: Final = frozenset({Reason.SUCCEEDED, Reason.CANCELLED, Reason.DECLINED})
"""What people themselves wanted is nothing to be warned of."""

LADDER: Final[tuple[Callable[[Situation], Verdict | None], ...]] = (
    gave_a_result,
    name_is_taken,
    has_no_job,
    is_stopping,
    ended_by_itself,
    cancel_is_wanted,
    job_is_gone,
    arguments_are_lost,
    is_held_back,
    waits_for_quota,
    job_passed_its_deadline,
    pod_failed,
    pod_was_deleted,
    job_is_over,
    is_disrupted_too_often,
    is_between_attempts,
    start_is_hopeless,
    start_deadline_is_over,
    asks,
    run_limit_is_over,
    runs,
    waits,
)
"""The first rung that knows the answer gives it."""


def decide(observation: Observation) -> Decision:
    """What is to be done about a task, whatever was seen of it."""
    task = observation.task
    if task.metadata.deletion_timestamp is not None:
        return Decision(status=task.status)  # Kubernetes removes what it owns; nothing is started any more
    if task.status.phase is not None and task.status.phase.is_terminal:
        return after_the_end(observation)
    situation = Situation(seen=observation)
    if observation.policy is None and has_news(situation):
        return Decision(status=task.status, need=ReadPolicy())  # the record of an answer is written once
    match _verdict(situation):
        case Ask() as verdict:
            return Decision(status=task.status, need=verdict.need)
        case GoOn() as verdict:
            return _go_on(situation, verdict)
        case End() as verdict:
            return _end(situation, verdict)
        case unknown:
            assert_never(unknown)


def _verdict(situation: Situation) -> Verdict:
    for rung in LADDER:
        verdict = rung(situation)
        if verdict is not None:
            return with_its_parts(situation, verdict) if isinstance(verdict, End) else verdict
    raise AssertionError("the last rung always answers")


def _go_on(situation: Situation, verdict: GoOn) -> Decision:
    status = living(situation, verdict)
    after = _stop_job(situation) if verdict.stopping is not None else _extend_job(situation)
    look_again_at = _earliest(situation, status, verdict.until)
    return Decision(status=status, after=(*after, *records(situation)), look_again_at=look_again_at)


def _stop_job(situation: Situation) -> tuple[Action, ...]:
    job = situation.job
    if job is not None and job.rests and not job.deleting:
        return (DeleteJob(name=job.name, uid=job.uid),)
    if job is None or job.finished or job.deleting or job.active_deadline_seconds == STOP_NOW_SECONDS:
        return ()
    return (StopJob(name=job.name, uid=job.uid),)


def _extend_job(situation: Situation) -> tuple[Action, ...]:
    """The same for however long the answer takes: one write for a question."""
    job, waiting = situation.job, will_have_waited(situation)
    if job is None or waiting is None or job.active_deadline_seconds is None or job.finished or job.deleting:
        return ()
    seconds = min(backstop_seconds(situation.execution) + math.ceil(waiting.total_seconds()), _MAX_DEADLINE_SECONDS)
    if job.active_deadline_seconds >= seconds or job.active_deadline_seconds == STOP_NOW_SECONDS:
        return ()
    return (ExtendJob(name=job.name, uid=job.uid, active_deadline_seconds=seconds),)


def _earliest(situation: Situation, status: TaskStatus, until: datetime | None) -> datetime:
    assert status.expires_at is not None
    lease = renewal(situation.task, status.expires_at)
    return min(filter(None, (lease, until, next_expiry(situation), next_look(situation))))


def _end(situation: Situation, verdict: End) -> Decision:
    status = ended(situation, verdict)
    retire, again = retirement(situation.seen, status)
    event = RecordEvent(
        type="Normal" if verdict.reason in _GOOD else "Warning",
        reason=verdict.reason,
        message=limits.clip(verdict.message, _EVENT_NOTE_BYTES),
    )
    assert status.expires_at is not None
    return Decision(
        status=status,
        after=(*retire, *records(situation), event),
        look_again_at=status.expires_at if again is None else min(again, status.expires_at),
    )
