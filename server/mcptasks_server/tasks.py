"""What the doors need of tasks: create, get, answer, cancel. Whoever keeps them is behind this Protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mcptasks_crds.task import McpTask

from .caller import Caller
from .errors import InvalidParamsError


class TaskNotFoundError(InvalidParamsError):
    """There is no such task for this caller.

    It was never made, its time is over, or it is somebody else's: one answer for all three.
    """

    def __init__(self) -> None:
        super().__init__("Failed to retrieve task: Task not found")


@dataclass(frozen=True, kw_only=True)
class NewTask:
    """A call that is to become a task."""

    tool: str
    """The tool's name as the client sees it."""
    tool_uid: str
    tool_generation: int
    input_schema: Mapping[str, Any]
    """The tool's, from which the pod's variables are made."""
    arguments: str
    """A JSON object, as the client wrote it."""
    retention_seconds: int
    poll_interval_ms: int


class TaskStore(Protocol):
    """Where tasks are kept.

    Every method may raise `UnavailableError` (within ten seconds) where the store cannot be reached.
    """

    async def create(self, new: NewTask, *, caller: Caller) -> McpTask:
        """Keep a new task, durably: once this returns, a `get` at any replica finds it.

        If it raises, or is cancelled, no task is left behind.

        Raises:
            RefusedError: the store does not take it.
        """
        ...

    async def get(self, task_id: str, *, caller: Caller) -> McpTask:
        """The task as it is now: never older than what this replica has written or shown of it.

        Raises:
            TaskNotFoundError: there is none for this caller.
        """
        ...

    async def answer(self, task_id: str, answers: Mapping[str, str], *, caller: Caller) -> None:
        """Answer questions by their key, each answer as JSON text. The first answer for a key stays.

        Keys that were never asked, or are answered already, are passed over.

        Raises:
            TaskNotFoundError: there is none for this caller.
            RefusedError: an answer is larger than a task can keep.
        """
        ...

    async def cancel(self, task_id: str, *, caller: Caller) -> None:
        """Ask for the task's end. A task that is over stays as it is.

        Raises:
            TaskNotFoundError: there is none for this caller.
        """
        ...
