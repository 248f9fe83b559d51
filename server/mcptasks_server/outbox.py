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

from .lines import one_line

MAX_WAITING: Final = 64
"""Messages of their own that may wait for the reader."""

Pieces = tuple[bytes, ...]
"""A message as JSON on one line, in pieces: what many readers are sent alike is made and kept once."""

_BEAT: Final = "beat"
"""The slot of the sign of life; a message that comes beside it makes it needless, yet does no harm."""


def _nothing() -> None:
    """Nobody listens any more."""


class Outbox:
    """The messages of one request that wait to be sent."""

    def __init__(
        self,
        *,
        is_heard: bool = True,
        on_begin: Callable[[], None] = lambda: None,
        on_replaced: Callable[[], None] = lambda: None,
    ) -> None:
        """`is_heard`: whether the client takes anything before the answer; if not, all messages are dropped.

        `on_begin` is called once, when there is first something to send, or work begins that may take long.
        `on_replaced` is called for each message that is never sent, for a newer one took its place.
        """
        self.is_heard = is_heard
        self._on_begin, self._on_replaced = on_begin, on_replaced
        self._waiting: OrderedDict[object, Pieces] = OrderedDict()
        self._own = 0
        self._arrived, self._left = asyncio.Event(), asyncio.Event()
        self._is_closed = False
        self.has_begun = False
        """Whether the answer is a stream."""
        self.replaced = 0
        """How many messages were never sent, for a newer one took their place."""

    @property
    def waiting(self) -> int:
        """How many messages wait to be sent."""
        return len(self._waiting)

    def begin(self) -> None:
        """Make the answer a stream now, so that its reader sees that work has begun."""
        if not self.has_begun and not self._is_closed:
            self.has_begun = True
            self._on_begin()

    def replace(self, slot: str, message: Mapping[str, Any] | Pieces) -> None:
        """Send a message, in place of the one of the same slot that still waits."""
        if slot in self._waiting:
            self.replaced += 1
            self._on_replaced()
        self._put(slot, message)

    async def send(self, message: Mapping[str, Any] | Pieces) -> None:
        """Send a message that matters by itself. Waits while too many wait already."""
        while self._own >= MAX_WAITING and not self._is_closed:
            self._left.clear()
            await self._left.wait()
        if self.is_heard and not self._is_closed:
            self._own += 1
            self._put(object(), message)

    async def sent(self, slot: str) -> None:
        """Wait until no message of a slot waits any more."""
        while slot in self._waiting and not self._is_closed:
            self._left.clear()
            await self._left.wait()

    def beat(self) -> None:
        """Have the one that writes get an empty message, if it waits for one: a sign of life is due."""
        if not self._waiting and not self._is_closed:
            self._waiting[_BEAT] = ()
            self._arrived.set()

    def close(self) -> None:
        """Take no more messages: the answer is next. What waits is still sent."""
        self._is_closed = True
        # Whoever is called back knows the outbox, so the two would keep each other until a collection finds them.
        self._on_begin = self._on_replaced = _nothing
        self._arrived.set()
        self._left.set()

    async def next(self) -> Pieces | None:
        """The next message; waits for one. Empty where a sign of life is due, None at the end. For the one that
        writes."""
        while not self._waiting:
            if self._is_closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        key, message = self._waiting.popitem(last=False)
        if not isinstance(key, str):
            self._own -= 1
        self._left.set()
        return message

    def _put(self, key: object, message: Mapping[str, Any] | Pieces) -> None:
        if not self.is_heard or self._is_closed:
            return
        self._waiting[key] = message if isinstance(message, tuple) else (one_line(orjson.dumps(message)),)
        self._arrived.set()
        self.begin()
