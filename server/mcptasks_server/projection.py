"""A task as the modern wire shows it: a pure function of the object and the time.

The legacy era's will stand beside it.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Literal

from mcp_types import jsonrpc

from mcptasks_crds import jsontext, names, outcomes
from mcptasks_crds.asking import OpenQuestion, open_for_caller, open_questions
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask, Progress
from mcptasks_crds.times import format_time

from .reserved import without_reserved
from .wire import ext_tasks as wire

Status = Literal["working", "completed", "failed", "cancelled"]

STATUS_OF: Final[Mapping[Phase | None, Status]] = MappingProxyType(
    {
        None: "working",
        Phase.PENDING: "working",
        Phase.RUNNING: "working",
        Phase.INPUT_REQUIRED: "working",  # whether it asks, and whom, is for its questions to say
        Phase.STOPPING: "working",
        Phase.COMPLETED: "completed",
        Phase.FAILED: "failed",
        Phase.CANCELLED: "cancelled",
    }
)
"""What a client sees of a phase; a task that lives is `input_required` where it has open questions."""

_LOST: Final = "the task's result is not there any more"

ANSWERED_BY: Final = f"{names.GROUP}/answeredBy"
EXPIRES_AT: Final = f"{names.GROUP}/expiresAt"
"""Beside a question, in its `_meta`: who may answer it, for people, and until when."""

MIN_POLL_WHILE_ASKING_MS: Final = 5000
"""A task that waits for people is read from the API server itself, so it is polled less often."""


def detailed_task(task: McpTask, *, elicitation: bool = True) -> wire.DetailedTask:
    """The task with all that its status brings: what `tasks/get` answers.

    `elicitation`: whether the client can put a form before a person. One that cannot is never told to.
    """
    common = _common(task)
    match STATUS_OF[task.status.phase]:
        case "completed":
            return _completed(task, common)
        case "failed":
            return wire.FailedTask(**common, error=_error(task))
        case "cancelled":
            return wire.CancelledTask(**common)
        case _:
            return _living(task, common, elicitation=elicitation)


def created_task(task: McpTask) -> wire.CreateTaskResult:
    """The handle of a task that was just made."""
    # Its questions are asked by `tasks/get`: a handle carries none, so it must not claim to ask.
    return wire.CreateTaskResult(**_common(task), status=STATUS_OF[task.status.phase])


def is_over(task: McpTask) -> bool:
    """Whether the task has ended, which is for ever."""
    phase = task.status.phase
    return phase is not None and phase.is_terminal


def is_expired(task: McpTask, *, now: datetime) -> bool:
    """Whether the task's time is over, though its object may not be removed yet."""
    return is_over(task) and task.status.expires_at is not None and now >= task.status.expires_at


def result_text(task: McpTask) -> str | None:
    """The result as the tool gave it, but for what is not its own to say (see `reserved`); None where there is none."""
    text = outcomes.result_text(task.status)
    return None if text is None else without_reserved(text)


def _common(task: McpTask) -> dict[str, Any]:
    created = task.metadata.creation_timestamp or datetime.min.replace(tzinfo=UTC)
    updated = max(created, task.status.last_updated_at or created)  # two machines' clocks may differ
    kept_until = max(created + timedelta(seconds=task.spec.retention_seconds), task.status.expires_at or created)
    return {
        "task_id": task.metadata.name,
        "status_message": status_message(task),
        "created_at": format_time(created),
        "last_updated_at": format_time(updated),
        "ttl_ms": (kept_until - created) // timedelta(milliseconds=1),
        "poll_interval_ms": task.spec.poll_interval_ms,
    }


def _living(task: McpTask, common: dict[str, Any], *, elicitation: bool) -> wire.DetailedTask:
    asked = open_for_caller(task) if elicitation else {}
    if not asked:
        return wire.WorkingTask(**common)
    poll = max(task.spec.poll_interval_ms, MIN_POLL_WHILE_ASKING_MS)
    requests = {key: _input_request(question) for key, question in asked.items()}
    return wire.InputRequiredTask(**common | {"poll_interval_ms": poll}, input_requests=requests)


def status_message(task: McpTask) -> str | None:
    """What is happening, for people."""
    if is_over(task):
        return task.status.message or (task.status.error.message if task.status.error else None)
    if task.spec.cancel_requested:
        return task.status.message if task.status.phase is Phase.STOPPING else "cancelling"
    if asked := open_questions(task):
        return _waiting(asked)
    if task.status.phase is Phase.INPUT_REQUIRED:  # all is answered, and the operator has not looked yet
        return None
    progress = progress_of(task)
    if progress is None:
        return task.status.message
    words = (progress.display or f"{progress.progress:g}", progress.message)
    return ": ".join(word for word in words if word)


def _waiting(asked: Mapping[str, OpenQuestion]) -> str:
    mine = sorted(key for key, question in asked.items() if question.answered_by.is_for_caller)
    approvers = sorted({str(each.approvers) for each in asked.values() if each.approvers is not None})
    words = [f"waiting for an answer: {', '.join(mine)}"] if mine else []
    return "; ".join([*words, f"waiting for approval by {'; '.join(approvers)}"] if approvers else words)


def progress_of(task: McpTask) -> Progress | None:
    """The progress of the pod that runs now, if it tells any; an earlier attempt's says nothing of this one."""
    report, job = task.status.report, task.status.job
    if task.status.phase is not Phase.RUNNING or report is None or report.progress is None:
        return None
    is_current = report.progress.pod_uid is None or (job is not None and report.progress.pod_uid == job.pod_uid)
    return report.progress if is_current else None


def _completed(task: McpTask, common: dict[str, Any]) -> wire.DetailedTask:
    text = result_text(task)
    result = None if text is None else complete_result(text)
    if result is None:
        # Only somebody with kubectl can write such a status; the answer must be a valid one all the same.
        lost = wire.TaskFailure(code=jsonrpc.INTERNAL_ERROR, message=_LOST, data={"reason": Reason.RESULT_LOST})
        return wire.FailedTask(**common | {"status_message": _LOST}, error=lost)
    return wire.CompletedTask(**common, result=result)


def complete_result(text: str) -> str | None:
    """A tool's result as the text that the tool wrote, marked `"resultType": "complete"`.

    A synchronous call would have returned that mark, and clients refuse a result without it. None where the text is
    not a JSON object.
    """
    try:
        members = jsontext.members(text)
    except ValueError:
        return None
    match members.get("resultType"):
        case '"complete"':
            return text
        case None:
            rest = text.partition("{")[2]
            return '{"resultType":"complete"' + ("," if members else "") + rest
        case _:  # a mark that a finished call cannot carry
            members["resultType"] = '"complete"'
            return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items()) + "}"


def _error(task: McpTask) -> wire.TaskFailure:
    error, reason = task.status.error, task.status.reason
    return wire.TaskFailure(
        code=error.code if error else jsonrpc.INTERNAL_ERROR,
        message=error.message if error else task.status.message or "the task failed",
        data=None if reason is None else {"reason": reason},
    )


def _input_request(question: OpenQuestion) -> wire.InputRequest:
    others = "" if question.approvers is None else f", {question.approvers}"
    meta = {ANSWERED_BY: f"the caller{others}"}
    if question.expires_at is not None:
        meta[EXPIRES_AT] = format_time(question.expires_at)
    return wire.InputRequest(
        params=wire.FormParams(message=question.message, requested_schema=question.requested_schema, meta=meta)
    )
