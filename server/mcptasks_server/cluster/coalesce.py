"""Many readers, one read: whoever asks while a read is on its way shares the next one, never one that began earlier.

A read that began before somebody asked may miss what had happened by then; so only a read that began later counts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

AnswerT = TypeVar("AnswerT")


@dataclass
class _Line(Generic[AnswerT]):
    """Those who wait for one key."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    began: int = 0
    """How many reads have begun."""
    last: tuple[int, AnswerT] | None = None
    """The number of the last read that succeeded, and its answer."""


class Coalescing(Generic[AnswerT]):
    """Reads by key, at most one at a time for each."""

    def __init__(self, read: Callable[[str], Awaitable[AnswerT]]) -> None:
        self._read = read
        self._lines: dict[str, _Line[AnswerT]] = {}

    async def get(self, key: str) -> AnswerT:
        """The answer of a read that began after this call. Its errors are each reader's own: they read again."""
        line = self._lines.setdefault(key, _Line())
        line.waiting += 1
        asked_after = line.began
        try:
            async with line.lock:
                if line.last is not None and line.last[0] > asked_after:
                    return line.last[1]
                line.began += 1
                number = line.began
                answer = await self._read(key)
                line.last = (number, answer)
                return answer
        finally:
            line.waiting -= 1
            if not line.waiting:
                del self._lines[key]
