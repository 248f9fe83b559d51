"""A thread that notices when the event loop stands still, and says in which code.

One function that computes, or waits, without giving the loop back stops every request of the process. Nothing inside
the loop can see that; this thread knocks a few times a second, and looks at the loop's stack when nobody opens.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import structlog

BLOCKED_SECONDS: Final = 1.0
KNOCKS_PER_LIMIT: Final = 4


class Watchdog:
    """Watches the loop that it is made in."""

    def __init__(
        self, *, on_block: Callable[[], None] = lambda: None, blocked_seconds: float = BLOCKED_SECONDS
    ) -> None:
        """`on_block` is called once a block, from the watchdog's thread."""
        self._on_block, self._limit = on_block, blocked_seconds
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._stop, self._opened = threading.Event(), threading.Event()
        self._log: Any = structlog.get_logger()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for as long as the context lasts."""
        thread = threading.Thread(target=self._watch, name="mcptasks-watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._opened.set()
            thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._limit / KNOCKS_PER_LIMIT):
            self._opened.clear()
            if self._stop.is_set():  # it was set before `_opened`, whose word has just been lost if it came by now
                return
            knocked = time.monotonic()
            self._loop.call_soon_threadsafe(self._opened.set)
            if self._opened.wait(self._limit):
                continue
            self._log.error("the event loop is blocked", seconds=self._limit, stack=stack_of(self._loop_thread))
            self._on_block()
            self._opened.wait()
            if not self._stop.is_set():
                self._log.warning("the event loop runs again", seconds=round(time.monotonic() - knocked, 1))


def stack_of(thread: int) -> list[str]:
    """Where a thread is, its innermost function last; no values."""
    frame = sys._current_frames().get(thread)
    return [] if frame is None else places(traceback.extract_stack(frame))


def places(frames: traceback.StackSummary) -> list[str]:
    """Frames as text: function, file and line. Neither source nor values: they may hold what a client sent."""
    return [f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in frames]
