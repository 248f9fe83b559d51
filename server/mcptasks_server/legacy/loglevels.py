"""How much of a log a legacy client wants: `logging/setLevel`, kept as well as a replica can.

The level is the one thing of a session that changes after `initialize`, so its signed value cannot hold it. It is kept
in a bounded table of the replica that was told; any other one takes the default. See docs/decisions/0011.
"""

from collections import OrderedDict
from typing import Final

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""MCP's levels (those of RFC 5424), from the least to the most."""
DEFAULT: Final = "info"
MAX_SESSIONS: Final = 10_000


class LogLevels:
    """The least level that each session wants."""

    def __init__(self) -> None:
        self._least: OrderedDict[str, int] = OrderedDict()

    def set(self, session: str, level: str) -> None:
        """Note what a session wants; `level` is one of `LEVELS`."""
        self._least[session] = LEVELS.index(level)
        self._least.move_to_end(session)
        if len(self._least) > MAX_SESSIONS:
            self._least.popitem(last=False)

    def wants(self, session: str, level: str) -> bool:
        """Whether a session wants messages of a level. An unknown level is told."""
        return level not in LEVELS or LEVELS.index(level) >= self._least.get(session, LEVELS.index(DEFAULT))
