"""Ctrl-C, counted: the first one lets go of a task, the second one cancels it."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """How often Ctrl-C was pressed."""

    def __init__(self) -> None:
        self._presses: asyncio.Queue[None] = asyncio.Queue()
        self.taken = 0
        """How many were waited for and came."""

    def press(self) -> None:
        """Count one."""
        self._presses.put_nowait(None)

    async def next(self) -> None:
        """Wait for the next one that nobody has taken yet."""
        await self._presses.get()
        self.taken += 1


@contextmanager
def watch_interrupts() -> Iterator[Interrupts]:
    """Count Ctrl-C instead of dying of it. Only in the main thread's event loop."""
    interrupts = Interrupts()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupts.press)
    try:
        yield interrupts
    finally:
        loop.remove_signal_handler(signal.SIGINT)
