"""The pods' way to the server's task endpoint, on which answers are lost, too."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 65536


@dataclass(kw_only=True)
class Relay:
    """Passes each connection on to a port of this machine, or breaks it where nothing listens there."""

    port: int
    losing: int = 0
    """So many answers more are lost: the request was done, and the pod that sent it does not know."""
    answers: int = 0
    """How many were not lost."""
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    @asynccontextmanager
    async def running(self, listener: socket.socket) -> AsyncIterator["Relay"]:
        """Pass on what comes to a listener, for as long as the context lasts."""
        server = await asyncio.start_server(self._pass, sock=listener)
        try:
            yield self
        finally:
            server.close()
            for writer in list(self._open):
                writer.close()
            await server.wait_closed()

    async def _pass(self, from_pod: asyncio.StreamReader, to_pod: asyncio.StreamWriter) -> None:
        with self._kept(to_pod), suppress(OSError):
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self.port)
            with self._kept(to_server):
                asking = asyncio.create_task(_copy(from_pod, to_server))
                try:
                    await self._answer(from_server, to_pod)
                finally:
                    asking.cancel()

    async def _answer(self, from_server: asyncio.StreamReader, to_pod: asyncio.StreamWriter) -> None:
        first = await from_server.read(_CHUNK)
        if first and self.losing:
            self.losing -= 1
            return
        self.answers += bool(first)
        to_pod.write(first)
        await _copy(from_server, to_pod)

    @contextmanager
    def _kept(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        self._open.add(writer)
        try:
            yield
        finally:
            self._open.discard(writer)
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while content := await reader.read(_CHUNK):
            writer.write(content)
            await writer.drain()
