"""Requests that were cancelled by their key, at whatever replica: their task is cancelled as soon as it is seen.

A cancellation may overtake the task that it is meant for: the task may be known to another replica alone, or its
creation may still be on the way. So the key is remembered for a while, and each task that becomes known here (by the
watch, or because this very replica has made it) is looked at. What is not covered: a creation that takes longer than
that, and a replica that ends in this while; such a task runs to its end, as one does whose client never cancelled.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from mcptasks_crds import names
from mcptasks_crds.task import McpTask
from mcptasks_server.caller import Caller
from mcptasks_server.errors import RpcError
from mcptasks_server.projection import is_over

REMEMBERED: Final = timedelta(minutes=1)
"""An API server drops a request that it has not finished by then."""
MOST_REMEMBERED: Final = 10_000
"""More keys than that push the oldest ones out."""


@dataclass(frozen=True, kw_only=True)
class _Cancellation:
    caller: Caller
    until: datetime


class CancelledRequests:
    """The keys of requests that were cancelled a moment ago."""

    def __init__(self, cancel: Callable[[str, Caller], Awaitable[None]], *, clock: Callable[[], datetime]) -> None:
        self._cancel, self._clock = cancel, clock
        self._remembered: OrderedDict[str, _Cancellation] = OrderedDict()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._log: Any = structlog.get_logger()

    def add(self, key: str, *, caller: Caller) -> None:
        """Remember that a request was cancelled by its caller."""
        now = self._clock()
        while self._remembered and (
            len(self._remembered) >= MOST_REMEMBERED or next(iter(self._remembered.values())).until <= now
        ):
            self._remembered.popitem(last=False)
        self._remembered.pop(key, None)
        self._remembered[key] = _Cancellation(caller=caller, until=now + REMEMBERED)

    def look_at(self, task: McpTask) -> asyncio.Task[None] | None:
        """Cancel a task in the background, if its request was cancelled and its id was not handed out."""
        cancellation = self._remembered.get(task.metadata.labels.get(names.REQUEST_LABEL, ""))
        if cancellation is None or cancellation.until <= self._clock():
            return None
        if task.spec.caller != cancellation.caller.name or task.spec.detached or task.spec.cancel_requested:
            return None
        name = task.metadata.name
        if is_over(task) or name in self._running:
            return self._running.get(name)
        running = self._running[name] = asyncio.create_task(self._cancel_quietly(name, cancellation.caller))
        running.add_done_callback(lambda _: self._running.pop(name, None))
        return running

    async def settle(self, *, seconds: float) -> None:
        """Give what is under way that long, then leave it."""
        if self._running:
            _, late = await asyncio.wait(list(self._running.values()), timeout=seconds)
            for task in late:
                task.cancel()

    async def _cancel_quietly(self, name: str, caller: Caller) -> None:
        try:
            await self._cancel(name, caller)
        except RpcError as error:
            self._log.warning("the task of a cancelled request could not be cancelled", task=name, error=str(error))
