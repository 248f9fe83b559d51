"""A plain HTTP proxy before an API server: counts the requests, and makes those fail, hang or lose their answer.

What a client sees of a bad day of the network can be had here at one named request, and so can a moment at which a
process is to be killed.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
from aiohttp import web
from kubernetes.aio import client

_HOP_BY_HOP: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request that came by."""

    method: str
    path: str
    is_watch: bool
    is_dry_run: bool


@dataclass(kw_only=True)
class Fault:
    """What happens to requests of a method whose path matches a pattern, so many times."""

    method: str
    path: str
    """A regular expression that is searched for in the path."""
    times: int = 1
    status: int | None = None
    """Answer with this status, and do not pass the request on."""
    headers: dict[str, str] = field(default_factory=dict)
    lose_answer: bool = False
    """Pass the request on, and close the connection in place of the answer."""
    hold_answer: bool = False
    """Pass the request on, and keep the answer back until `release` is set."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request met this fault (and was passed on, if it is to be)."""
    release: asyncio.Event = field(default_factory=asyncio.Event)

    def fits(self, request: Request) -> bool:
        """Whether the request is one of those."""
        plain = not request.is_watch and not request.is_dry_run
        return plain and self.times > 0 and request.method == self.method and bool(re.search(self.path, request.path))


class FaultProxy:
    """A running proxy."""

    def __init__(self, session: aiohttp.ClientSession, target: str) -> None:
        self._session = session
        self._target = target
        self.url = ""
        self.requests: list[Request] = []
        self.muted: str | None = None
        """A regular expression: the watches whose path it is found in go on, and bring nothing."""
        self.watch_delay_seconds = 0.0
        """How much later than the API server says it a watch that begins from now on brings it."""
        self._connections: set[asyncio.Transport] = set()
        self._is_cut = False
        self.faults: list[Fault] = []

    @classmethod
    @asynccontextmanager
    async def running(cls, configuration: client.Configuration) -> AsyncIterator["FaultProxy"]:
        """A proxy before the API server that a connection of ours leads to."""
        rest = client.ApiClient(configuration).rest_client
        connector = aiohttp.TCPConnector(ssl=rest.ssl_context, limit=0)
        token = await configuration.get_api_key_with_prefix("BearerToken")
        headers = {"Authorization": token} if token else {}
        async with aiohttp.ClientSession(connector=connector, headers=headers, auto_decompress=False) as session:
            proxy = cls(session, configuration.host)
            app = web.Application(client_max_size=2**26)
            app.router.add_route("*", "/{path:.*}", proxy._handle)
            runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            proxy.url = "http://127.0.0.1:{1}".format(*runner.addresses[0][:2])
            try:
                yield proxy
            finally:
                await runner.cleanup()

    def write_kubeconfig(self, path: Path) -> Path:
        """A kubeconfig that leads here."""
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: proxy\n"
            f"clusters: [{{name: proxy, cluster: {{server: '{self.url}'}}}}]\n"
            "users: [{name: proxy, user: {}}]\n"
            "contexts: [{name: proxy, context: {cluster: proxy, user: proxy}}]\n"
        )
        return path

    def add(self, fault: Fault) -> Fault:
        """Have something go wrong."""
        self.faults.append(fault)
        return fault

    def cut(self) -> None:
        """Break every connection, and each that is made from now on, as soon as it asks for something."""
        self._is_cut = True
        for connection in self._connections:
            connection.abort()

    def mend(self) -> None:
        """Let connections be as they should."""
        self._is_cut = False

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        assert isinstance(incoming.transport, asyncio.Transport)
        if self._is_cut:
            incoming.transport.abort()
            return web.Response()
        self._connections.add(incoming.transport)
        try:
            return await self._answer(incoming)
        finally:
            self._connections.discard(incoming.transport)

    async def _answer(self, incoming: web.Request) -> web.StreamResponse:
        request = Request(
            method=incoming.method,
            path=incoming.path,
            is_watch=incoming.query.get("watch") == "true",
            is_dry_run="dryRun" in incoming.query,
        )
        self.requests.append(request)
        fault = next((each for each in self.faults if each.fits(request)), None)
        if fault is not None:
            fault.times -= 1
            if fault.status is not None:
                fault.reached.set()
                return web.Response(status=fault.status, headers=fault.headers, text="a fault was asked for")
        headers = {name: value for name, value in incoming.headers.items() if name.lower() not in _HOP_BY_HOP}
        url = self._target + incoming.raw_path
        body = await incoming.read()
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.request(
            incoming.method, url, data=body or None, headers=headers, timeout=timeout
        ) as answer:
            if fault is not None:
                await self._spoil(fault, incoming)
            chunks: AsyncIterator[bytes] = answer.content.iter_any()
            if request.is_watch and self.watch_delay_seconds:
                chunks = _later(chunks, self.watch_delay_seconds)
            return await _pass_on(incoming, answer, chunks, is_heard=lambda: not self._is_mute(request))

    def _is_mute(self, request: Request) -> bool:
        return request.is_watch and self.muted is not None and re.search(self.muted, request.path) is not None

    @staticmethod
    async def _spoil(fault: Fault, incoming: web.Request) -> None:
        fault.reached.set()
        if fault.hold_answer:
            await fault.release.wait()
        if fault.lose_answer:
            assert incoming.transport is not None
            incoming.transport.abort()


async def _later(chunks: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    """The same chunks, each so much later: none waits for the one before it."""
    loop = asyncio.get_running_loop()
    on_the_way: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

    async def take() -> None:
        try:
            async for chunk in chunks:
                on_the_way.put_nowait((loop.time() + seconds, chunk))
        finally:
            on_the_way.put_nowait(None)

    taking = asyncio.create_task(take())
    try:
        while (next_one := await on_the_way.get()) is not None:
            due, chunk = next_one
            await asyncio.sleep(due - loop.time())
            yield chunk
        await taking
    finally:
        taking.cancel()


async def _pass_on(
    incoming: web.Request,
    answer: aiohttp.ClientResponse,
    chunks: AsyncIterator[bytes],
    *,
    is_heard: Callable[[], bool],
) -> web.StreamResponse:
    headers: dict[str, Any] = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
    response = web.StreamResponse(status=answer.status, headers=headers)
    try:
        await response.prepare(incoming)
        async for chunk in chunks:
            if is_heard():
                await response.write(chunk)
        await response.write_eof()
    except ConnectionError:  # whoever asked is gone, as after a lost answer or a kill
        pass
    return response
