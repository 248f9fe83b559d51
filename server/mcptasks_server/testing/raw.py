"""A client without manners: a bare connection, of which a test reads what it wants and leaves when it wants."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from .wire import WITH_TASKS, Wire


@asynccontextmanager
async def connection(
    wire: Wire, *, receive_buffer: int = 0
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the endpoint. `receive_buffer`: of the kernel, in bytes; small for one that reads slowly."""
    url = urlsplit(wire.url)
    plain = socket.socket()
    if receive_buffer:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    plain.setblocking(False)
    await asyncio.get_running_loop().sock_connect(plain, (url.hostname, url.port))
    reader, writer = await asyncio.open_connection(sock=plain, limit=1024)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def posted(
    wire: Wire,
    method: str,
    params: Mapping[str, Any],
    *,
    capabilities: Mapping[str, Any] = WITH_TASKS,
    meta: Mapping[str, Any] | None = None,
) -> bytes:
    """A whole HTTP request, as a conforming client sends it."""
    body = wire.body_of(method, params, capabilities=capabilities, meta=meta).encode()
    headers = {**wire.headers_for(method, params), "Host": "localhost", "Content-Type": "application/json"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {urlsplit(wire.url).path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
