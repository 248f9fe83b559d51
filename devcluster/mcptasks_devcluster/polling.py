"""Waiting for something to become so, with a bound."""

import time
from collections.abc import Callable

_INTERVAL = 0.05


def becomes_so(question: Callable[[], bool], *, within: float) -> bool:
    """Ask until the answer is yes; False if it never was."""
    deadline = time.monotonic() + within
    while not question():
        if time.monotonic() > deadline:
            return False
        time.sleep(_INTERVAL)
    return True
