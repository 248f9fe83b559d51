"""When which task's progress is written: often enough to be shown, seldom enough for the cluster. Pure.

A pod may report a thousand times a second. Of each task the newest value counts; it is written at once if none was
written for a second, else when that second is over. Where so many tasks report that this would be more than the budget,
the one that has waited longest is next, so that their turns come as far apart as the budget makes them: ten seconds
where they are ten times as many. The writes of all tasks keep a distance from each other, by this replica's part of the
budget, which is the namespace's as a whole: other replicas' writes are seen as they come by on the watch. Together they
would wait for each other at the API server, and be as old as the last of them. Only those that are late come closer to
each other, for on a busy machine some are all the time, and each that was left out would make all others older. Every
`now` is a monotonic clock's.
"""

import heapq
from collections import deque
from dataclasses import dataclass
from typing import Final

from mcptasks_crds.task import Progress

INTERVAL_SECONDS: Final = 1.0
"""How far apart one task's writes are at least."""
ACTIVE_SECONDS: Final = 20.0
"""For so long after its last news a task counts as one that reports."""
WINDOW_SECONDS: Final = 1.0
"""What a process was late with in so long is made up for, with a fifth more than the budget in no more than that."""
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
    pending_at: float = _NEVER
    """Since when there is something to be written."""
    writing: Progress | None = None
    written_at: float = _NEVER
    """When any replica last wrote it, or tried to."""

    @property
    def due_at(self) -> float:
        """When what is to be written may be."""
        return max(self.pending_at, self.written_at + INTERVAL_SECONDS)

    @property
    def newest(self) -> Progress | None:
        return self.pending or self.writing or self.stands


class Schedule:
    """The progress of one namespace's tasks, as one replica is told it."""

    def __init__(self, *, budget: int) -> None:
        """`budget`: writes a second of all replicas together."""
        self._budget = budget
        self._lines: dict[str, _Line] = {}
        self._waiting: list[tuple[float, str]] = []
        """A heap of when each task was last written that has something to be written and is not being written. What is
        not so any more is passed over when its turn comes."""
        self._heard_at: dict[str, float] = {}
        """When there was last news of a task that reports here, the oldest first."""
        self._seen_at: dict[str, float] = {}
        """The same, of those that report to other replicas."""
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
        if line.pending is None:
            line.pending_at = now
            self._wait(task, line)
        line.pending = progress
        return True

    def noticed(self, task: str, stands: Progress | None, *, now: float) -> None:
        """What the cluster is seen to hold of a living task, whoever wrote it."""
        line = self._lines.get(task)
        if stands is None or (line is not None and stands == line.stands):
            return
        self._note(task, now=now)
        if line is None:
            return
        line.stands = stands
        if line.pending is not None and not _is_news(line.pending, stands):
            line.pending = None
        if stands != line.writing:  # another replica's write
            line.written_at = now
            self._wait(task, line)

    def forget(self, task: str) -> None:
        """The task is over: nothing of it is written any more."""
        self._lines.pop(task, None)
        self._heard_at.pop(task, None)
        self._seen_at.pop(task, None)

    def taken(self, task: str) -> Progress | None:
        """What is to be written of a task, to be written by whoever asks, in a write of its own."""
        line = self._lines.get(task)
        return None if line is None else line.newest if line.pending or line.writing else None

    def due(self, *, now: float, most: int | None = None) -> list[tuple[str, Progress]]:
        """What is to be written now, no more than so much. Each must be reported `done` or `failed`."""
        self._tidy(now)
        begun: list[tuple[str, Progress]] = []
        while most is None or len(begun) < most:
            following = self._next()
            if following is None:
                break
            task, line = following
            if self._begins_at(line) > now:
                break
            begun.append((task, self._begin(task, line, now)))
        return begun

    def next_at(self, *, now: float) -> float | None:
        """When something is due next; None: not before there is news."""
        self._tidy(now)
        following = self._next()
        return None if following is None else max(now, self._begins_at(following[1]))

    def done(self, task: str) -> None:
        """A write was taken."""
        line = self._lines.get(task)
        if line is not None:
            line.stands, line.writing = line.writing or line.stands, None
            self._wait(task, line)

    def failed(self, task: str, *, again: bool) -> None:
        """A write was not taken; `again`: it may be another time."""
        line = self._lines.get(task)
        if line is None:
            return
        lost, line.writing = line.writing, None
        if again and line.pending is None and lost is not None and _is_news(lost, line.stands):
            line.pending = lost
        self._wait(task, line)

    def rest(self, *, now: float) -> list[tuple[str, Progress]]:
        """All that is not written yet: it is the end, and no budget counts."""
        left = [(task, line) for task, line in self._lines.items() if line.pending is not None and line.writing is None]
        return [(task, self._begin(task, line, now)) for task, line in left]

    def _next(self) -> tuple[str, _Line] | None:
        """Who has waited longest of those that have something to be written."""
        while self._waiting:
            written_at, task = self._waiting[0]
            line = self._lines.get(task)
            if line is not None and line.written_at == written_at and line.pending is not None and line.writing is None:
                return task, line
            heapq.heappop(self._waiting)
        return None

    def _wait(self, task: str, line: _Line) -> None:
        heapq.heappush(self._waiting, (line.written_at, task))

    def _begins_at(self, line: _Line) -> float:
        """When the next write may begin, which is this task's."""
        # Places that passed while nothing was due are nobody's: they would be taken all at once.
        self._slot = max(self._slot, line.due_at)
        share = self._share()
        most = share + max(1, share // 5)
        full = self._begun[-most] + WINDOW_SECONDS if len(self._begun) >= most else _NEVER
        return max(self._slot, full)

    def _share(self) -> int:
        """This replica's part of the budget: by its part of the tasks that report."""
        ours = len(self._heard_at)
        return max(1, self._budget * ours // max(1, ours + len(self._seen_at)))

    def _begin(self, task: str, line: _Line, now: float) -> Progress:
        assert line.pending is not None
        progress = line.writing = line.pending
        line.pending = None
        line.written_at = now
        self._slot = max(self._slot, now - WINDOW_SECONDS) + 1 / self._share()
        self._begun.append(now)
        return progress

    def _note(self, task: str, *, now: float) -> None:
        there, gone = (self._heard_at, self._seen_at) if task in self._lines else (self._seen_at, self._heard_at)
        gone.pop(task, None)
        there.pop(task, None)  # so that the oldest stay in front
        there[task] = now

    def _tidy(self, now: float) -> None:
        while self._begun and self._begun[0] + WINDOW_SECONDS <= now:
            self._begun.popleft()
        for noted in (self._heard_at, self._seen_at):
            while noted:
                task, at = next(iter(noted.items()))
                if now - at < ACTIVE_SECONDS:
                    break
                del noted[task]
                line = self._lines.get(task)
                if line is not None and line.pending is None and line.writing is None:
                    del self._lines[task]


def _is_news(progress: Progress, known: Progress | None) -> bool:
    """Whether a value may follow what is known: it is another one, and does not fall within one attempt."""
    if known is None or known.pod_uid != progress.pod_uid:
        return True
    return progress != known and progress.progress >= known.progress
