"""Rungs about a task that waits for its turn: as many of its tool's tasks run as may run at the same time. Pure.

What is known of the others is the observation's `line`; how many may run is the Job's own, as the tool was when it was
called. The place in the line is told to people, and not at each step: a step forward of a thousand would be a thousand
writes.
"""

from datetime import datetime, timedelta
from typing import Final

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason

from .situation import Situation
from .verdicts import GoOn, Verdict, failed, once_there_is_no_job

QUEUED: Final = "queued"
"""How the message of a task begins that waits for its turn."""
_SHOWN_FOR: Final = timedelta(seconds=10)
"""How long a place in the line stands as it was told, at least; for each place further back a second more, so that
even a thousand that wait cost no more than five writes a second."""


def waits_in_line(situation: Situation) -> Verdict | None:
    """As many run as may; its queue time is bounded, and its start deadline has not begun."""
    limit, line = situation.execution.running_limit, situation.seen.line
    if limit is None or line.is_taken or (line.ahead_may_start and line.running + line.ahead < limit):
        return None
    seconds = situation.execution.queue_seconds
    deadline = _in_line_since(situation) + timedelta(seconds=seconds)
    if situation.now >= deadline:
        return failed(Reason.QUEUE_TIME_OVER, f"not started within {seconds} s in the queue: {_others(situation)}")
    message, until = _shown(situation)
    return GoOn(phase=Phase.PENDING, message=message, cause=Reason.QUEUE_TIME_OVER, until=min(until, deadline))


def line_is_full(situation: Situation) -> Verdict | None:
    """As many wait as may: the server refuses such calls, so this task was written by hand, or at the same moment."""
    tool, line = situation.seen.tool, situation.seen.line
    if tool is None or tool.spec.running_limit is None or tool.spec.queued_limit is None:
        return None
    waiting, most = line.older - tool.spec.running_limit, tool.spec.queued_limit
    if waiting < most:
        return None
    message = f"the queue of {tool.name} is full: {waiting} tasks wait, and limits.queued is {most}"
    return once_there_is_no_job(situation, failed(Reason.QUEUE_FULL, message))


def _shown(situation: Situation) -> tuple[str, datetime]:
    """What is told of the place in the line, and until when."""
    status, ahead = situation.status, situation.seen.line.ahead
    shown_for = _SHOWN_FOR + timedelta(seconds=ahead)
    if status.last_updated_at is not None and status.message is not None and status.message.startswith(QUEUED):
        until = status.last_updated_at + shown_for
        if situation.now < until:
            return status.message, until
    return f"{QUEUED} ({ahead} ahead)", situation.now + shown_for


def _in_line_since(situation: Situation) -> datetime:
    """When the task had all that it needs but its turn."""
    job = situation.job
    assert job is not None
    return max((job.created_at, *(answer.at for answer in situation.status.answers.values())))


def _others(situation: Situation) -> str:
    line = situation.seen.line
    return f"{line.running} of the tool's tasks run, {line.ahead} are ahead"
