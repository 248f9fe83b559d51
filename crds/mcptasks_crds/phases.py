"""The life of a task as data: its phases and what may follow each of them.

The operator writes `status.phase`; the API server refuses every step that is not in `SUCCESSORS` (the CRD's rules are
generated from it). What a client sees of a phase is the server's projection, not this table.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Phase(StrEnum):
    """Where a task stands."""

    PENDING = "Pending"
    """Accepted; its container is not running yet (also between two attempts)."""
    RUNNING = "Running"
    """Its container runs."""
    INPUT_REQUIRED = "InputRequired"
    """It waits for an answer."""
    STOPPING = "Stopping"
    """It was cancelled or ran too long: its pod is being stopped and not yet known to be gone."""
    COMPLETED = "Completed"
    """Over: the tool gave a result, be it a tool error."""
    FAILED = "Failed"
    """Over: the platform could not run the tool, or lost what it gave."""
    CANCELLED = "Cancelled"
    """Over: its client cancelled it."""

    @property
    def is_terminal(self) -> bool:
        """Whether the task is over, which is for ever."""
        return not SUCCESSORS[self]


TERMINAL: Final = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.CANCELLED})
"""The phases that say it is over. They are their own texts, as they stand in an object."""

SUCCESSORS: Final[Mapping[Phase, frozenset[Phase]]] = MappingProxyType(
    {
        Phase.PENDING: frozenset({Phase.RUNNING, Phase.INPUT_REQUIRED, Phase.STOPPING}) | TERMINAL,
        Phase.RUNNING: frozenset({Phase.PENDING, Phase.INPUT_REQUIRED, Phase.STOPPING}) | TERMINAL,
        Phase.INPUT_REQUIRED: frozenset({Phase.PENDING, Phase.RUNNING, Phase.STOPPING}) | TERMINAL,
        Phase.STOPPING: TERMINAL,
        Phase.COMPLETED: frozenset(),
        Phase.FAILED: frozenset(),
        Phase.CANCELLED: frozenset(),
    }
)
"""What may follow a phase, itself aside. A task without a phase may take any."""


def may_follow(current: Phase | None, following: Phase) -> bool:
    """Whether a task in `current` (None: nothing written yet) may be written as `following`."""
    return current is None or following == current or following in SUCCESSORS[current]
