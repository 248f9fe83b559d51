"""Whether what belongs to a request goes when the request does.

A request's outbox is known to all that works for it: whatever keeps any of it keeps the outbox. So one that is still
there long after its request has ended is a leak, however it came about.
"""

import time
import weakref
from collections.abc import Callable
from typing import Final

from .outbox import Outbox

LEFT_SECONDS: Final = 60.0
"""After this long nothing of a request may be left. A function of a tool pack that runs on after its call's time is."""


class Contexts:
    """The outboxes of requests that have ended, those that are still there."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ended: dict[int, tuple[weakref.ref[Outbox], float]] = {}

    def ended(self, outbox: Outbox) -> None:
        """Its request has ended."""
        key, ended = id(outbox), self._ended
        # The callback must not keep us: it would be a leak of its own.
        ended[key] = (weakref.ref(outbox, lambda _: ended.pop(key, None)), self._clock())

    def left(self, *, seconds: float = LEFT_SECONDS) -> int:
        """How many are still there that long after the end."""
        now = self._clock()
        return sum(now - at >= seconds for _, at in list(self._ended.values()))
