"""Being told that something may have changed, inside one process. Pure but for the waiting.

What is told is only *that* a key may have changed: whoever is told looks for itself. So nothing piles up for one who is
slow, and the newest is what it sees.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum


class Topic(StrEnum):
    """What there are notices of beside tasks."""

    TOOLS = "tools"


class Watch:
    """Some keys, watched by one."""

    def __init__(self, keys: Iterable[str]) -> None:
        """`keys`: those that count as changed from the beginning."""
        self._changed = set(keys)
        self._told = asyncio.Event()
        if self._changed:
            self._told.set()

    def tell(self, key: str) -> None:
        """A key may have changed."""
        self._changed.add(key)
        self._told.set()

    async def next(self) -> frozenset[str]:
        """Wait for a change; all keys that may have changed since the last call."""
        await self._told.wait()
        self._told.clear()
        changed = frozenset(self._changed)
        self._changed.clear()
        return changed


class Watches:
    """Who watches which keys."""

    def __init__(self) -> None:
        self._by_key: dict[str, set[Watch]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def next_key(self) -> str | None:
        """One of the keys that are watched, another one each time, so that all have their turn; None without any."""
        if not self._by_key:
            return None
        key = next(iter(self._by_key))
        self._by_key[key] = self._by_key.pop(key)
        return key

    @contextmanager
    def watch(self, keys: Iterable[str], *, initially: bool) -> Iterator[Watch]:
        """Watch keys for as long as the context lasts. `initially`: whether all count as changed at first."""
        watched = frozenset(keys)
        watch = Watch(watched if initially else ())
        for key in watched:
            self._by_key.setdefault(key, set()).add(watch)
        try:
            yield watch
        finally:
            for key in watched:
                watches = self._by_key[key]
                watches.discard(watch)
                if not watches:
                    del self._by_key[key]

    def tell(self, key: str) -> None:
        """A key may have changed: tell all who watch it."""
        for watch in self._by_key.get(key, ()):
            watch.tell(key)
