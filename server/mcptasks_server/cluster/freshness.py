"""Whether a watch can be trusted to show what is so, by what is known to be due. Pure: the clock is an argument.

A watch that has died is silent, and so is one on which nothing happens. So what is learned elsewhere (the answer to a
write or to a read) is *expected* on the watch: the time until it arrives there is the watch's lag, and what does not
arrive in time says that the watch is late, or dead. Where nothing was heard for a while, some reads are made at the
API server all the same, as probes.
"""

from collections import deque
from typing import Final

MAX_LAG_SECONDS: Final = 0.25
"""A watch that is later than this is not read from."""
QUIET_SECONDS: Final = 5.0
"""After this long without an event, reads are probed."""
PROBE_INTERVAL_SECONDS: Final = 0.5
"""The least time between two probes."""
DEAD_SECONDS: Final = 3.0
"""A watch that is later than this is given up, and opened anew."""


class Freshness:
    """What is known of one watch. Every `now` is a monotonic clock's, in seconds."""

    def __init__(self) -> None:
        self._is_open = False
        self._seen = -1
        self._due: deque[tuple[int, float]] = deque()
        self._heard_at = float("-inf")
        self._probed_at = float("-inf")

    def opened(self, *, now: float) -> None:
        """The API server has accepted the watch."""
        self._is_open, self._heard_at = True, now

    def closed(self) -> None:
        """The watch has broken."""
        self._is_open = False

    def heard(self, version: int, *, now: float) -> float | None:
        """An event (or a list) of that version has arrived. The lag of what was due with it; None where nothing was."""
        self._heard_at = now
        self._seen = max(self._seen, version)
        lag: float | None = None
        while self._due and self._due[0][0] <= self._seen:
            _, since = self._due.popleft()
            lag = max(lag or 0.0, now - since)
        return lag

    def expects(self, version: int, *, now: float) -> bool:
        """That version exists. Says whether it is still to come on the watch."""
        if version <= self._seen:
            return False
        if not self._due or version > self._due[-1][0]:  # what is due already is due longer
            self._due.append((version, now))
        return True

    def lag(self, *, now: float) -> float:
        """For how long the oldest version has been due."""
        return now - self._due[0][1] if self._due else 0.0

    def is_late(self, *, now: float) -> bool:
        """Whether reads must be made at the API server."""
        return not self._is_open or self.lag(now=now) > MAX_LAG_SECONDS

    def is_dead(self, *, now: float) -> bool:
        """Whether the watch must be opened anew."""
        return self._is_open and self.lag(now=now) > DEAD_SECONDS

    def wants_probe(self, *, now: float) -> bool:
        """Whether this read should be made at the API server, as a probe. Saying yes counts as the probe."""
        if now - self._heard_at <= QUIET_SECONDS or now - self._probed_at < PROBE_INTERVAL_SECONDS:
            return False
        self._probed_at = now
        return True
