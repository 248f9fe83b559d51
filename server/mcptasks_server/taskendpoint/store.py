"""What the task endpoint needs of the tasks: to see them, to write what their pods say, to be told of changes."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from mcptasks_crds.task import McpTask
from mcptasks_server.tasks import Changes

Listener = Callable[[str, McpTask | None], None]
"""Is told of each change: the task's name, and what is now known of it (None: there is no such task any more)."""


class OvertakenError(Exception):
    """The task is not in the version any more that the write was made for."""


class NotTakenError(Exception):
    """The API server's rules do not take the write: look at the task anew to see why."""


class ReportStore(Protocol):
    """Where reports are kept. Every method may raise `UnavailableError` (within ten seconds)."""

    def known(self, task_id: str) -> McpTask | None:
        """What is known of the task without asking, be it a little old; large parts of it may be missing."""
        ...

    def whole(self, task_id: str) -> McpTask | None:
        """The same, with all that a pod's word is judged by; None where a part of that is missing."""
        ...

    async def fresh(self, task_id: str) -> McpTask:
        """The task as it is now, whole.

        Raises:
            TaskNotFoundError: there is none.
        """
        ...

    async def write(self, task_id: str, report: dict[str, Any], *, version: str | None = None) -> McpTask:
        """Merge leaves into the task's report; only into that version of the task, where one is given.

        Raises:
            TaskNotFoundError: there is none.
            OvertakenError: it is in another version.
            NotTakenError: a rule is against it.
            RefusedError: the cluster does not let us.
        """
        ...

    def watch(self, task_ids: Iterable[str]) -> AbstractContextManager[Changes]:
        """Be told when one of these tasks may have changed, for as long as the context lasts."""
        ...

    def listen(self, listener: Listener) -> None:
        """Be told of every task's changes from here on, at once."""
        ...
