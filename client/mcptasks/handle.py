"""One task of a client, by its id: looked at, waited for, answered, cancelled."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import McptasksError
from .models import CreatedTask, Task

if TYPE_CHECKING:
    from .client import TasksClient

OnUpdate = Callable[[Task], None]
"""Is given a task at each look."""
OnRetry = Callable[[McptasksError], None]
"""Is given the error of each look that failed and will be repeated."""


class TaskHandle:
    """One task of a client."""

    def __init__(self, client: "TasksClient", task: CreatedTask | str) -> None:
        self._client = client
        self._settled: set[str] = set()
        self.created = task if isinstance(task, CreatedTask) else None
        """The task as the call's answer showed it; None for a task that is known by its id alone."""
        self.id = task.task_id if isinstance(task, CreatedTask) else task
        """The task's id; it is good for any client of the same caller, today and tomorrow."""

    async def get(self) -> Task:
        """The task as it is now."""
        return await self._client.get_task(self.id)

    async def wait(
        self,
        *,
        timeout_seconds: float | None = None,
        on_update: OnUpdate | None = None,
        on_retry: OnRetry | None = None,
    ) -> Task:
        """Follow the task until it is over or asks something new (see `TasksClient.wait_for_task`)."""
        return await self._client.wait_for_task(
            self.id,
            timeout_seconds=timeout_seconds,
            on_update=on_update,
            on_retry=on_retry,
            answered=self.settled,
            first_interval_ms=None if self.created is None else self.created.poll_interval_ms,
        )

    @property
    def settled(self) -> frozenset[str]:
        """The keys of questions that this handle does not wait for: they were answered by it, or left to others."""
        return frozenset(self._settled)

    async def answer(self, input_responses: Mapping[str, Any]) -> None:
        """Answer questions, by their keys (see `TasksClient.update_task`)."""
        await self._client.update_task(self.id, input_responses)
        self._settled.update(input_responses)

    def leave(self, *keys: str) -> None:
        """Leave questions to others: `wait` goes on while they are open."""
        self._settled.update(keys)

    async def cancel(self) -> None:
        """Ask for the task to be cancelled."""
        await self._client.cancel_task(self.id)
