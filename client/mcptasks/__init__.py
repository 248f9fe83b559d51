"""mcptasks for those who call tools: a client library and the `mcptasks` command line.

It speaks standard MCP (2026-07-28, with the extension `io.modelcontextprotocol/tasks`) over HTTP to any server that has
it. Nothing here knows of Kubernetes, but for the command line's words for approvers, which run `kubectl`.

Importing the package costs nothing beyond the standard library: the names below are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answering import Answering, call_and_answer, wait_and_answer
    from .client import TasksClient
    from .errors import (
        InternalServerError,
        InvalidAnswerError,
        McptasksError,
        NotFinishedError,
        ProtocolError,
        RequestError,
        UnknownTaskError,
        UnreachableError,
    )
    from .handle import TaskHandle
    from .logs import TaskLog
    from .models import (
        CancelledTask,
        CompletedTask,
        FailedTask,
        InputRequired,
        InputRequiredTask,
        Status,
        Task,
        Tool,
        ToolResult,
        WorkingTask,
    )
    from .questions import FORMS, Question, questions_of

_HOMES = {
    "answering": ("Answering", "call_and_answer", "wait_and_answer"),
    "client": ("TasksClient",),
    "errors": (
        "InternalServerError",
        "InvalidAnswerError",
        "McptasksError",
        "NotFinishedError",
        "ProtocolError",
        "RequestError",
        "UnknownTaskError",
        "UnreachableError",
    ),
    "handle": ("TaskHandle",),
    "logs": ("TaskLog",),
    "models": (
        "CancelledTask",
        "CompletedTask",
        "FailedTask",
        "InputRequired",
        "InputRequiredTask",
        "Status",
        "Task",
        "Tool",
        "ToolResult",
        "WorkingTask",
    ),
    "questions": ("FORMS", "Question", "questions_of"),
}

__all__ = [
    "FORMS",
    "Answering",
    "CancelledTask",
    "CompletedTask",
    "FailedTask",
    "InputRequired",
    "InputRequiredTask",
    "InternalServerError",
    "InvalidAnswerError",
    "McptasksError",
    "NotFinishedError",
    "ProtocolError",
    "Question",
    "RequestError",
    "Status",
    "Task",
    "TaskHandle",
    "TaskLog",
    "TasksClient",
    "Tool",
    "ToolResult",
    "UnknownTaskError",
    "UnreachableError",
    "WorkingTask",
    "call_and_answer",
    "questions_of",
    "wait_and_answer",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
