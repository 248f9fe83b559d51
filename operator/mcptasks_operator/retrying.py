"""Rungs about the attempts of a tool with retries, and how they are counted and told.

The Job makes them: Kubernetes counts the failures, waits before it makes another pod, and says when it was the last.
What is ours is what the task's status says of it, and an end to disruptions, which Kubernetes replaces for ever.
"""

from datetime import timedelta
from typing import Final

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Question

from .executions import MOST_DISRUPTIONS
from .situation import Situation, is_over
from .verdicts import GoOn, Verdict, failed

_COUNTED_BY: Final = timedelta(seconds=10)
"""How late the Job's own count of failures may be seen after the pod that it made because of one."""

_CLOCKS_AGREE: Final = timedelta(seconds=5)
"""How far the server's clock, which dates a question, may be behind the one that dates a pod. Kubernetes waits for
longer between two pods."""


def is_disrupted_too_often(situation: Situation) -> Verdict | None:
    """The pod was drained, evicted or preempted again and again: that is no failure of the tool, and has a bound."""
    job, pod, execution = situation.job, situation.pod, situation.execution
    if not situation.has_another_try or execution.queue_name is not None or job is None or pod is None:
        return None
    disruptions = attempts(situation) - 1 - job.failed
    if disruptions <= MOST_DISRUPTIONS or situation.now < pod.created_at + _COUNTED_BY:
        return None
    message = f"its pods were drained, evicted or preempted {disruptions} times, and failed {job.failed} times"
    return failed(Reason.POD_DELETED, f"{message} of {execution.retries + 1}")


def is_between_attempts(situation: Situation) -> Verdict | None:
    """An attempt is over, and the Job is to make another one."""
    pod = situation.pod
    if not situation.has_another_try:
        return None
    if pod is None and situation.status.attempts == 0:
        return None
    if pod is not None and not (is_over(pod) or pod.deleting):
        return None
    message = f"{_what_became(situation)}; waiting for another attempt"
    return GoOn(phase=Phase.PENDING, message=message, until=None, pod_is_over=True)


def asker_is_gone(situation: Situation, question: Question) -> bool:
    """Whether the pod that asked is over and the Job goes on without it: nobody waits for the answer."""
    pod = situation.pod
    if not situation.has_another_try:
        return False
    if pod is None:
        return situation.status.attempts > 0
    return is_over(pod) or pod.deleting or question.asked_at < pod.created_at - _CLOCKS_AGREE


def attempts(situation: Situation) -> int:
    """How many pods were started, as far as was seen."""
    known, pod, job = situation.status.attempts, situation.pod, situation.job
    if job is not None and not situation.execution.may_try_again:
        return max(known, min(1, len(situation.seen.pods)))  # a second pod is the Job controller's slip, and goes
    counted = max(known, len(situation.seen.pods))
    if job is None:
        return counted
    if pod is None:
        return max(counted, job.failed)
    recorded = None if situation.recorded is None else situation.recorded.pod_name
    is_new = known > 0 and recorded != pod.name  # it may be over by the time that it is seen
    goes_on = not (is_over(pod) or pod.deleting)
    return max(counted, known + is_new, job.failed + goes_on)


def which_attempt(situation: Situation) -> str:
    """What is added to a message where it is not the first attempt.

    >>> from .samples import execution, job, observation
    >>> which_attempt(Situation(seen=observation(job=job(failed=1, execution=execution(retries=2)))))
    ' (attempt 2 of 3)'
    """
    job, retries = situation.job, situation.execution.retries
    if job is None or not (situation.has_another_try and retries and job.failed):
        return ""
    return f" (attempt {min(job.failed, retries) + 1} of {retries + 1})"


def _what_became(situation: Situation) -> str:
    pod, end = situation.pod, situation.own_end
    if end is not None:
        return f"the last attempt ended with exit code {end.exit_code}"
    if pod is None or pod.deleting:
        return "its pod was deleted"
    return f"its pod failed{f' ({pod.reason})' if pod.reason else ''}"
