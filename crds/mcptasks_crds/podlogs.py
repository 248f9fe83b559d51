"""The end of a container's log, read in bounded memory and time however long the log or its lines are."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Protocol

from .kube import PODS, Kind, KubeError, RetryableError
from .logtails import MOST_LINES, TAIL_BYTES, LogSeen, Tail, is_kubelet_error

FIRST_LINES: Final = 8_192
"""More than 64 KiB unless lines are under eight bytes on average."""
SILENCE_SECONDS: Final = 10.0
READ_SECONDS: Final = 30.0
PAUSES_SECONDS: Final = (0.2, 1.0)
"""Waits before the second and third try where the kubelet or the API server could not answer."""


class Streams(Protocol):
    """The one call to the API server that is needed: `mcptasks_crds.kube.Kube` has it."""

    def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        """A subresource's bytes as they come."""


@dataclass(frozen=True, kw_only=True)
class LogReader:
    """Reads logs of one namespace's pods."""

    cluster: Streams
    namespace: str
    first_lines: int = FIRST_LINES
    """How many lines are asked for at first. Only where these are short is there a second request, for more."""

    async def read(self, pod: str, container: str) -> LogSeen:
        """The end of the log. Never raises for a log that cannot be read: then it says why."""
        for pause in (*PAUSES_SECONDS, None):
            try:
                async with asyncio.timeout(READ_SECONDS):
                    return await self._read(pod, container)
            except RetryableError as error:
                if pause is None:
                    return _unreadable(error.words)
                await asyncio.sleep(pause)
            except KubeError as error:
                return _unreadable(error.words)
            except TimeoutError:
                return _unreadable(f"not read within {READ_SECONDS:.0f} s")
        raise AssertionError("the last pause is None")

    async def _read(self, pod: str, container: str) -> LogSeen:
        tail = await self._tail(pod, container, self.first_lines)
        asked = self.first_lines
        if tail.lines >= self.first_lines and tail.size < TAIL_BYTES:
            tail = await self._tail(pod, container, MOST_LINES)
            asked = MOST_LINES
        text = tail.text()
        if is_kubelet_error(text):
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
