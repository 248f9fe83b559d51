"""A plain HTTP proxy before an API server: counts the requests, and makes those fail, hang or lose their answer.

What a client sees of a bad day of the network can be had here at one named request, for a while, or from now on; and so
can a moment at which a process is to be killed.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

import aiohttp
from aiohttp import web
from kubernetes.aio import client

from mcptasks_devcluster.faults import Fault, Request, error_event, status_object

__all__ = ["Fault", "FaultProxy", "Request"]

_HOP_BY_HOP: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_LONGEST_LINE: Final = 2**21
"""Of a watch, in bytes: more than the largest object."""


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
        self.delay_seconds = 0.0
        """How much longer than the API server needs all other requests take."""
        self.tokens: frozenset[str] | None = None
        """Bearer tokens that are taken; None: nobody is asked for one. All that is passed on bears the proxy's own."""
        self._connections: set[asyncio.Transport] = set()
        self._silent: WeakSet[asyncio.Transport] = WeakSet()
        self._watches: set[_Watch] = set()
        self.swallowed = 0
        """How many requests have got no answer because the connection was half open."""
        self._is_cut = False
        self._is_silent = False
        self.faults: list[Fault] = []

    @classmethod
    @asynccontextmanager
    async def running(cls, configuration: client.Configuration) -> AsyncIterator["FaultProxy"]:
        """A proxy before the API server that a connection of ours leads to."""
        rest = client.ApiClient(configuration).rest_client
        connector = aiohttp.TCPConnector(ssl=rest.ssl_context, limit=0)
        token = await configuration.get_api_key_with_prefix("BearerToken")
        headers = {"Authorization": token} if token else {}
        async with aiohttp.ClientSession(
            connector=connector, headers=headers, auto_decompress=False, read_bufsize=_LONGEST_LINE
        ) as session:
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

    def write_kubeconfig(self, path: Path, *, user: str = "{}") -> Path:
        """A kubeconfig that leads here; `user`: its credentials, as YAML."""
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: proxy\n"
            f"clusters: [{{name: proxy, cluster: {{server: '{self.url}'}}}}]\n"
            f"users: [{{name: proxy, user: {user}}}]\n"
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

    def silence(self) -> None:
        """Let every connection be half open: what is asked on it arrives nowhere, and nothing ever comes back.

        So with each that is made from now on; after `mend`, new ones are good again, and those stay as they are.
        """
        self._is_silent = True
        self._silent.update(self._connections)

    def mend(self) -> None:
        """Let connections that are made from now on be as they should."""
        self._is_cut = self._is_silent = False

    def cut_watches(self) -> None:
        """Break the watches that are open now."""
        for watch in self._watches:
            watch.connection.abort()

    def expire_watches(self) -> None:
        """End the watches that are open now with an event of 410: their versions are too old."""
        for watch in self._watches:
            watch.is_expired.set()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        connection = incoming.transport
        assert isinstance(connection, asyncio.Transport)
        if self._is_cut:
            connection.abort()
            return web.Response()
        if self._is_silent:
            self._silent.add(connection)
        if connection in self._silent:
            self.swallowed += 1
            return await _nothing()
        self._connections.add(connection)
        try:
            return await self._answer(incoming, connection)
        except (aiohttp.ClientError, OSError):  # the API server is away
            connection.abort()
            return web.Response()
        finally:
            self._connections.discard(connection)

    async def _answer(self, incoming: web.Request, connection: asyncio.Transport) -> web.StreamResponse:
        request = Request(
            method=incoming.method,
            path=incoming.path,
            is_watch=incoming.query.get("watch") == "true",
            is_dry_run="dryRun" in incoming.query,
        )
        self.requests.append(request)
        if self.tokens is not None and incoming.headers.get("Authorization", "")[7:] not in self.tokens:
            return _refusal(401)
        fault = next((each for each in self.faults if each.fits(request)), None)
        if fault is not None:
            fault.times -= 1
            if fault.status is not None:
                fault.reached.set()
                return _refusal(fault.status, fault.headers)
            if fault.break_off:
                fault.reached.set()
                connection.abort()
                return web.Response()
        if self.delay_seconds and not request.is_watch:
            await asyncio.sleep(self.delay_seconds)
        async with self._passed_on(incoming) as answer:
            if fault is not None:
                await _spoil(fault, connection)
            if not request.is_watch or answer.status != 200:
                return await _plain(incoming, answer, is_heard=connection not in self._silent)
            return await self._watched(incoming, answer, connection, request)

    @asynccontextmanager
    async def _passed_on(self, incoming: web.Request) -> AsyncIterator[aiohttp.ClientResponse]:
        left_out = _HOP_BY_HOP if self.tokens is None else _HOP_BY_HOP | {"authorization"}
        headers = {name: value for name, value in incoming.headers.items() if name.lower() not in left_out}
        url = self._target + incoming.raw_path
        body = await incoming.read()
        async with self._session.request(
            incoming.method, url, data=body or None, headers=headers, timeout=aiohttp.ClientTimeout(total=None)
        ) as answer:
            yield answer

    async def _watched(
        self, incoming: web.Request, answer: aiohttp.ClientResponse, connection: asyncio.Transport, request: Request
    ) -> web.StreamResponse:
        watch = _Watch(connection)
        lines: AsyncIterator[bytes] = aiter(answer.content)
        if self.watch_delay_seconds:
            lines = _later(lines, self.watch_delay_seconds)
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        self._watches.add(watch)
        try:
            await response.prepare(incoming)
            async with aclosing(_until(watch.is_expired, lines)) as heard:
                async for line in heard:
                    if connection in self._silent:
                        await _nothing()
                    if not self._is_mute(request):
                        await response.write(line)
            if watch.is_expired.is_set():
                await response.write(error_event(410))
            await response.write_eof()
        except ConnectionError:  # whoever asked is gone, as after a kill
            pass
        finally:
            self._watches.discard(watch)
        return response

    def _is_mute(self, request: Request) -> bool:
        return self.muted is not None and re.search(self.muted, request.path) is not None


class _Watch:
    """A watch that is open."""

    def __init__(self, connection: asyncio.Transport) -> None:
        self.connection = connection
        self.is_expired = asyncio.Event()


async def _nothing() -> web.StreamResponse:
    """No answer, until whoever asked gives up."""
    await asyncio.Event().wait()
    raise AssertionError("it is never set")


def _refusal(status: int, headers: dict[str, str] | None = None) -> web.Response:
    body = status_object(status)
    return web.Response(status=status, headers=headers, body=body, content_type="application/json")


async def _spoil(fault: Fault, connection: asyncio.Transport) -> None:
    fault.reached.set()
    if fault.hold_answer:
        await fault.release.wait()
    if fault.lose_answer:
        connection.abort()


async def _plain(incoming: web.Request, answer: aiohttp.ClientResponse, *, is_heard: bool) -> web.StreamResponse:
    if not is_heard:
        return await _nothing()
    response = web.StreamResponse(status=answer.status, headers=_headers(answer))
    try:
        await response.prepare(incoming)
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
        await response.write_eof()
    except ConnectionError:  # whoever asked is gone, as after a lost answer or a kill
        pass
    return response


async def _until(end: asyncio.Event, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The lines until there are no more, or the end has come."""
    ending = asyncio.create_task(end.wait())
    line: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            line = asyncio.ensure_future(anext(lines, None))
            await asyncio.wait({line, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not line.done() or (found := line.result()) is None:
                return
            yield found
    finally:
        left: list[asyncio.Future[Any]] = [ending] if line is None else [ending, line]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _later(lines: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    """The same lines, each so much later: none waits for the one before it."""
    loop = asyncio.get_running_loop()
    on_the_way: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

    async def take() -> None:
        try:
            async for line in lines:
                on_the_way.put_nowait((loop.time() + seconds, line))
        finally:
            on_the_way.put_nowait(None)

    taking = asyncio.create_task(take())
    try:
        while (next_one := await on_the_way.get()) is not None:
            due, line = next_one
            await asyncio.sleep(due - loop.time())
            yield line
        await taking
    finally:
        taking.cancel()


def _headers(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    return {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
