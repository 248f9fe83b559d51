"""When to ask again. Pure.

A client that waits a whole interval before its first look makes every short task as slow as the interval, so the first
looks come quickly and grow up to what the server asked for.
"""

from typing import Final

FIRST_POLL_SECONDS: Final = 0.05
DEFAULT_INTERVAL_SECONDS: Final = 1.0
SHORTEST_INTERVAL_SECONDS: Final = 0.01
"""Below this a server's interval is taken for a mistake."""

FIRST_RETRY_SECONDS: Final = 0.2
LONGEST_RETRY_SECONDS: Final = 10.0


def poll_delay(polls: int, interval_ms: int | None) -> float:
    """Seconds until the next look, after `polls` looks: 50 ms, doubled each time, at most the server's interval.

    >>> [poll_delay(polls, 1000) for polls in range(7)]
    [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    """
    return min(FIRST_POLL_SECONDS * 2.0 ** min(polls, 30), poll_interval(interval_ms))


def poll_interval(interval_ms: int | None) -> float:
    """How often to look, in seconds, by what the server asked for."""
    return max(DEFAULT_INTERVAL_SECONDS if interval_ms is None else interval_ms / 1000, SHORTEST_INTERVAL_SECONDS)


def retry_delay(failures: int, *, asked_seconds: float | None, chance: float) -> float:
    """Seconds until the next attempt, after `failures` failures in a row (at least one).

    Args:
        failures: how many attempts failed, one after the other.
        asked_seconds: what the server asked for; never less than that.
        chance: from 0 to 1, spreads clients that failed together over half to the whole of the delay.
    """
    growing = min(FIRST_RETRY_SECONDS * 2.0 ** min(failures - 1, 30), LONGEST_RETRY_SECONDS)
    return max(growing * (0.5 + chance / 2), asked_seconds or 0.0)
