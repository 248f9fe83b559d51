"""Which tasks a caller has, which one a request made, and how many of a tool are not over. Pure.

Kept up with each change of the cache.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable
from datetime import datetime

from mcptasks_crds import names
from mcptasks_crds.task import McpTask
from mcptasks_server.projection import is_over

from .object_cache import ObjectCache
from .seen_task import SeenTask

_Entry = tuple[datetime, str]


class TaskIndex:
    """The names of the tasks in a cache, by who and what made them."""

    def __init__(self, cache: ObjectCache[SeenTask]) -> None:
        self._cache = cache
        self._live: Counter[str] = Counter()
        self._by_caller: dict[str, list[_Entry]] = {}
        self._by_request: dict[str, str] = {}
        self.listeners: list[Callable[[McpTask], object]] = []
        """Who is told of each task that is new or has changed; must neither raise nor wait."""
        cache.listeners.append(self._changed)

    def __len__(self) -> int:
        """How many tasks there are."""
        return len(self._cache)

    def live_of(self, tool: str) -> int:
        """How many tasks of a tool, by the name that clients call it by, are not over."""
        return self._live[tool]

    def names_of(self, caller: str) -> list[str]:
        """The names of a caller's tasks, the newest first."""
        return [name for _, name in reversed(self._by_caller.get(caller, []))]

    def of_request(self, key: str) -> str | None:
        """The name of the task that was made for a request."""
        return self._by_request.get(key)

    def _changed(self, _name: str, before: SeenTask | None, after: SeenTask | None) -> None:
        self._count(before, -1)
        self._count(after, +1)
        if before is not None and (after is None or _place(before.task) != _place(after.task)):
            self._remove(before.task)
            before = None
        if after is not None:
            if before is None:
                self._add(after.task)
            for listener in self.listeners:
                listener(after.task)

    def _count(self, seen: SeenTask | None, by: int) -> None:
        if seen is None or is_over(seen.task):
            return
        tool = seen.task.spec.tool.name
        self._live[tool] += by
        if not self._live[tool]:
            del self._live[tool]

    def _add(self, task: McpTask) -> None:
        insort(self._by_caller.setdefault(task.spec.caller, []), _entry(task))
        request = task.metadata.labels.get(names.REQUEST_LABEL)
        if request is not None:
            self._by_request[request] = task.metadata.name

    def _remove(self, task: McpTask) -> None:
        entries, entry = self._by_caller[task.spec.caller], _entry(task)
        at = bisect_left(entries, entry)
        del entries[at]
        if not entries:
            del self._by_caller[task.spec.caller]
        request = task.metadata.labels.get(names.REQUEST_LABEL)
        if request is not None and self._by_request.get(request) == task.metadata.name:
            del self._by_request[request]


def _entry(task: McpTask) -> _Entry:
    created = task.metadata.creation_timestamp
    assert created is not None  # the API server gives one to each object
    return created, task.metadata.name


def _place(task: McpTask) -> tuple[str, _Entry, str | None]:
    """All that the index knows a task by. A name can come back as another task."""
    return task.spec.caller, _entry(task), task.metadata.labels.get(names.REQUEST_LABEL)
