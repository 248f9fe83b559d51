"""Waiting in tests: for a thing to be so, not for a time to pass."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

Value = TypeVar("Value")

INTERVAL_SECONDS: Final = 0.02
SOON_SECONDS: Final = 1.0
"""What takes longer is asked for less often: the processors are for what is waited for."""
LATER_INTERVAL_SECONDS: Final = 0.1


async def eventually(
    probe: Callable[[], Awaitable[Value | None]], *, what: str, timeout_seconds: float = 30.0
) -> Value:
    """Ask until the answer is neither None nor false, and return it.

    Raises:
        AssertionError: it did not come to be in time; the message says what, and the last answer.
    """
    answer: Value | None = None
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                answer = await probe()
                if answer is not None and answer is not False:
                    return answer
                is_soon = time.monotonic() - began < SOON_SECONDS
                await asyncio.sleep(INTERVAL_SECONDS if is_soon else LATER_INTERVAL_SECONDS)
    except TimeoutError:
        raise AssertionError(f"not within {timeout_seconds:g} s: {what} (last seen: {answer!r})") from None
