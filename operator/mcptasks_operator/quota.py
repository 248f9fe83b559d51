"""Rungs about a Job that Kueue lets start, and may stop again to make room: it is suspended, and never by us let go.

What Kueue does to a Job is the Job's own contract: `spec.suspend`. A Job that is suspended while it runs loses its pod
and is queued again, which is no end. Source: https://kueue.sigs.k8s.io/docs/tasks/run/jobs/
"""

from datetime import timedelta

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason

from .queueing import QUEUED
from .situation import Situation
from .verdicts import GoOn, Verdict, failed


def waits_for_quota(situation: Situation) -> Verdict | None:
    """Kueue has not let the Job start yet, or has stopped it; that time is bounded as the time in a queue of ours."""
    job, execution = situation.job, situation.execution
    if job is None or execution.queue_name is None or not job.is_suspended:
        return None
    is_news = job.suspended_at is None and job.active_since is not None  # the Job controller has yet to look
    since = situation.now if is_news else max(filter(None, (job.created_at, job.released_at, job.suspended_at)))
    deadline, seconds = since + timedelta(seconds=execution.queue_seconds), execution.queue_seconds
    if situation.now >= deadline:
        message = f"not admitted within {seconds} s by Kueue's queue {execution.queue_name}"
        return failed(Reason.QUEUE_TIME_OVER, message)
    again = " again: it was stopped to make room, and waits" if situation.status.attempts else ": waiting"
    message = f"{QUEUED}{again} for quota in Kueue's queue {execution.queue_name}"
    return GoOn(phase=Phase.PENDING, message=message, cause=Reason.QUEUE_TIME_OVER, until=deadline, pod_is_over=True)
