"""The newest that is known of each object, whoever told it. Pure: no I/O, no clock.

Watch events, answers to reads and answers to writes all come in here, in any order. An older version never replaces a
newer one, so what was written or shown by this replica stays the least that it shows again: no floors are kept apart.
Kubernetes' resource versions are numbers that can be compared (KEP-5504).
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

ValueT = TypeVar("ValueT")

TOMBSTONES: Final = 10_000
"""How many deleted names are remembered, so that a slow answer to a read does not bring one back."""


@dataclass(frozen=True, kw_only=True)
class Known(Generic[ValueT]):
    """An object at one version."""

    version: int
    value: ValueT


Listener = Callable[[str, ValueT | None, ValueT | None], None]
"""Is told of each change: the object's name, and what was and what is now known of it (None: no such object)."""


class ObjectCache(Generic[ValueT]):
    """The objects of one kind in one namespace, by name."""

    def __init__(self) -> None:
        self.listeners: list[Listener[ValueT]] = []
        """Who is told of each change, at once: it must neither raise nor wait."""
        self._known: dict[str, Known[ValueT]] = {}
        self._deleted: OrderedDict[str, int] = OrderedDict()
        self.changes = 0
        """Goes up with each change."""

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[ValueT]:
        return iter([known.value for known in self._known.values()])

    def get(self, name: str) -> Known[ValueT] | None:
        """What is known of an object."""
        return self._known.get(name)

    def offer(self, name: str, known: Known[ValueT]) -> bool:
        """Take a version of an object, unless a newer one, or its end, is known. Says whether it was taken."""
        current = self._known.get(name)
        if current is not None and current.version >= known.version:
            return False
        if self._deleted.get(name, -1) >= known.version:
            return False
        self._known[name] = known
        self._tell(name, None if current is None else current.value, known.value)
        return True

    def remove(self, name: str, *, version: int) -> None:
        """Take note that an object was deleted at a version."""
        self._deleted[name] = max(version, self._deleted.get(name, -1))
        self._deleted.move_to_end(name)
        if len(self._deleted) > TOMBSTONES:
            self._deleted.popitem(last=False)
        current = self._known.get(name)
        if current is not None and current.version <= version:
            del self._known[name]
            self._tell(name, current.value, None)

    def replace(self, listed: Mapping[str, Known[ValueT]], *, version: int) -> None:
        """Take a whole list as it was at a version. What is newer than the list stays."""
        for name, known in listed.items():
            self.offer(name, known)
        for name in [name for name in self._known if name not in listed]:
            self.remove(name, version=version)

    def _tell(self, name: str, before: ValueT | None, after: ValueT | None) -> None:
        self.changes += 1
        for listener in self.listeners:
            listener(name, before, after)
