"""The whole status that follows from a situation and a verdict on it.

What was seen (tool, Job, pod, times) goes in whatever the verdict is; the rest is the verdict's. `report` is the pod's
own word and passes through untouched.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from mcptasks_crds import limits
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import SUCCEEDED, JobSeen, TaskCondition, TaskError, TaskStatus, ToolSeen

from .answered import closed
from .expiry import expiry, lease
from .retrying import attempts, which_attempt
from .situation import NEVER_RAN, UNSEEN, Situation
from .verdicts import End, GoOn

_TRUTHS: Final[Mapping[bool, Literal["True", "False"]]] = MappingProxyType({True: "True", False: "False"})
INTERNAL_ERROR: Final = -32603
"""JSON-RPC: Internal error."""


def living(situation: Situation, verdict: GoOn) -> TaskStatus:
    """The status of a task that goes on."""
    old = situation.status
    message = f"{verdict.message}{which_attempt(situation)}"
    status = _seen(situation, pod_is_news=verdict.pod_is_news, pod_is_over=verdict.pod_is_over).model_copy(
        update={
            "phase": verdict.phase,
            "reason": verdict.reason,
            "message": limits.clip(message, limits.MESSAGE_STORED_BYTES),
            "stopping": verdict.stopping or old.stopping,
            "log_tail": verdict.log_tail or old.log_tail,
            "expires_at": lease(situation.task, situation.now),
        }
    )
    return _dated(situation, _with_condition(situation, status, reason=verdict.cause or verdict.reason))


def ended(situation: Situation, verdict: End) -> TaskStatus:
    """The status of a task that is over."""
    message = limits.clip(verdict.message, limits.MESSAGE_STORED_BYTES)
    failure = TaskError(code=INTERNAL_ERROR, message=message) if verdict.phase is Phase.FAILED else None
    status = _seen(situation, pod_is_news=True).model_copy(
        update={
            "phase": verdict.phase,
            "reason": verdict.reason,
            "message": message,
            "result": verdict.result,
            "error": failure,
            "log_tail": verdict.log_tail,
            "finished_at": situation.now,
            "expires_at": expiry(situation.task, situation.now),
        }
    )
    return _dated(situation, _with_condition(situation, status, reason=verdict.reason))


def _seen(situation: Situation, *, pod_is_news: bool, pod_is_over: bool = False) -> TaskStatus:
    old = situation.status
    update: dict[str, object] = {
        "tool": old.tool or _tool(situation),
        "job": _without_pod(situation) if pod_is_over else _job(situation, pod_is_news=pod_is_news),
        "answers": closed(situation),
    }
    if pod_is_news:
        update |= {
            "attempts": attempts(situation),
            "started_at": situation.started_at,
            "exit_code": _exit_code(situation),
        }
    return old.model_copy(update=update)


def _tool(situation: Situation) -> ToolSeen | None:
    execution = None if situation.job is None else situation.job.execution
    if execution is None:
        return None
    return ToolSeen(resource=execution.tool_resource, uid=execution.tool_uid, generation=execution.tool_generation)


def _job(situation: Situation, *, pod_is_news: bool) -> JobSeen | None:
    known = situation.recorded
    if known is None and situation.job is not None:
        known = JobSeen(name=situation.job.name, uid=situation.job.uid)
    if known is None or situation.pod is None or not pod_is_news:
        return known
    return known.model_copy(update={"pod_name": situation.pod.name, "pod_uid": situation.pod.uid})


def _without_pod(situation: Situation) -> JobSeen | None:
    """The Job, and which pod was its last: reports are taken from nobody then, and its log may be read."""
    known = _job(situation, pod_is_news=True)
    return None if known is None else known.model_copy(update={"pod_uid": None})


def _exit_code(situation: Situation) -> int | None:
    termination = situation.termination
    if termination is None or termination.reason in NEVER_RAN | UNSEEN:
        return situation.status.exit_code
    return termination.exit_code


def _with_condition(situation: Situation, status: TaskStatus, *, reason: Reason | None) -> TaskStatus:
    """The status with its condition, which says no more than the status itself."""
    assert status.phase is not None
    succeeded = _TRUTHS[reason is Reason.SUCCEEDED] if status.phase.is_terminal else "Unknown"
    before = next((each for each in situation.status.conditions if each.status == succeeded), None)
    message = "" if succeeded == "True" else status.message or ""
    condition = TaskCondition(
        type=SUCCEEDED,
        status=succeeded,
        reason=str(reason or status.phase),
        message=limits.clip(message, limits.CONDITION_MESSAGE_STORED_BYTES),
        last_transition_time=situation.now if before is None else before.last_transition_time,
    )
    return status.model_copy(update={"conditions": (condition,)})


def _dated(situation: Situation, status: TaskStatus) -> TaskStatus:
    """The status, with a new date only where anything else is new: so that an unchanged one is not written again."""
    if status == situation.status:
        return status
    return status.model_copy(update={"last_updated_at": situation.now})
