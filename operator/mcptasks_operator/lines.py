"""The lines in which tasks wait for a place among those of their tool that may run at the same time.

A tool's tasks stand in one line, by the time of their creation, then by name. Everything here is derived from the
store, task by task as it changes, so a restart loses nothing; what alone is known to this process is which places it
has just given away, before the API server has answered.
"""

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, TASKS

from .executions import execution_from_json
from .observation import LineSeen
from .standing import Standing, is_live, standing
from .store import Store

_Order = tuple[str, str]
"""When a task was created, as the API server writes it, and its name."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """What the lines know of a task."""

    line: str
    order: _Order
    standing: Standing
    is_live: bool
    limit: int
    """Of one that waits: how many of the tool's tasks may run at the same time, as it was when this one was called."""


@dataclass(kw_only=True)
class _Line:
    coming: list[_Order] = field(default_factory=list)
    waiting: list[_Order] = field(default_factory=list)
    live: list[_Order] = field(default_factory=list)
    running: set[str] = field(default_factory=set)

    def in_order(self) -> tuple[tuple[Standing, list[_Order]], ...]:
        """Those who stand in order."""
        return (Standing.COMES, self.coming), (Standing.WAITS, self.waiting)


class Lines:
    """All lines of a namespace."""

    def __init__(self, store: Store, *, wake: Callable[[str], object]) -> None:
        """`wake` is called with the name of each task that may start now: it must neither raise nor wait."""
        self._store, self._wake = store, wake
        self._lines: dict[str, _Line] = {}
        self._entries: dict[str, _Entry] = {}
        self._taken: set[str] = set()
        store.listeners.append(self.changed)

    @property
    def waiting(self) -> int:
        """How many tasks wait, in all lines."""
        return sum(len(line.waiting) for line in self._lines.values())

    def seen(self, task: str) -> LineSeen:
        """A task's line, as it stands for this task, be it in the line already or about to join it."""
        document = self._store.get(TASKS, task)
        if document is None:
            return LineSeen()
        order, line = _order(document), self._lines.get(_line_of(document), _Line())
        ahead, coming = bisect_left(line.waiting, order), bisect_left(line.coming, order)
        return LineSeen(
            older=bisect_left(line.live, order),
            ahead=ahead + coming,
            running=len(line.running) - (task in line.running),
            ahead_may_start=self._startable(line, most=ahead) == ahead,
            is_taken=task in line.running,
        )

    def take(self, task: str) -> None:
        """Give a task its place, before its Job is let start: nobody else gets this one, whatever the answer."""
        self._taken.add(task)
        self.changed(task)

    def changed(self, task: str) -> None:
        """Look at a task anew, and wake those who may start because of it."""
        before, after = self._entries.get(task), self._entry(task)
        if before == after:
            return
        if before is not None:
            self._remove(task, before)
        if after is not None:
            self._add(task, after)
        for each in {entry.line for entry in (before, after) if entry is not None}:
            self._wake_next(each)

    def _entry(self, task: str) -> _Entry | None:
        document, job = self._store.get(TASKS, task), self._store.get(JOBS, names.job_name(task))
        pods = self._store.pods_of(task)
        known = self._entries.get(task)
        stands = self._with_taken(task, standing(document, job, pods), job)
        limit = _limit(job) if stands is Standing.WAITS else 0
        if stands is Standing.WAITS and not limit:  # nothing keeps it but its next pass
            stands = Standing.ELSEWHERE
        if stands is Standing.ELSEWHERE and not is_live(document):
            return None
        if document is not None:
            line, order = _line_of(document), _order(document)
        elif known is not None:
            line, order = known.line, known.order
        else:  # its object went while nobody looked, and its pod is yet to
            line, order = _line_of_remains(job, *pods), ("", task)
        return _Entry(line=line, order=order, standing=stands, is_live=is_live(document), limit=limit)

    def _with_taken(self, task: str, found: Standing, job: Json | None) -> Standing:
        """A place that was given away stays so until the Job is seen to have been let start, or is gone."""
        if task not in self._taken:
            return found
        if found is Standing.RUNS or job is None or job["spec"].get("suspend") is not True:
            self._taken.discard(task)
            return found
        return Standing.RUNS

    def _remove(self, task: str, entry: _Entry) -> None:
        line = self._lines[entry.line]
        for stands, orders in line.in_order():
            if entry.standing is stands:
                del orders[bisect_left(orders, entry.order)]
        if entry.is_live:
            del line.live[bisect_left(line.live, entry.order)]
        line.running.discard(task)
        del self._entries[task]
        if not (line.live or line.running):
            del self._lines[entry.line]

    def _add(self, task: str, entry: _Entry) -> None:
        line = self._lines.setdefault(entry.line, _Line())
        self._entries[task] = entry
        for stands, orders in line.in_order():
            if entry.standing is stands:
                insort(orders, entry.order)
        if entry.is_live:
            insort(line.live, entry.order)
        if entry.standing is Standing.RUNS:
            line.running.add(task)

    def _wake_next(self, name: str) -> None:
        line = self._lines.get(name)
        if line is None:
            return
        for _, task in line.waiting[: self._startable(line, most=len(line.waiting))]:
            self._wake(task)

    def _startable(self, line: _Line, *, most: int) -> int:
        """How many of the first may start at once. Nobody passes one who may not: a limit that was lower once holds
        up those behind it. Nor one who is about to join: a place is left for it."""
        running = len(line.running)
        for index in range(most):
            order = line.waiting[index]
            if running + index + bisect_left(line.coming, order) >= self._entries[order[1]].limit:
                return index
        return most


def _order(task: Json) -> _Order:
    return str(task["metadata"].get("creationTimestamp", "")), str(task["metadata"]["name"])


def _line_of(task: Json) -> str:
    """By the name that clients call the tool by: a tool that is made anew keeps its line."""
    return names.label_value(task["spec"]["tool"]["name"])


def _line_of_remains(*documents: Json | None) -> str:
    labels = (document["metadata"].get("labels", {}) for document in documents if document is not None)
    return next((str(each[names.TOOL_LABEL]) for each in labels if names.TOOL_LABEL in each), "")


def _limit(job: Json | None) -> int:
    annotation = {} if job is None else job["metadata"].get("annotations", {})
    execution = execution_from_json(annotation.get(names.EXECUTION_ANNOTATION, ""))
    return 0 if execution is None or execution.running_limit is None else execution.running_limit
