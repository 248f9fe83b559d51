"""When which task's progress is written: often enough to be shown, seldom enough for the cluster. Pure.

A pod may report a thousand times a second. Of each task the newest value counts; it is written at once if none was
written for a second, else when that second is over. Where so many tasks report that this would be more than the budget,
the one that has waited longest is next, so that their turns come as far apart as the budget makes them: ten seconds
where they are ten times as many. The writes of all tasks keep a distance from each other, by this replica's part of the
budget, which is the namespace's as a whole: other replicas' writes are seen as they come by on the watch. Every `now`
is a monotonic clock's.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from mcptasks_crds.task import Progress

INTERVAL_SECONDS: Final = 1.0
"""How far apart one task's writes are at least."""
ACTIVE_SECONDS: Final = 20.0
"""For so long after its last news a task counts as one that reports."""
WINDOW_SECONDS: Final = 1.0
"""In no such time there are more writes than the budget. What a busy process was late with is made up for within it."""
_NEVER: Final = float("-inf")


@dataclass(kw_only=True)
class _Line:
    """One task's progress."""

    offered_at: float
    """When its pod last said anything here."""
    stands: Progress | None = None
    """What is known to be in the cluster."""
    pending: Progress | None = None
    """What is to be written."""
    writing: Progress | None = None
    written_at: float = _NEVER
    """When any replica last wrote it, or tried to."""

    @property
    def newest(self) -> Progress | None:
        return self.pending or self.writing or self.stands


class Schedule:
    """The progress of one namespace's tasks, as one replica is told it."""

    def __init__(self, *, budget: int) -> None:
        """`budget`: writes a second of all replicas together."""
        self._budget = budget
        self._lines: dict[str, _Line] = {}
        self._pending: dict[str, _Line] = {}
        self._news_at: dict[str, float] = {}
        self._slot = _NEVER
        """When the next write has its place."""
        self._begun: deque[float] = deque()
        """When the writes of the last window began."""

    def __len__(self) -> int:
        """How many tasks have a value that is not written yet."""
        return sum(1 for line in self._lines.values() if line.pending is not None or line.writing is not None)

    def offer(self, task: str, progress: Progress, *, stands: Progress | None = None, now: float) -> bool:
        """A pod's newest value. Says whether it is to be written: not where it falls, or says nothing new.

        `stands`: what is known to be in the cluster, for a task that has not been heard of here for a while.
        """
        line = self._lines.setdefault(task, _Line(offered_at=now, stands=stands))
        line.offered_at = now
        self._note(task, now=now)
        if not _is_news(progress, line.newest):
            return False
        self._wait(task, line, progress)
        return True

    def noticed(self, task: str, stands: Progress | None, *, now: float) -> None:
        """What the cluster is seen to hold of a living task, whoever wrote it."""
        line = self._lines.get(task)
        if stands is None or (line is not None and stands == line.stands):
            return
        self._note(task, now=now)
        if line is None:
            return
        if stands != line.writing:
            line.written_at = now  # another replica's write
        line.stands = stands
        if line.pending is not None and not _is_news(line.pending, stands):
            self._wait(task, line, None)

    def forget(self, task: str) -> None:
        """The task is over: nothing of it is written any more."""
        self._lines.pop(task, None)
        self._pending.pop(task, None)
        self._news_at.pop(task, None)

    def taken(self, task: str) -> Progress | None:
        """What is to be written of a task, to be written by whoever asks, in a write of its own."""
        line = self._lines.get(task)
        return None if line is None else line.newest if line.pending or line.writing else None

    def due(self, *, now: float, most: int | None = None) -> list[tuple[str, Progress]]:
        """What is to be written now, no more than so much. Each must be reported `done` or `failed`."""
        self._tidy(now)
        ready = [(line.written_at, task) for task, line in self._pending.items() if _is_due(line, now)]
        room = self._room(now)
        chosen = sorted(ready)[: room if most is None else min(room, most)]
        return [(task, self._begin(task, now)) for _, task in chosen]

    def next_at(self, *, now: float) -> float | None:
        """When something is due next; None: not before there is news."""
        self._tidy(now)
        moments = [line.written_at + INTERVAL_SECONDS for line in self._pending.values() if line.writing is None]
        if not moments:
            return None
        full = self._begun[0] + WINDOW_SECONDS if len(self._begun) >= self._share() else now
        return max(now, self._slot, full, min(moments))

    def done(self, task: str) -> None:
        """A write was taken."""
        line = self._lines.get(task)
        if line is not None:
            line.stands, line.writing = line.writing or line.stands, None

    def failed(self, task: str, *, again: bool) -> None:
        """A write was not taken; `again`: it may be another time."""
        line = self._lines.get(task)
        if line is None:
            return
        lost, line.writing = line.writing, None
        if again and line.pending is None and lost is not None and _is_news(lost, line.stands):
            self._wait(task, line, lost)

    def rest(self, *, now: float) -> list[tuple[str, Progress]]:
        """All that is not written yet: it is the end, and no budget counts."""
        return [(task, self._begin(task, now)) for task, line in list(self._pending.items()) if line.writing is None]

    def _room(self, now: float) -> int:
        """How many writes may begin now."""
        share, first = self._share(), max(self._slot, now - WINDOW_SECONDS)
        return 0 if first > now else min(int((now - first) * share) + 1, max(0, share - len(self._begun)))

    def _share(self) -> int:
        """This replica's part of the budget: by its part of the tasks that report."""
        ours = sum(1 for task in self._news_at if task in self._lines)
        return max(1, self._budget * ours // max(1, len(self._news_at)))

    def _begin(self, task: str, now: float) -> Progress:
        line = self._lines[task]
        assert line.pending is not None
        progress = line.writing = line.pending
        self._wait(task, line, None)
        line.written_at = now
        self._slot = max(self._slot, now - WINDOW_SECONDS) + 1 / self._share()
        self._begun.append(now)
        return progress

    def _wait(self, task: str, line: _Line, progress: Progress | None) -> None:
        line.pending = progress
        if progress is None:
            self._pending.pop(task, None)
        else:
            self._pending[task] = line

    def _note(self, task: str, *, now: float) -> None:
        self._news_at.pop(task, None)  # so that the oldest stay in front
        self._news_at[task] = now

    def _tidy(self, now: float) -> None:
        while self._begun and self._begun[0] + WINDOW_SECONDS <= now:
            self._begun.popleft()
        while self._news_at:
            task, at = next(iter(self._news_at.items()))
            if now - at < ACTIVE_SECONDS:
                return
            del self._news_at[task]
            line = self._lines.get(task)
            if line is not None and line.pending is None and line.writing is None:
                del self._lines[task]


def _is_due(line: _Line, now: float) -> bool:
    return line.writing is None and line.written_at + INTERVAL_SECONDS <= now


def _is_news(progress: Progress, known: Progress | None) -> bool:
    """Whether a value may follow what is known: it is another one, and does not fall within one attempt."""
    if known is None or known.pod_uid != progress.pod_uid:
        return True
    return progress != known and progress.progress >= known.progress
