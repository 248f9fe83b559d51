"""Clients that connect all at once, before one of them is accepted."""

import socket
from contextlib import ExitStack
from pathlib import Path

from aiohttp import web

from mcptasks_server.__main__ import BACKLOG, listen

AT_ONCE = min(500, int(Path("/proc/sys/net/core/somaxconn").read_text()))


async def test_hundreds_connect_at_once_without_a_second_try() -> None:
    runner = await listen(web.Application(), host="127.0.0.1", port=0)
    try:
        with ExitStack() as stack:
            for _ in range(AT_ONCE):  # nothing is accepted meanwhile: this loop does not wait
                stack.enter_context(socket.create_connection(runner.addresses[0], timeout=0.5))
    finally:
        await runner.cleanup()

    assert BACKLOG > AT_ONCE
