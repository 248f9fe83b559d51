"""What is under way for clients, for whoever runs the server: how much of what, how silent, and how far behind.

A request that is answered from memory is none of it: what is here takes a while, and waits for something.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from .exchange import Abilities, Exchange
from .outbox import Outbox


class Door(StrEnum):
    """By which way a client gets to know what becomes of its call."""

    EXTENSION = "extension"
    LEGACY_TASK = "legacy_task"
    PLAIN = "plain"


class Phase(StrEnum):
    """What is done for it."""

    CREATE = "create"
    """A task is being created."""
    INLINE = "inline"
    """A function of a tool pack runs."""
    COMPANION = "companion"
    """One of the server's own tools works, or waits for a task (`task_get`)."""
    HELD = "held"
    """A plain call is held open while its task runs."""
    RESULT = "result"
    """`tasks/result` waits for a task's end."""
    LISTEN = "listen"
    """A stream tells of changes."""

    @property
    def tells_progress(self) -> bool:
        """Whether its client is told how far a task is, or that it lives."""
        return self in {Phase.COMPANION, Phase.HELD, Phase.RESULT}


@dataclass(kw_only=True, eq=False)
class _Operation:
    door: Door
    phase: Phase
    told_at: float


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What is under way at a moment."""

    active: Mapping[tuple[Door, Phase], int]
    """How many operations."""
    progress_age_seconds: float
    """Of those that are told of a task: how long ago the one that has waited longest was told anything. 0 without."""
    waiting: int
    """Messages that wait for clients to read."""


class Operations:
    """All that is under way in this process."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running: dict[Outbox, _Operation] = {}

    @contextmanager
    def under_way(self, exchange: Exchange, phase: Phase, *, door: Door) -> Iterator[None]:
        """Count something of a request for as long as the context lasts. Within another one, only the inner counts."""
        key = exchange.outbox
        outer = self._running.get(key)
        self._running[key] = _Operation(door=door, phase=phase, told_at=self._clock())
        try:
            yield
        finally:
            if outer is None:
                del self._running[key]
            else:
                self._running[key] = outer

    def told(self, exchange: Exchange) -> None:
        """A request's client was told how far its task is, or that it lives (if it wants that)."""
        operation = self._running.get(exchange.outbox)
        if operation is not None:
            operation.told_at = self._clock()

    def look(self) -> Seen:
        """What is under way now."""
        now = self._clock()
        running = self._running.values()
        return Seen(
            active=Counter((each.door, each.phase) for each in running),
            progress_age_seconds=max((now - each.told_at for each in running if each.phase.tells_progress), default=0),
            waiting=sum(outbox.waiting for outbox in self._running),
        )


def door_of_call(abilities: Abilities) -> Door:
    """The door of a call whose tool may hand out a task."""
    if abilities.wants_task:
        return Door.LEGACY_TASK
    return Door.EXTENSION if abilities.takes_task else Door.PLAIN
