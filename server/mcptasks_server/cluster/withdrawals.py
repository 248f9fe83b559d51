"""Takes back tasks that were perhaps created and that nobody will ever ask for.

A create whose answer was lost, or whose client has gone, may have been done, or may still be done a moment later. Such
a task would run for nobody, so its object is deleted, more than once. What a crash of this process forgets here ends at
the tool's own run limit.
"""

import asyncio
from typing import Any, Final

import structlog

from mcptasks_crds.kube import TASKS, Kube, KubeError, NotFoundError

DELAYS_SECONDS: Final = (0.0, 1.0, 5.0, 20.0)
"""When it is tried, after the one before. An API server drops a request that it has not finished in a minute."""


class Withdrawals:
    """The withdrawals that are under way."""

    def __init__(self, kube: Kube, *, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace
        self._running: set[asyncio.Task[None]] = set()
        self._log: Any = structlog.get_logger()

    def begin(self, name: str) -> None:
        """Take a task back, in the background."""
        task = asyncio.create_task(self._withdraw(name))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def settle(self, *, seconds: float) -> None:
        """Give what is under way that long, then leave it."""
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=seconds)
            for task in late:
                task.cancel()

    async def _withdraw(self, name: str) -> None:
        for delay in DELAYS_SECONDS:
            await asyncio.sleep(delay)
            try:
                await self._kube.delete(TASKS, self._namespace, name)
            except NotFoundError:
                continue
            except KubeError as error:
                self._log.warning("a task could not be taken back yet", task=name, error=str(error))
                continue
            self._log.info("task taken back", task=name)
            return
