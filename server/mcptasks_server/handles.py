"""A task's handle as a normal result of a call, for a client that knows no tasks: a model reads it. Pure.

Its text is part of the product: a model that misreads it calls the tool a second time.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.asking import OpenQuestion, open_for_caller
from mcptasks_crds.task import McpTask

from .projection import status_message

WAIT_SECONDS: Final = 45
"""The longest that `task_get` waits: below the 60 s at which common clients give up."""
HANDLE_META: Final = f"{names.GROUP}/task"
"""In the `_meta` of a result that is a handle: the task's id. By this a program tells it from the tool's own result."""

HANDLE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "title": "A task that is not over yet",
    "description": "Comes in place of the tool's own result where that takes longer: task_get gives it.",
    "properties": {
        "taskId": {"type": "string", "pattern": "^mt-[a-z2-7]+$", "description": "What task_get takes."},
        "tool": {"type": "string", "description": "The tool that was called."},
        "status": {"enum": ["working", "input_required"]},
        "statusMessage": {"type": "string", "description": "What is happening, for people."},
    },
    "required": ["taskId", "tool", "status"],
}
"""What a handle's structured content conforms to."""


def handle_result(task: McpTask) -> str:
    """The handle of a task that is not over, as a CallToolResult's JSON text."""
    asked = open_for_caller(task)
    message = status_message(task)
    structured = {
        "taskId": task.metadata.name,
        "tool": task.spec.tool.name,
        "status": "input_required" if asked else "working",
        **({} if message is None else {"statusMessage": message}),
    }
    result = {
        "content": [{"type": "text", "text": _text(task, message, asked)}],
        "structuredContent": structured,
        "_meta": {HANDLE_META: task.metadata.name},
    }
    return json.dumps(result)


def _text(task: McpTask, message: str | None, asked: Mapping[str, OpenQuestion]) -> str:
    task_id, tool = task.metadata.name, task.spec.tool.name
    get = json.dumps({"taskId": task_id, "waitSeconds": WAIT_SECONDS})
    lines = [
        f"`{tool}` is still running as task {task_id}" + (f" ({message})." if message else "."),
        f"Do NOT call `{tool}` again: that would start it a second time.",
        f"Call `task_get` with {get}: it waits, and gives the result once there is one. Repeat it until then.",
        f"To give up, call `task_cancel` with {json.dumps({'taskId': task_id})}.",
    ]
    if task.status.job is not None and task.status.job.pod_name is not None:
        lines.append(f"What it prints is the resource {names.task_uri(task_id, names.TaskPart.LOG)}.")
    return "\n".join(lines + [_question(task_id, key, question) for key, question in asked.items()])


def _question(task_id: str, key: str, question: OpenQuestion) -> str:
    if not question.model_may_answer:
        return (
            f"It waits for a person's answer to the question `{key}`: {question.message}\n"
            "You cannot give that answer. Tell the user that it is waited for."
        )
    call = json.dumps({"taskId": task_id, "key": key, "answer": {}})
    return (
        f"It waits for an answer to the question `{key}`: {question.message}\n"
        f"Answer by `task_answer` with {call}, where `answer` is an object that conforms to {question.requested_schema}"
    )
