"""mcptasks for those who call tools: a client library and the `mcptasks` command line.

It speaks standard MCP (2026-07-28, with the extension `io.modelcontextprotocol/tasks`) over HTTP to any server that has
it; nothing here knows of Kubernetes.

Importing the package costs nothing beyond the standard library: the names below are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import TaskHandle, TasksClient
    from .errors import (
        InternalServerError,
        McptasksError,
        NotFinishedError,
        ProtocolError,
        RequestError,
        UnknownTaskError,
        UnreachableError,
    )
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

_HOMES = {
    "client": ("TaskHandle", "TasksClient"),
    "errors": (
        "InternalServerError",
        "McptasksError",
        "NotFinishedError",
        "ProtocolError",
        "RequestError",
        "UnknownTaskError",
        "UnreachableError",
    ),
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
}

__all__ = [
    "CancelledTask",
    "CompletedTask",
    "FailedTask",
    "InputRequired",
    "InputRequiredTask",
    "InternalServerError",
    "McptasksError",
    "NotFinishedError",
    "ProtocolError",
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
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
