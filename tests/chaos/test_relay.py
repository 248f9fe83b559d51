"""The pods' way to the task endpoint passes everything on, but for the answers that it is to lose."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcptasks_chaos.relay import Relay


@asynccontextmanager
async def served(heard: list[bytes]) -> AsyncIterator[int]:
    """A server that answers each line with `done`; gives its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        writer.write(b"done\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def ask(listener: socket.socket, line: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(line)
    answer = await reader.read()
    writer.close()
    return answer


async def test_what_is_lost_was_done_and_the_next_is_answered() -> None:
    heard: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))
    async with served(heard) as port, Relay(port=port, losing=1).running(listener) as relay:
        answers = [await ask(listener, b"first\n"), await ask(listener, b"second\n")]

    assert heard == [b"first\n", b"second\n"]
    assert answers == [b"", b"done\n"]
    assert (relay.losing, relay.answers) == (0, 1)


async def test_where_nobody_listens_the_connection_ends() -> None:
    async with served([]) as port:
        pass
    listener = socket.create_server(("127.0.0.1", 0))
    async with Relay(port=port).running(listener):
        assert await ask(listener, b"first\n") == b""
