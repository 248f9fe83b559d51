"""For how long one piece of code has the event loop to itself, in tests: as time of the CPU, so a busy machine is no
finding."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch


@dataclass
class Hold:
    """The longest that a callback of asyncio's own loop has run."""

    seconds: float = 0.0
    by: str = ""
    """What ran."""


@contextmanager
def longest_hold() -> Iterator[Hold]:
    """Watch all callbacks that run meanwhile, a task's steps among them."""
    longest = Hold()
    run = asyncio.Handle._run

    def timed(handle: Any) -> None:
        by, began = repr(handle), time.thread_time()
        run(handle)
        seconds = time.thread_time() - began
        if seconds > longest.seconds:
            longest.seconds, longest.by = seconds, by

    with patch.object(asyncio.Handle, "_run", timed):
        yield longest
