"""Asking again and again, for those who are told by somebody else when it is too late."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

Value = TypeVar("Value")

AGAIN_SECONDS: Final = 0.1


async def patiently(probe: Callable[[], Awaitable[Value | None]]) -> Value:
    """Ask until the answer is neither None nor false, or this is cancelled."""
    while True:
        answer = await probe()
        if answer is not None and answer is not False:
            return answer
        await asyncio.sleep(AGAIN_SECONDS)
