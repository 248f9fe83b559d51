"""Work that goes on though its request has ended: its client has gone, and what was begun must be finished or undone.

What this process forgets of it when it dies ends at the tool's own run limit.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, Final, TypeVar

import structlog

from .caller import Caller
from .errors import RpcError
from .tasks import TaskStore

ValueT = TypeVar("ValueT")


SURVIVES_SECONDS: Final = 60.0
"""For how long a cut call that can be taken up again may be."""


class Background:
    """What is under way without a request."""

    def __init__(self, *, survives_seconds: float = SURVIVES_SECONDS) -> None:
        self._survives_seconds = survives_seconds
        self._running: set[asyncio.Future[Any]] = set()
        self._log: Any = structlog.get_logger()

    def __len__(self) -> int:
        return len(self._running)

    async def outlive(self, work: Awaitable[ValueT], *, unless: Callable[[], bool] = lambda: False) -> ValueT:
        """The work's own outcome; if whoever waits for it is cancelled, it goes on all the same, `unless` so."""
        running = asyncio.ensure_future(work)
        self._keep(running)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if unless():
                running.cancel()
            raise

    def abandon(
        self, tasks: TaskStore, task_id: str, *, held_at: Collection[str | None], caller: Caller, may_come_back: bool
    ) -> None:
        """Cancel the task of a held call that was cut: at once, or after a while in which it may be taken up again."""

        async def abandon() -> None:
            await asyncio.sleep(self._survives_seconds if may_come_back else 0)
            try:
                await tasks.abandon(task_id, held_at=held_at, caller=caller)
            except RpcError as error:
                self._log.warning("the task of a cut call could not be cancelled", task=task_id, error=error.message)

        self._keep(asyncio.create_task(abandon()))

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that nobody waits for."""
        self._keep(asyncio.create_task(work))

    async def settle(self, *, seconds: float) -> None:
        """Give what is under way that long, then leave it."""
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=seconds)
            for task in late:
                task.cancel()

    def _keep(self, running: "asyncio.Future[Any]") -> None:
        self._running.add(running)
        running.add_done_callback(self._ended)

    def _ended(self, ended: "asyncio.Future[Any]") -> None:
        self._running.discard(ended)
        if not ended.cancelled():
            ended.exception()  # whoever waits for it has it; if nobody does any more, it is nobody's
