"""How long to wait before asking again. Pure: chance and time are arguments."""

import math
import random
from email.utils import parsedate_to_datetime
from typing import Final

FIRST_SECONDS: Final = 0.2
MOST_SECONDS: Final = 5.0
"""A task endpoint that comes back is found again within this time."""
MOST_ASKED_FOR_SECONDS: Final = 60.0
"""The longest `Retry-After` that is honoured: a task's time is limited."""
RETRYABLE: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The statuses that say: not now."""
JITTER: Final = random.Random()  # noqa: S311  # it is no secret
"""Where callers take their chance from: numbers of our own, which no program's `random.seed` touches."""


def delay_seconds(failures: int, *, chance: float, asked_for: float | None = None) -> float:
    """The wait after so many failures in a row (at least 1); `chance` in [0, 1) spreads pods that failed together.

    >>> [delay_seconds(failures, chance=0.5) for failures in (1, 2, 3, 10)]
    [0.15, 0.3, 0.6, 3.75]
    >>> delay_seconds(1, chance=0, asked_for=2)
    2.0
    """
    whole = min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, 10))
    own = round(whole * (0.5 + chance / 2), 6)
    return own if asked_for is None else max(own, min(float(asked_for), MOST_ASKED_FOR_SECONDS))


def retry_after_seconds(header: str | None, *, now: float) -> float | None:
    """What a `Retry-After` header asks for; None without a usable one. `now`: seconds since 1970.

    >>> retry_after_seconds("3", now=0), retry_after_seconds("Thu, 01 Jan 1970 00:01:00 GMT", now=50)
    (3.0, 10.0)
    >>> retry_after_seconds("soon", now=0) is None
    True
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - now
        except ValueError:
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
