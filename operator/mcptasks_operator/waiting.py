"""Rungs about a Job that has done nothing final yet: its pod waits for a node or an image, starts, or runs."""

from datetime import datetime, timedelta
from typing import Final

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason

from .causes import STARTS, Cause, Heals, at_the_end, cause_of
from .decision import ConfirmPods
from .situation import Situation
from .stopping import run_limit
from .verdicts import Ask, GoOn, Verdict, failed

_QUIET: Final = timedelta(seconds=3)
"""How long a start that goes well is not worth a word: most are over by then, and each word is a write."""


def start_is_hopeless(situation: Situation) -> Verdict | None:
    """What the start waits for will not come by itself."""
    cause = _cause(situation)
    if not _is_to_start(situation) or cause is None or cause.reason is None or not cause.is_final:
        return None
    if cause.heals is not Heals.NEVER and not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())  # it may run by now
    return failed(cause.reason, cause.words)


def start_deadline_is_over(situation: Situation) -> Verdict | None:
    """The container did not run in time."""
    if not _is_to_start(situation) or situation.now < start_deadline(situation):
        return None
    if not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())  # it may run by now: the deadline must not lose a race with our own cache
    seconds, cause = situation.execution.start_deadline_seconds, _cause(situation)
    message = f"not started within {seconds} s: {at_the_end(_what_it_waits_for(situation, cause))}"
    return failed(_reason_of_a_late_start(situation, cause), message)


def runs(situation: Situation) -> Verdict | None:
    """The container runs."""
    if not _runs(situation):
        return None
    return GoOn(phase=Phase.RUNNING, message="running", until=run_limit(situation))


def waits(situation: Situation) -> GoOn:
    """The container does not run yet."""
    cause, quiet_until = _cause(situation), _began(situation) + _QUIET
    deadline = start_deadline(situation)
    if _is_starting_well(situation, cause) and situation.now < quiet_until:
        return GoOn(phase=Phase.PENDING, message="starting", until=min(deadline, quiet_until), pod_is_news=False)
    return GoOn(
        phase=Phase.PENDING,
        message=_what_it_waits_for(situation, cause),
        cause=None if cause is None else cause.reason,
        until=_until(situation, cause, deadline),
    )


def _cause(situation: Situation) -> Cause | None:
    return cause_of(situation, began=_began(situation))


def _is_to_start(situation: Situation) -> bool:
    """Whether the start deadline runs: each attempt has its own."""
    if not situation.execution.may_try_again:
        return situation.started_at is None
    return situation.container is None or situation.container.running_since is None


def _reason_of_a_late_start(situation: Situation, cause: Cause | None) -> Reason:
    if cause is not None and cause.reason is not None:
        return cause.reason
    is_without_node = situation.pod is not None and situation.pod.node is None  # also where no scheduler says why
    return Reason.UNSCHEDULABLE if is_without_node else Reason.START_DEADLINE


def _runs(situation: Situation) -> bool:
    return situation.container is not None and situation.container.running_since is not None


def _began(situation: Situation) -> datetime:
    """From when on the start's time counts. With retries each attempt has its own, and its pod's creation begins it:
    which one it is, nobody can tell where the pods before it came and went unseen."""
    job, pod, execution = situation.job, situation.pod, situation.execution
    if job is None:
        return situation.now
    began = job.released_at or job.created_at
    if execution.queue_name is not None or job.passed_by_hand:  # when that was, the Job controller says a moment later
        began = job.active_since or situation.now
    return max(began, pod.created_at) if pod is not None and execution.retries > 0 else began


def start_deadline(situation: Situation) -> datetime:
    """When the container must have run."""
    return _began(situation) + timedelta(seconds=situation.execution.start_deadline_seconds)


def _until(situation: Situation, cause: Cause | None, deadline: datetime) -> datetime | None:
    """When time alone ends the waiting. A container that ran once has met its deadline."""
    lasts = cause is not None and cause.said_at == situation.now  # of an Event, only the next one tells more
    ends_at = cause.ends_at if cause is not None and lasts else None
    return min(
        (moment for moment in (ends_at, deadline) if moment is not None and situation.now < moment), default=None
    )


def _is_starting_well(situation: Situation, cause: Cause | None) -> bool:
    container = situation.container
    fine = cause is None or cause.reason is None
    return fine and (container is None or container.waiting_reason in STARTS)


def _what_it_waits_for(situation: Situation, cause: Cause | None) -> str:
    pod, container = situation.pod, situation.container
    if cause is not None:
        return cause.words
    if pod is None:
        return "waiting for its pod to be created"
    if pod.node is None:
        return "waiting for a node"
    if container is None:
        return f"starting on node {pod.node}"
    return _what_the_container_waits_for(pod.node, container.waiting_reason, container.waiting_message)


def _what_the_container_waits_for(node: str, reason: str, message: str) -> str:
    words = f"{reason}: {message}" if message else reason
    if reason == "PodInitializing":
        return f"starting on node {node}: {message or 'its init containers run, or its image is pulled'}"
    if reason in STARTS:
        return f"starting on node {node}: pulling the image and mounting volumes"
    return f"the container cannot be created yet: {words}"
