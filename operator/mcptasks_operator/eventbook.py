"""What Kubernetes' Events say of tasks' Jobs and pods, as far as it helps: the latest of each reason, by uid.

They are hints, kept in memory alone: the Job controller and the kubelet say again what is still so.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.times import parse_time

from .observation import EventSeen

KEPT: Final = 2_000
"""Jobs and pods of which Events are kept; beyond them, those are forgotten of which nothing was heard for longest."""
MESSAGE_CHARACTERS: Final = 2_000
_KINDS: Final = ("Job", "Pod")


class EventBook:
    """Events by the uid of what they are about."""

    def __init__(self) -> None:
        self._events: OrderedDict[str, dict[str, EventSeen]] = OrderedDict()

    def put(self, document: Mapping[str, Any]) -> bool:
        """Take an Event (events.k8s.io/v1) over. False where it is about nothing of ours, or is no news."""
        regarding = document.get("regarding", {})
        uid, name = regarding.get("uid", ""), regarding.get("name", "")
        if not uid or regarding.get("kind") not in _KINDS or not name.startswith(names.TASK_ID_PREFIX):
            return False
        event = event_seen(document)
        known = self._events.setdefault(uid, {})
        self._events.move_to_end(uid)
        if len(self._events) > KEPT:
            self._events.popitem(last=False)
        before = known.get(event.reason)
        if before is not None and before.at >= event.at and before.message == event.message:
            return False
        known.pop(event.reason, None)  # so that the latest stands last
        known[event.reason] = event
        return True

    def about(self, *uids: str | None) -> tuple[EventSeen, ...]:
        """The Events about these, in the order in which they came."""
        return tuple(event for uid in uids if uid is not None for event in self._events.get(uid, {}).values())

    def forget(self, uid: str) -> None:
        """What it was about is gone."""
        self._events.pop(uid, None)


def event_seen(document: Mapping[str, Any]) -> EventSeen:
    """An Event, whichever of Kubernetes' two ways of dating and counting it was written in."""
    series = document.get("series") or {}
    at = (
        series.get("lastObservedTime")
        or document.get("deprecatedLastTimestamp")
        or document.get("eventTime")
        or document["metadata"]["creationTimestamp"]
    )
    return EventSeen(
        about=document["regarding"]["uid"],
        reason=document.get("reason", ""),
        message=document.get("note", "")[:MESSAGE_CHARACTERS],
        at=parse_time(at),
    )
