"""Rungs about the ends that nobody on our side asked for: the tool's own, and what Kubernetes tells."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from mcptasks_crds.limits import RESULT_STORED_BYTES, stored_bytes
from mcptasks_crds.reasons import Reason

from .decision import ConfirmJob, ConfirmPods
from .observation import JobView
from .podquestions import waited
from .results import needs_log, result_of, tool_error
from .situation import Situation
from .toolarge import with_refused
from .verdicts import Ask, End, Verdict, failed

_DEADLINE: Final = "DeadlineExceeded"


def with_its_parts(situation: Situation, end: End) -> End:
    """The same end, unless what it gives leaves no room for the parts that the pod had added before."""
    inline, report = None if end.result is None else end.result.inline, situation.status.report
    if inline is None or report is None or report.content is None:
        return end
    size = stored_bytes(inline) + stored_bytes(report.content)
    if size <= RESULT_STORED_BYTES:
        return end
    message = (
        f"the result and the parts that the tool had added take {size} bytes as stored: more than {RESULT_STORED_BYTES}"
    )
    return replace(failed(Reason.RESULT_TOO_LARGE, message), log_tail=end.log_tail)


def ended_by_itself(situation: Situation) -> Verdict | None:
    """The tool's container ended, and it was its own doing. The Job's `Complete` would tell it two seconds later.

    With retries, a failure is final only once the Job makes no further attempt.
    """
    end = situation.own_end
    if end is None or situation.job is None:
        return None
    if end.exit_code != 0 and situation.execution.retries:
        if situation.has_another_try:
            return None
        if not situation.seen.pods_confirmed:
            return Ask(need=ConfirmPods())  # the Job may tell of its end before the cache has its last attempt
    return result_of(situation, end)


def job_is_gone(situation: Situation) -> Verdict | None:
    """The Job that the task had is not there, or not for long. There will not be another one."""
    if situation.job is not None and not situation.job.deleting:
        return None
    if situation.job is None and not situation.job_is_confirmed_missing:
        return Ask(need=ConfirmJob())
    name = situation.job.name if situation.recorded is None and situation.job else _recorded_name(situation)
    return failed(Reason.JOB_DELETED, f"the Job {name} was deleted from outside")


def job_passed_its_deadline(situation: Situation) -> Verdict | None:
    """The Job's own deadline, the backstop for an operator that was away, or somebody's `kubectl patch`."""
    job = situation.job
    if job is None or not (job.failure_reason == _DEADLINE or _ends_by_its_deadline(situation, job)):
        return None
    if not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())
    started = situation.attempt_started_at
    limit = timedelta(seconds=situation.execution.timeout_seconds)
    if started is None or situation.now < started + limit + waited(situation):
        return failed(Reason.JOB_FAILED, f"Kubernetes ended the Job: {job.failure_message or _DEADLINE}")
    message = f"stopped: it ran longer than its limit of {situation.execution.timeout_seconds} s"
    return needs_log(situation) or tool_error(
        Reason.RUN_LIMIT,
        with_refused(situation, message),
        said="",
        log=situation.log,
        kept=situation.status.log_tail,
    )


def _ends_by_its_deadline(situation: Situation, job: JobView) -> bool:
    """The Job controller deletes the pod first, and says why on the Job a moment later."""
    pod, seconds = situation.pod, job.active_deadline_seconds
    if pod is None or not pod.deleting or pod.disruption or seconds is None:
        return False
    # It counts from when it took the Job up last: not the time in a queue, be it ours or Kueue's.
    return job.active_since is not None and situation.now >= job.active_since + timedelta(seconds=seconds)


def job_is_over(situation: Situation) -> Verdict | None:
    """The Job is finished and no pod tells why."""
    job = situation.job
    if job is None or not job.finished:
        return None
    if not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())
    why = ": ".join(filter(None, (job.failure_reason, job.failure_message)))
    return job_completed(situation) or failed(Reason.JOB_FAILED, f"the Job {job.name} failed: {why}")


def job_completed(situation: Situation) -> Verdict | None:
    """The Job completed, and no pod is left to tell more."""
    job = situation.job
    if job is None or not job.finished or job.failure_reason:
        return None
    return failed(Reason.RESULT_LOST, "the Job completed, but no pod tells what the tool gave")


def _recorded_name(situation: Situation) -> str:
    return "of the task" if situation.recorded is None else situation.recorded.name
