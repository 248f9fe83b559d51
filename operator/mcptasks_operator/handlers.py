"""What kopf calls: each event is put into the store and its key into the queue, and nothing more.

kopf swallows what a handler of raw events raises and never calls it again, so there is nothing here that could fail.
Only raw events are handled: kopf's other handlers would add finalizers and annotations to the objects.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

import kopf

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TOOLS, Kind

from .drift import Drift
from .eventbook import EventBook
from .keys import Key, keys_about, tool_key
from .metrics import Metrics
from .store import KINDS, Store, version_of

DELETED: Final = "DELETED"
_NAMES: Final = ("name", "namespace", "uid")
"""All that kopf still reads of an object once the handler has it: for its log."""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Takes events in."""

    store: Store
    drift: Drift
    metrics: Metrics
    enqueue: Callable[[Key], None]
    events: EventBook = field(default_factory=EventBook)

    def take(self, kind: Kind, type_: str | None, document: Json) -> None:
        """Take one event of a watch (its type None: from kopf's own listing)."""
        name, version = document["metadata"]["name"], version_of(document)
        self.metrics.watched(kind.plural)
        self.drift.watched(kind, name, version)
        gone = type_ == DELETED
        changed = self.store.remove(kind, name, version=version) if gone else self.store.put(kind, document)
        if gone:
            self.events.forget(document["metadata"].get("uid", ""))
        if not changed:
            return  # the echo of a write of our own, or late
        for key in keys_about(kind, document):
            self.enqueue(key)
        if kind == TOOLS:  # a name may have become free, or taken
            for other in self.store.names(TOOLS):
                self.enqueue(tool_key(other))


Take = Callable[[Kind, str | None, Json], object]


def register(registry: kopf.OperatorRegistry, take: Take) -> None:
    """Have kopf tell of every event of the watched kinds."""
    for kind in KINDS:
        _register(registry, kind, take)


def _register(registry: kopf.OperatorRegistry, kind: Kind, take: Take) -> None:
    @kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=f"see-{kind.plural}")
    async def see(event: kopf.RawEvent, **_: object) -> None:
        seen = cast("Json", event["object"])
        take(kind, event["type"], dict(seen))
        _leave_the_name(seen)


def _leave_the_name(seen: Json) -> None:
    """Take from kopf's own document what is large.

    kopf's views of an object and of its parts refer to each other (1.45), so that only the collector of cycles finds
    them, and what hangs on them: with whole objects it had to begin nine times as often for them.
    """
    names_of = {key: value for key, value in seen["metadata"].items() if key in _NAMES}
    seen.clear()
    seen["metadata"] = names_of
