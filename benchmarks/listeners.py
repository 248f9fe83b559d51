"""A thousand clients that listen, as a process of their own: each holds a stream open and looks for marked news.

Arguments: host, port, how many, and a file with the raw request that each sends. Prints for each piece of news, once
all have it, a line of JSON: its number and when each client had it, in seconds of the monotonic clock, which all
processes of the machine share.
"""

import asyncio
import gc
import json
import re
import sys
import time
from pathlib import Path
from typing import Final, cast

NEWS: Final = re.compile(rb"news-(\d+);")
TAIL_BYTES: Final = 24
"""More than a mark, which two chunks may share."""
AT_ONCE: Final = 50


class Audience:
    """All clients."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._seen: dict[int, dict[object, float]] = {}

    def sees(self, listener: object, number: int) -> None:
        """A client was told this piece of news."""
        seen = self._seen.setdefault(number, {})
        seen.setdefault(listener, time.monotonic())
        if len(seen) == self._size:
            del self._seen[number]
            print(json.dumps({"news": number, "at": sorted(seen.values())}), flush=True)


class Listener(asyncio.Protocol):
    """One client."""

    def __init__(self, audience: Audience, request: bytes) -> None:
        self._audience, self._request, self._tail = audience, request, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        cast("asyncio.WriteTransport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """Look for news."""
        data = self._tail + data
        for number in NEWS.findall(data):
            self._audience.sees(self, int(number))
        self._tail = data[-TAIL_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        """It never should be, before this process is ended."""
        print("a stream has ended", file=sys.stderr, flush=True)


async def _listen(host: str, port: int, size: int, request: bytes) -> None:
    audience, places = Audience(size), asyncio.Semaphore(AT_ONCE)

    async def begin() -> asyncio.BaseTransport:
        async with places:
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: Listener(audience, request), host, port
            )
            return transport

    transports = await asyncio.gather(*(begin() for _ in range(size)))
    gc.disable()  # a pause of this process would be taken for one of the server's
    await asyncio.Event().wait()
    del transports


if __name__ == "__main__":
    asyncio.run(_listen(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]).read_bytes()))
