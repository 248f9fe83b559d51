"""A task as the legacy wire shows it: a pure function of the object and the time. Stands on the modern one's.

Source: specification 2025-11-25, "Tasks". How it differs from the modern projection: other names (`ttl`,
`pollInterval`), nothing but the task's state (result, error and questions come by `tasks/result`), a tool error has
failed, and a cancel has an end (see `STOPPING_SECONDS`).
"""

import json
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from mcptasks_crds import jsontext
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask
from mcptasks_server.projection import detailed_task, is_over
from mcptasks_server.wire import ext_tasks as wire

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"

STOPPING_SECONDS: Final = 30
"""How long after its stop was begun a cancelled task may still be shown as working.

This wire's answer to a cancel is the cancelled task, and the proof that a pod is gone may take longer than a client
waits. What was once shown as cancelled stays so, whatever still ends.
"""
MAX_ERROR_LENGTH: Final = 500


def task_members(task: McpTask, *, elicitation: bool, now: datetime) -> dict[str, Any]:
    """The task's state: what `tasks/get`, `tasks/list` and `tasks/cancel` show.

    `elicitation`: whether the client can put a form before a person. One that cannot is never told to.
    """
    shown = detailed_task(task, elicitation=elicitation)
    status, message = shown.status, shown.status_message
    if _is_given_up(task, now=now):
        status, message = "cancelled", message or "cancelled"
    elif isinstance(shown, wire.CompletedTask) and (error := _tool_error(shown.result)) is not None:
        status, message = "failed", message or error
    return _members(shown, status=status, message=message)


def created_members(task: McpTask) -> dict[str, Any]:
    """The task's state in the answer to the call that made it: a task begins as working."""
    # Its questions are not asked here, so it must not claim to ask.
    return _members(detailed_task(task, elicitation=False), status="working", message="the call has been taken")


def cancelled_members(task: McpTask) -> dict[str, Any]:
    """The task's state in the answer to its cancel."""
    shown = detailed_task(task, elicitation=False)
    return _members(shown, status="cancelled", message=shown.status_message or "cancelled")


def is_cancelled(task: McpTask, *, now: datetime) -> bool:
    """Whether this wire shows the task as cancelled."""
    return _is_given_up(task, now=now) or (is_over(task) and isinstance(detailed_task(task), wire.CancelledTask))


def related(task_id: str) -> dict[str, Any]:
    """The metadata by which a message says to which task it belongs."""
    return {RELATED_TASK: {"taskId": task_id}}


def call_result(text: str, *, task_id: str | None = None) -> dict[str, Any]:
    """A tool's result (a CallToolResult as JSON text) as this wire has it: the tool's own text, but for the envelope.

    `task_id`: the task that the result is of, where it is fetched by `tasks/result`.
    """
    members = jsontext.members(text)
    members.pop("resultType", None)  # the modern wire's mark
    if task_id is not None:
        meta = members.get("_meta", "{}")
        own = jsontext.members(meta) if meta.startswith("{") else {}
        own[RELATED_TASK] = json.dumps({"taskId": task_id})
        members["_meta"] = "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in own.items()) + "}"
    result: dict[str, Any] = {name: orjson.Fragment(value) for name, value in members.items()}
    if members.get("isError") == "true":
        result["isError"] = True  # for whoever counts the tools' errors
    return result


def _is_given_up(task: McpTask, *, now: datetime) -> bool:
    """Whether the task's cancel has taken so long that it is shown as cancelled, for good."""
    stopping = task.status.stopping
    if stopping is None or stopping.reason is not Reason.CANCELLED:
        return False
    until = task.status.finished_at if is_over(task) and task.status.finished_at is not None else now
    return until >= stopping.at + timedelta(seconds=STOPPING_SECONDS)


def _members(shown: wire.DetailedTask, *, status: str, message: str | None) -> dict[str, Any]:
    members = {
        "taskId": shown.task_id,
        "status": status,
        "createdAt": shown.created_at,
        "lastUpdatedAt": shown.last_updated_at,
        "ttl": shown.ttl_ms,
        "pollInterval": shown.poll_interval_ms,
    }
    return members if message is None else members | {"statusMessage": message}


def _tool_error(result: str) -> str | None:
    """What a result says is wrong, if it is a tool error."""
    members = jsontext.members(result)
    if members.get("isError") != "true":
        return None
    content = jsontext.parse(members.get("content", "[]"))
    texts = [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return next((text[:MAX_ERROR_LENGTH] for text in texts if isinstance(text, str) and text), "the tool failed")
