"""What the doors need of tasks: create, get, answer, cancel. Whoever keeps them is behind this Protocol."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from mcptasks_crds import names
from mcptasks_crds.questions import TaskQuestion
from mcptasks_crds.task import McpTask

from .caller import Caller
from .errors import InvalidParamsError


class TaskNotFoundError(InvalidParamsError):
    """There is no such task for this caller.

    It was never made, its time is over, or it is somebody else's: one answer for all three.
    """

    def __init__(self) -> None:
        super().__init__("Failed to retrieve task: Task not found")


IDEMPOTENCY_KEY: Final = f"{names.GROUP}/idempotency-key"
"""In a call's `_meta`: calls of one caller and tool with the same key are one call (see `idempotency`)."""


class OtherCallError(InvalidParamsError):
    """The idempotency key was used for a call with other arguments."""

    def __init__(self) -> None:
        super().__init__(
            f"Invalid params: _meta/{IDEMPOTENCY_KEY}: the key was used for a call with other arguments: take a new one"
        )


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
    running_limit: int | None = None
    """How many of the tool's tasks may run at the same time; None: as many as are called."""
    queued_limit: int | None = None
    """How many may wait."""
    name: str | None = None
    """The task's id, where it is derived from the call's idempotency key; a random one otherwise."""
    chosen_name: str | None = None
    """The task's id, where a random one was chosen before: by it the client's answers were asked for."""
    arguments_digest: str | None = None
    """A keyed hash of the arguments, where the call has an idempotency key."""
    questions: Mapping[str, TaskQuestion] = field(default_factory=dict)
    """What the tool asks before its pod starts."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Answers that are there already, by the question's key, as JSON text."""
    progress_token: str | None = None
    """The call's progress token, as JSON text."""
    request_key: str | None = None
    """By what a later message of the client can name the call (see `cancel_request`)."""
    detached: bool = False
    """Whether the task's id is handed out as soon as the task is there."""


def held_at(task: McpTask) -> str | None:
    """When a cut held call of the task was last taken up again; None where none was."""
    return task.metadata.annotations.get(names.HELD_ANNOTATION)


class Changes(Protocol):
    """What changes of the tasks that are watched."""

    async def next(self) -> frozenset[str]:
        """Wait for a change; the ids of all tasks that may have changed since the last call (at first: all of them).

        A change is never missed, though several may be told as one: read the task to see how it stands now.
        """
        ...


class TaskStore(Protocol):
    """Where tasks are kept.

    Every method may raise `UnavailableError` (within ten seconds) where the store cannot be reached.
    """

    async def create(self, new: NewTask, *, caller: Caller) -> McpTask:
        """Keep a new task, durably: once this returns, a `get` at any replica finds it.

        If it raises, or is cancelled, no task is left behind, unless its name was given: somebody else may use it.
        Where a task of the given name is there already, that one is given if it is of the same call.

        Raises:
            OtherCallError: the name was given, and is another call's.
            LimitReachedError: the tool's queue, or the namespace, is full. Nothing was made.
            RefusedError: the store does not take it.
        """
        ...

    async def restore(self, task: McpTask, *, input_schema: Mapping[str, Any], arguments: str) -> None:
        """Make good what a `create` that was cut off half-way may have left undone: the same call has come again.

        Raises:
            RefusedError: the store does not take it.
        """
        ...

    async def get(self, task_id: str, *, caller: Caller) -> McpTask:
        """The task as it is now, its whole result in it: never older than what this replica has written or shown of it.

        Raises:
            TaskNotFoundError: there is none for this caller.
        """
        ...

    async def answer(self, task_id: str, answers: Mapping[str, str], *, caller: Caller, by_model: bool = False) -> None:
        """Answer questions by their key, each answer as JSON text. The first answer for a key stays.

        Keys that were never asked, or are answered already, are passed over. `by_model`: whether a model answers by
        itself, which is put on record.

        Raises:
            TaskNotFoundError: there is none for this caller.
            InvalidAnswerError: one is not what its question asks for; nothing is stored then.
            RefusedError: the answers are larger than a task can keep.
        """
        ...

    async def cancel(self, task_id: str, *, caller: Caller) -> None:
        """Ask for the task's end. A task that is over stays as it is.

        Raises:
            TaskNotFoundError: there is none for this caller.
        """
        ...

    async def detach(self, task_id: str, *, caller: Caller) -> McpTask:
        """Note, durably, that the task's id is being handed out: from here on no disconnect ends it.

        Raises:
            TaskNotFoundError: there is none for this caller.
        """
        ...

    async def hold_again(self, task_id: str, *, at: datetime, caller: Caller) -> McpTask:
        """Note, durably, that a held call was taken up again, so that whoever held it before leaves it alone.

        Raises:
            TaskNotFoundError: there is none for this caller.
        """
        ...

    async def abandon(self, task_id: str, *, held_at: Collection[str | None], caller: Caller) -> None:
        """Cancel a task whose held call was cut, unless its id was handed out or the call was taken up again.

        `held_at`: what `held_at` gives as long as it was not. The API server decides between this and a `detach` or
        `hold_again` at another replica. A task that is over, or is not there, stays as it is.
        """
        ...

    async def list(self, *, caller: Caller) -> tuple[McpTask, ...]:
        """The caller's tasks, newest first, as this replica sees them now."""
        ...

    async def cancel_request(self, request_key: str, *, caller: Caller) -> None:
        """Cancel the task that was made for a request and whose id was not handed out, if there is one."""
        ...

    def watch(self, task_ids: Iterable[str]) -> AbstractContextManager[Changes]:
        """Be told when one of these tasks may have changed, for as long as the context lasts. Costs no request."""
        ...
