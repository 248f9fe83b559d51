"""What was done in a run, in the order in which it was done."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple


class Entry(NamedTuple):
    """One thing."""

    at: float
    """Seconds since the run began."""
    step: int
    what: str


@dataclass(kw_only=True)
class Timeline:
    """A run's clock and its log book."""

    began: float = field(default_factory=time.monotonic)
    step: int = -1
    entries: list[Entry] = field(default_factory=list)

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def note(self, what: str) -> None:
        """Write down that something was done just now."""
        self.entries.append(Entry(self.now(), self.step, what))

    def text(self) -> str:
        """All of it, one line each."""
        return "\n".join(f"{at:8.2f} s  step {step:4}  {what}" for at, step, what in self.entries)
