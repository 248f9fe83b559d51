"""What each program uses of the processors: where all are busy, the greatest of them is the limit."""

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from benchmarks.rig import cpu_seconds

_IDLE: Final = (3, 4)
"""The columns of `/proc/stat` in which a processor does nothing: idle, and waiting for a disk."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """What was used up to a moment."""

    at: float
    machine: float
    """By all programs of the machine, in seconds of one processor."""
    programs: Mapping[str, float]

    @classmethod
    def now(cls, pids: Mapping[str, int]) -> Self:
        """Up to now, by these programs."""
        columns = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        busy = sum(columns) - sum(columns[column] for column in _IDLE)
        return cls(
            at=time.monotonic(),
            machine=busy / os.sysconf("SC_CLK_TCK"),
            programs={name: cpu_seconds(pid) for name, pid in pids.items()},
        )

    def figures_since(self, before: Self, *, count: int, what: str) -> dict[str, float]:
        """For each of so many things: the milliseconds that each program used, and how much of the machine was busy."""
        each = {name: (used - before.programs[name]) / count * 1000 for name, used in self.programs.items()}
        share = (self.machine - before.machine) / (self.at - before.at) / (os.cpu_count() or 1)
        ours = sum(each.values()) * count / 1000 / max(1e-9, self.machine - before.machine)
        return {
            f"machine_busy_per_{what}s": share,
            f"of_that_ours_per_{what}s": ours,
            **{f"cpu_ms_per_{what}, {name}": used for name, used in each.items()},
        }


def set_apart(first: Iterable[int], second: Iterable[int]) -> None:
    """Give some processes the first processor of this machine to themselves, and others all that are left."""
    processors = sorted(os.sched_getaffinity(0))
    for pids, allowed in ((first, processors[:1]), (second, processors[1:] or processors)):
        for pid in pids:
            for thread in Path(f"/proc/{pid}/task").iterdir():  # later ones have what the one has that begins them
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(int(thread.name), allowed)
