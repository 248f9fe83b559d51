"""Whether one task more may be made: the limits of the namespace and of the tool, counted from what is seen. Pure.

Each replica counts by its own cache, and what it is making right now; replicas that take calls in the same moment may
together make a few tasks too many, which the operator ends (`QueueFull`) where a tool's queue is meant.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from mcptasks_crds.reasons import Reason
from mcptasks_server.errors import LimitReachedError
from mcptasks_server.tasks import NewTask

DEFAULT_MAX_TASKS: Final = 10_000
"""How many tasks a namespace keeps, unless somebody says otherwise."""
TOO_MANY_TASKS: Final = "TooManyTasks"
"""`error.data.reason` where the namespace is full; no task ever has it."""


class Counts(Protocol):
    """What is there already."""

    def __len__(self) -> int:
        """How many tasks there are, be they over or not."""
        ...

    def live_of(self, tool: str) -> int:
        """How many of a tool's tasks are not over."""
        ...


class Admission:
    """Lets tasks be made, as long as there is room."""

    def __init__(self, index: Counts, *, max_tasks: int) -> None:
        self._index, self._max_tasks = index, max_tasks
        self._made_now: Counter[str] = Counter()
        """Tasks by their tool that are being made, and are not in the cache yet."""

    @contextmanager
    def of(self, new: NewTask) -> Iterator[None]:
        """Count a task in for as long as it is made.

        Raises:
            LimitReachedError: there is no room for it; the message names the limit.
        """
        self._check_namespace()
        self._check_queue(new)
        self._made_now[new.tool] += 1
        try:
            yield
        finally:
            self._made_now[new.tool] -= 1

    def _check_namespace(self) -> None:
        kept = len(self._index) + self._made_now.total()
        if kept >= self._max_tasks:
            raise LimitReachedError(
                f"{kept} tasks are kept, and no more than {self._max_tasks} may be (the server's tasks.maxKept): "
                "please try again when some of them have gone",
                reason=TOO_MANY_TASKS,
                limit="tasks.maxKept",
            )

    def _check_queue(self, new: NewTask) -> None:
        if new.running_limit is None or new.queued_limit is None:
            return
        live = self._index.live_of(new.tool) + self._made_now[new.tool]
        if live >= new.running_limit + new.queued_limit:
            raise LimitReachedError(
                f"The queue of {new.tool} is full: {live} of its tasks are under way, and it runs {new.running_limit} "
                f"at a time and lets {new.queued_limit} wait (limits.queued): please try again later",
                reason=Reason.QUEUE_FULL,
                limit="limits.queued",
            )
