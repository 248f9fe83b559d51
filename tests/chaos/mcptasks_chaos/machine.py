"""How much of this machine is ours: a clock that goes slower while others use it.

A promise of thirty seconds is one about an otherwise quiet machine. Where others take three quarters of the processors,
it is one about two minutes.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROCESSORS: Final = os.cpu_count() or 1
_IDLE: Final = frozenset({3, 4})
"""Of the columns of `/proc/stat`: idle, and waiting for a disk."""
_COLUMNS: Final = 8
"""What comes after these is in them already."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process as `/proc/PID/stat` tells it."""

    number: int
    parent: int
    seconds: float
    """Of a processor, its own and those of the children that have ended."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What was used since the machine has been up, in seconds of one processor."""

    at: float
    all: float
    ours: float


def seconds_of(roots: Iterable[int], processes: Iterable[Process]) -> float:
    """What these processes and all that descend from them have used."""
    children: defaultdict[int, list[Process]] = defaultdict(list)
    known: dict[int, Process] = {}
    for process in processes:
        children[process.parent].append(process)
        known[process.number] = process
    waiting = [known[root] for root in roots if root in known]
    found: dict[int, float] = {}
    while waiting:
        process = waiting.pop()
        if process.number not in found:
            found[process.number] = process.seconds
            waiting += children[process.number]
    return sum(found.values())


def our_share(before: Usage, after: Usage) -> float:
    """How much of the processors others left to us, from 0 to 1."""
    passed = after.at - before.at
    others = (after.all - before.all) - (after.ours - before.ours)
    return 1.0 if passed <= 0 else min(1.0, max(0.0, 1.0 - others / (passed * _PROCESSORS)))


def read_usage(roots: Iterable[int]) -> Usage:
    """What was used by now; ours is what these processes and their descendants used."""
    line = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    ticks = sum(int(word) for column, word in enumerate(line[:_COLUMNS]) if column not in _IDLE)
    return Usage(at=time.monotonic(), all=ticks / _TICKS, ours=seconds_of(roots, _processes()))


@dataclass(kw_only=True)
class OurClock:
    """The seconds that were ours, since it was made."""

    roots: tuple[int, ...]
    passed: float = 0.0
    _last: Usage | None = None

    def read(self) -> float:
        """So many by now."""
        now = read_usage(self.roots)
        if self._last is not None:
            self.passed += (now.at - self._last.at) * our_share(self._last, now)
        self._last = now
        return self.passed


def _processes() -> Iterator[Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:  # it has ended
                continue
            yield parse(text)


def parse(text: str) -> Process:
    """A line of `/proc/PID/stat`. The name, in brackets, may have anything in it.

    >>> parse("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 5").parent
    1
    """
    number, _, rest = text.partition(" ")
    words = rest.rpartition(")")[2].split()
    return Process(number=int(number), parent=int(words[1]), seconds=sum(map(int, words[11:15])) / _TICKS)
