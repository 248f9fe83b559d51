"""How long the API server is waited for: a client that asks for a task must have its answer within ten seconds."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcptasks_crds.kube import RetryableError
from mcptasks_server.errors import UnavailableError

AnswerT = TypeVar("AnswerT")

PATIENCE_SECONDS: Final = 8.0
"""From the first try to giving up."""
_FIRST_DELAY_SECONDS: Final = 0.05
_MAX_DELAY_SECONDS: Final = 1.0

UNREACHABLE: Final = "The cluster's API server cannot be reached at the moment; please try again"


async def persist(attempt: Callable[[], Awaitable[AnswerT]], *, seconds: float = PATIENCE_SECONDS) -> AnswerT:
    """What the attempt answers, tried again while it may work later.

    Other errors than `RetryableError` pass through.

    Raises:
        UnavailableError: it did not work in time.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _until_it_works(attempt)
    except TimeoutError as error:
        raise UnavailableError(UNREACHABLE) from error


async def _until_it_works(attempt: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
    delay = _FIRST_DELAY_SECONDS
    while True:
        try:
            return await attempt()
        except RetryableError as error:
            wait = error.delay_seconds if error.delay_seconds is not None else delay
            await asyncio.sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311  # jitter is no secret
            delay = min(delay * 2, _MAX_DELAY_SECONDS)
