"""Hedged requests: what only asks is asked again while nothing comes back, and the first answer counts.

See Dean and Barroso, "The Tail at Scale" (2013). Nothing but time is waited for here: what is sent is the caller's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

AnswerT = TypeVar("AnswerT")


async def hedged(
    send: Callable[[int], Awaitable[AnswerT]], *, silences: Sequence[float], drop: Callable[[AnswerT], None]
) -> AnswerT:
    """The first answer, or the first failure.

    `send` is called with 0, and with 1, 2, ... for each further time: once nothing has come back for so many seconds of
    `silences`. Those before are waited for all the while. `drop` is given the answers that came too late to count.
    """
    tries = [asyncio.ensure_future(send(0))]
    first: asyncio.Future[AnswerT] | None = None
    try:
        for number, silence in enumerate((*silences, None), start=1):
            done, _ = await asyncio.wait(tries, timeout=silence, return_when=asyncio.FIRST_COMPLETED)
            if done:
                first = done.pop()
                break
            tries.append(asyncio.ensure_future(send(number)))
    finally:
        others = [each for each in tries if each is not first]
        for each in others:
            each.cancel()
        for answer in await asyncio.gather(*others, return_exceptions=True):
            if not isinstance(answer, BaseException):
                drop(answer)
    assert first is not None  # the last wait has no limit
    return first.result()
