"""Rungs about stopping: by the client (cancel), by the tool's run limit.

A stop is written before anything is stopped, so that what the container does afterwards is not taken for its own; and
it is over only once the pod is known to be gone, or after a bound, with the truth in the message.
"""

from datetime import datetime, timedelta
from typing import Final

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Stopping

from .decision import ConfirmJob, ConfirmPods
from .podquestions import waited
from .results import log_tail, needs_log, tool_error
from .situation import Situation, is_over
from .toolarge import with_refused
from .verdicts import Ask, End, GoOn, Verdict

PROOF: Final = timedelta(seconds=60)
"""How long after the pod's grace there may be no proof that it is gone."""


def cancel_is_wanted(situation: Situation) -> Verdict | None:
    """The client wants the task cancelled."""
    if not situation.task.spec.cancel_requested:
        return None
    return _stop(situation, Stopping(reason=Reason.CANCELLED, at=situation.now))


def run_limit_is_over(situation: Situation) -> Verdict | None:
    """The tool runs longer than it may."""
    end = run_limit(situation)
    if end is None or situation.now < end:
        return None
    if not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())  # it may have ended by now, with a result
    # The log is read now too: once the pod is stopped there is less than a second for it.
    return needs_log(situation) or _stop(situation, Stopping(reason=Reason.RUN_LIMIT, at=situation.now))


def run_limit(situation: Situation) -> datetime | None:
    """When a running tool has run for as long as it may. Time in which it waited for an answer does not count."""
    since = None if situation.container is None else situation.container.running_since
    if since is None:
        return None
    return since + timedelta(seconds=situation.execution.timeout_seconds) + waited(situation)


def is_stopping(situation: Situation) -> Verdict | None:
    """A stop was begun: it ends with the pod, or without proof after a while."""
    return None if situation.stopping is None else _stop(situation, situation.stopping)


def _stop(situation: Situation, stopping: Stopping) -> Verdict:
    if not _may_still_run(situation):
        return _stopped(situation, stopping)
    if situation.now >= _bound(situation, stopping):
        return _stopped(situation, stopping, doubt=_doubt(situation))
    return _ask_for_proof(situation) or GoOn(
        phase=Phase.STOPPING,
        reason=stopping.reason,
        message="cancelling" if stopping.reason is Reason.CANCELLED else f"stopping: {_limit(situation)}",
        until=_bound(situation, stopping),
        stopping=stopping,
        log_tail=log_tail(situation.log),
    )


def _bound(situation: Situation, stopping: Stopping) -> datetime:
    return stopping.at + timedelta(seconds=situation.execution.grace_seconds) + PROOF


def _may_still_run(situation: Situation) -> bool:
    job, pods, asked = situation.job, situation.seen.pods, situation.seen.pods_confirmed
    if job is not None and job.finished:
        return False  # Kubernetes says so only when no pod of it is left running
    if pods:
        return situation.has_another_try or not all(map(is_over, pods))
    if job is None:
        return not (situation.job_is_confirmed_missing and asked)
    return not (_had_a_pod(situation) and asked)  # else the Job may be making its pod right now


def _ask_for_proof(situation: Situation) -> Ask | None:
    if situation.seen.pods:
        return None
    if situation.job is None and not situation.job_is_confirmed_missing:
        return Ask(need=ConfirmJob())
    could_end = situation.job is None or _had_a_pod(situation)
    return Ask(need=ConfirmPods()) if could_end and not situation.seen.pods_confirmed else None


def _had_a_pod(situation: Situation) -> bool:
    return situation.recorded is not None and situation.recorded.pod_uid is not None


def _stopped(situation: Situation, stopping: Stopping, doubt: str = "") -> Verdict:
    if stopping.reason is Reason.CANCELLED:
        return End(phase=Phase.CANCELLED, reason=Reason.CANCELLED, message=f"cancelled{doubt}")
    said = "" if situation.termination is None else situation.termination.message.strip()
    ask = None if doubt else needs_log(situation)  # a node that gives no proof gives no log either
    return ask or tool_error(
        Reason.RUN_LIMIT,
        with_refused(situation, f"stopped: {_limit(situation)}{doubt}"),
        said=said,
        log=situation.log,
        kept=situation.status.log_tail,
    )


def _limit(situation: Situation) -> str:
    if situation.job is None:
        return "it ran longer than its limit"
    return f"it ran longer than its limit of {situation.execution.timeout_seconds} s"


def _doubt(situation: Situation) -> str:
    running = [pod for pod in situation.seen.pods if not is_over(pod)]
    if not running:
        return "; the end of its Job was not confirmed"
    pods = ", ".join(f"pod {pod.name} on node {pod.node or '(none)'}" for pod in running)
    return f"; {pods} not confirmed gone"
