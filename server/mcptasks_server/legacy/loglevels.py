"""How much of a log a legacy client wants: `logging/setLevel`, kept as well as a replica can.

The level is the one thing of a session that changes after `initialize`, so its signed value cannot hold it. It is kept
in a bounded table of the replica that was told; any other one takes the default. See docs/decisions/0011.
"""

from collections import OrderedDict
from typing import Final

from mcptasks_server.exchange import LOG_LEVELS

DEFAULT: Final = "info"
MAX_SESSIONS: Final = 10_000


class LogLevels:
    """The least level that each session wants."""

    def __init__(self) -> None:
        self._least: OrderedDict[str, int] = OrderedDict()

    def set(self, session: str, level: str) -> None:
        """Note what a session wants; `level` is one of `LOG_LEVELS`."""
        self._least[session] = LOG_LEVELS.index(level)
        self._least.move_to_end(session)
        if len(self._least) > MAX_SESSIONS:
            self._least.popitem(last=False)

    def wants(self, session: str, level: str) -> bool:
        """Whether a session wants messages of a level. An unknown level is told."""
        return level not in LOG_LEVELS or LOG_LEVELS.index(level) >= self._least.get(session, LOG_LEVELS.index(DEFAULT))
