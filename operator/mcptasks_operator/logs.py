"""The end of a container's log, read in bounded memory and time however long the log or its lines are.

The API can cut a log by lines from the end (`tailLines`) and by bytes from the beginning (`limitBytes`), not by bytes
from the end. So more lines are asked for than are wanted, and of what comes only the last bytes are kept.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from mcptasks_crds.kube import PODS, KubeError, RetryableError

from .cluster import Cluster
from .observation import LogSeen

TAIL_BYTES: Final = 64 * 1024
FIRST_LINES: Final = 8_192
"""Asked for at first: more than 64 KiB unless lines are under eight bytes on average."""
MOST_LINES: Final = TAIL_BYTES + 1
"""As many lines as 64 KiB can hold, and one more to know that there were more."""
SILENCE_SECONDS: Final = 10.0
READ_SECONDS: Final = 30.0
PAUSES_SECONDS: Final = (0.2, 1.0)
"""Waits before the second and third try where the kubelet or the API server could not answer."""


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
class LogReader:
    """Reads logs of one namespace's pods."""

    cluster: Cluster
    namespace: str

    async def read(self, pod: str, container: str) -> LogSeen:
        """The end of the log. Never raises for a log that cannot be read: then it says why."""
        for pause in (*PAUSES_SECONDS, None):
            try:
                async with asyncio.timeout(READ_SECONDS):
                    return await self._read(pod, container)
            except RetryableError as error:
                if pause is None:
                    return _unreadable(str(error))
                await asyncio.sleep(pause)
            except KubeError as error:
                return _unreadable(str(error))
            except TimeoutError:
                return _unreadable(f"not read within {READ_SECONDS:.0f} s")
        raise AssertionError("the last pause is None")

    async def _read(self, pod: str, container: str) -> LogSeen:
        tail = await self._tail(pod, container, FIRST_LINES)
        asked = FIRST_LINES
        if tail.lines >= FIRST_LINES and tail.size < TAIL_BYTES:
            tail = await self._tail(pod, container, MOST_LINES)
            asked = MOST_LINES
        text = tail.text()
        if _KUBELET_ERROR.fullmatch(text):
            # Worth another try: while the kubelet rotates a log, its file is not there for a moment.
            raise RetryableError("the node could not read the container's log")
        return LogSeen(text=text, is_whole=tail.is_whole and tail.lines < asked)

    async def _tail(self, pod: str, container: str, lines: int) -> Tail:
        tail = Tail()
        async for chunk in self._chunks(pod, container, lines):
            tail.feed(chunk)
        return tail

    def _chunks(self, pod: str, container: str, lines: int) -> AsyncIterator[bytes]:
        return self.cluster.stream(
            PODS,
            self.namespace,
            pod,
            subresource="log",
            timeout_seconds=SILENCE_SECONDS,
            container=container,
            tailLines=str(lines),
        )


def _unreadable(why: str) -> LogSeen:
    return LogSeen(text="", is_whole=False, unreadable=why)
