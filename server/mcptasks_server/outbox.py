"""What a request's client is sent before its answer: notifications, and on the legacy wire requests, in order.

The side that reads may be slow, or not read at all; so a message is either one of a kind of which only the newest
matters (progress, a task's state: it takes the place of the one that still waits), or it waits for room. Memory stays
bounded, and the answer itself is never dropped: it is not in here.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

MAX_WAITING: Final = 64
"""Messages of their own that may wait for the reader."""


class Outbox:
    """The messages of one request that wait to be sent."""

    def __init__(self, *, on_begin: Callable[[], None] = lambda: None) -> None:
        """`on_begin` is called once, when there is first something to send."""
        self._on_begin = on_begin
        self._waiting: OrderedDict[object, bytes] = OrderedDict()
        self._own = 0
        self._arrived, self._left = asyncio.Event(), asyncio.Event()
        self.has_begun = False
        """Whether the answer is a stream."""
        self.replaced = 0
        """How many messages were never sent, for a newer one took their place."""

    def begin(self) -> None:
        """Make the answer a stream now, so that its reader sees that work has begun."""
        if not self.has_begun:
            self.has_begun = True
            self._on_begin()

    def replace(self, slot: str, message: Mapping[str, Any]) -> None:
        """Send a message, in place of the one of the same slot that still waits."""
        if slot in self._waiting:
            self.replaced += 1
        self._put(slot, message)

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message that matters by itself. Waits while too many wait already."""
        while self._own >= MAX_WAITING:
            self._left.clear()
            await self._left.wait()
        self._own += 1
        self._put(object(), message)

    async def sent(self, slot: str) -> None:
        """Wait until no message of a slot waits any more."""
        while slot in self._waiting:
            self._left.clear()
            await self._left.wait()

    async def next(self) -> bytes:
        """The next message, as JSON; waits for one. For the one that writes."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._take()

    def rest(self) -> list[bytes]:
        """All messages that wait."""
        return [self._take() for _ in range(len(self._waiting))]

    def _put(self, key: object, message: Mapping[str, Any]) -> None:
        self._waiting[key] = orjson.dumps(message)
        self._arrived.set()
        self.begin()

    def _take(self) -> bytes:
        key, message = self._waiting.popitem(last=False)
        if not isinstance(key, str):
            self._own -= 1
        self._left.set()
        return message
