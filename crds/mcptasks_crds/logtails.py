"""The end of a container's log, cut out of what is read of it, in bounded memory. Pure.

The API can cut a log by lines from the end (`tailLines`) and by bytes from the beginning (`limitBytes`), not by bytes
from the end. So more lines are asked for than are wanted, and of what comes only the last bytes are kept.
"""

import re
from dataclasses import dataclass
from typing import Final

TAIL_BYTES: Final = 64 * 1024
"""How much of a log is kept."""
MOST_LINES: Final = TAIL_BYTES + 1
"""As many lines as 64 KiB can hold, and one more to know that there were more."""


_KUBELET_ERROR: Final = re.compile(
    r"(?:"
    r'failed to (?:try resolving symlinks in path|open log file) "/var/log/(?:pods|containers)/[^"\n]*": [^\n]*'
    r"|unable to retrieve container logs for [a-z][a-z0-9+.-]*://\S*"
    r"|Error: [^\n]*/var/log/(?:pods|containers)/[^\n]*: no such file or directory"
    r")\n?"
)
"""What the kubelet writes into its answer (200 OK: the headers are out) in place of a log that it cannot read.

kubelet: `ReadLogs` in cri-client/pkg/logs, `GetContainerLogs` in kuberuntime_container.go.
"""
_CONTINUATIONS: Final = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, kw_only=True)
class LogSeen:
    """The end of the container's log."""

    text: str
    """At most 64 KiB, the last part, decoded with replacement."""
    is_whole: bool
    """Whether nothing was cut off before it of what the node still had: of a rotated log, that is the newest file."""
    unreadable: str = ""
    """Why it could not be read; empty where it was."""


class Tail:
    """The last bytes of what was fed, and how much there was."""

    def __init__(self, limit: int = TAIL_BYTES) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.size = 0
        self.lines = 0

    def feed(self, chunk: bytes) -> None:
        """Take more bytes."""
        self.size += len(chunk)
        self.lines += chunk.count(b"\n")
        self._kept += chunk[-self._limit :]
        if len(self._kept) > 2 * self._limit:
            del self._kept[: -self._limit]

    def text(self) -> str:
        """The end as text: no more than the limit as UTF-8, what is no UTF-8 replaced."""
        kept = bytes(self._kept[-self._limit :])
        if self.size > self._limit:  # the cut may have gone through a character
            kept = kept[:3].lstrip(_CONTINUATIONS) + kept[3:]
        text = kept.decode("utf-8", "replace")
        encoded = text.encode()
        if len(encoded) <= self._limit:
            return text
        # A replacement character is three bytes long where a single one was.
        return encoded[-self._limit :].decode("utf-8", "ignore")

    @property
    def is_whole(self) -> bool:
        """Whether all that was fed is in the text."""
        return self.size <= self._limit


def is_kubelet_error(text: str) -> bool:
    """Whether what was read is no log, but the kubelet's words on why it cannot read it.

    Worth another try: while the kubelet rotates a log, its file is not there for a moment.
    """
    return _KUBELET_ERROR.fullmatch(text) is not None
