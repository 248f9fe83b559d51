"""fastmcp with its tasks as a process beside ours, over its in-memory Docket or a Redis of Debian's."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
from benchmarks.rig import McpClient

from mcptasks_devcluster import pythonenvs
from mcptasks_devcluster.debian import ensure_packages
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.layout import free_port

TOOL: Final = "linger"
IN_MEMORY: Final = "memory://"
_ENVIRONMENT: Final = Path(__file__).parents[1] / "tests" / "clients" / "fastmcp_tasks"
_SERVER: Final = Path(__file__).with_name("fastmcp_server.py")


@asynccontextmanager
async def fastmcp(*, docket: str) -> AsyncIterator[tuple[McpClient, str]]:
    """A running server: a client of it, with one connection, and its URL. `docket`: the URL of its store."""
    python, port = pythonenvs.install(_ENVIRONMENT).python, free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    async with AsyncExitStack() as stack:
        await _process(stack, python, _SERVER, port, docket)
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)))
        client = McpClient(session, url)
        await eventually(lambda: _answers(client), what="fastmcp answers", timeout_seconds=60)
        yield client, url


@asynccontextmanager
async def redis() -> AsyncIterator[str]:
    """A Redis that keeps nothing on disk; its URL."""
    ensure_packages({"redis-server": "/usr/bin/redis-server"}, purpose="the comparison with fastmcp over Redis")
    port = free_port()
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        flags = ("--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory)
        await _process(stack, "redis-server", *flags)
        await eventually(lambda: _is_open(port), what="Redis listens")
        yield f"redis://127.0.0.1:{port}/0"


async def _process(stack: AsyncExitStack, *command: Any) -> None:
    process = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.DEVNULL)

    async def end() -> None:
        process.terminate()
        await process.wait()

    stack.push_async_callback(end)


async def _answers(client: McpClient) -> bool:
    try:
        await client.request("tools/list", "")
    except (aiohttp.ClientError, RuntimeError):
        return False
    return True


async def _is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:
        return False
    writer.close()
    return True
