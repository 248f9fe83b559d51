"""An HTTP proxy that sends each request to a replica drawn at random: a load balancer at its least helpful.

A request is tried at another replica only where no connection could be made, so nothing is ever sent twice. What a
client sees of a replica that dies is what it would see without the proxy. Requests of one legacy session go to one
replica, as behind a load balancer with client affinity, unless it is told to have none. It may be told to cut what is
silent for too long, as load balancers do.
"""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

SESSION_HEADER: Final = "Mcp-Session-Id"
Take = Callable[[bytes | None], None]
"""Is given each piece of an answer's body, then None, unless it was cut."""
Look = Callable[[bytes, CIMultiDictProxy[str], int, CIMultiDictProxy[str]], Take]
"""Is given a request's body and headers, and its answer's status and headers."""
_HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "content-length", "transfer-encoding", "upgrade"})
_NOT_OURS_TO_ADD: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


class Replica:
    """A replica as the proxy sees it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answered = 0
        """How many requests it has answered."""
        self.is_ready = True
        """Whether it is sent requests; as with a Service, one that has just started is not."""
        self._under_way = 0
        self._idle, self._open = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._open.set()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """For as long as it works on a request."""
        while not self._open.is_set():
            await self._open.wait()
        with self._counted():
            yield

    @asynccontextmanager
    async def between_requests(self) -> AsyncIterator[None]:
        """A moment in which it works on no request, and no new one reaches it.

        Whoever kills it then has cut no request in the middle: each that comes later finds no listener.
        """
        while not self._idle.is_set():
            await self._idle.wait()
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()


class SpreadingProxy:
    """A running proxy."""

    def __init__(
        self,
        replicas: Sequence[str],
        *,
        seed: int,
        session: aiohttp.ClientSession,
        has_affinity: bool = True,
        look: Look | None = None,
    ) -> None:
        self._has_affinity, self._look = has_affinity, look
        self.replicas = tuple(Replica(url) for url in replicas)
        self._random = random.Random(seed)  # noqa: S311  # drawn to be repeated, not to be secret
        self._session = session
        self.url = ""
        """Where it listens, as `http://127.0.0.1:PORT`."""
        self.refused = 0
        """How many requests met a replica that took no connection."""

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        replicas: Sequence[str],
        *,
        seed: int,
        has_affinity: bool = True,
        silence_seconds: float | None = None,
        look: Look | None = None,
    ) -> AsyncIterator["SpreadingProxy"]:
        """A proxy before servers of these addresses, such as `http://127.0.0.1:8081`.

        An answer of which nothing came for `silence_seconds` is cut. `look` is shown all that passes.
        """
        # A connection for each request: one that is kept may lead to a replica that died since.
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence_seconds)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False, timeout=timeout) as session:
            proxy = cls(replicas, seed=seed, session=session, has_affinity=has_affinity, look=look)
            app = web.Application(client_max_size=2**26)
            app.router.add_route("*", "/{path:.*}", proxy._handle)
            runner = web.AppRunner(
                app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5, auto_decompress=False
            )
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            proxy.url = "http://127.0.0.1:{1}".format(*runner.addresses[0][:2])
            try:
                yield proxy
            finally:
                await runner.cleanup()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        for replica in self._order(incoming):
            try:
                async with replica.request():
                    return await self._pass_on(incoming, body, replica)
            except aiohttp.ClientConnectorError:
                self.refused += 1
            except aiohttp.SocketTimeoutError:
                return web.Response(status=504, text="the replica said nothing for too long")
        return web.Response(status=502, text="no replica takes connections")

    def _order(self, incoming: web.Request) -> list[Replica]:
        """The replicas, in the order in which they are tried."""
        order = self._random.sample(self.replicas, len(self.replicas))
        if self._has_affinity and (session := incoming.headers.get(SESSION_HEADER)):
            first = self.replicas[hashlib.sha256(session.encode()).digest()[0] % len(order)]
            order.sort(key=lambda replica: replica is not first)
        return [replica for replica in order if replica.is_ready]

    async def _pass_on(self, incoming: web.Request, body: bytes, replica: Replica) -> web.StreamResponse:
        headers = CIMultiDict(
            (name, value) for name, value in incoming.headers.items() if name.lower() not in _HOP_BY_HOP
        )
        async with self._session.request(
            incoming.method,
            replica.url + incoming.raw_path,
            data=body or None,
            headers=headers,
            skip_auto_headers=_NOT_OURS_TO_ADD,
            allow_redirects=False,
        ) as answer:
            replica.answered += 1
            take = self._look(body, incoming.headers, answer.status, answer.headers) if self._look else _ignore
            return await _copy(incoming, answer, take)


def _ignore(_: bytes | None) -> None:
    """Look at nothing."""


async def _copy(incoming: web.Request, answer: aiohttp.ClientResponse, take: Take) -> web.StreamResponse:
    headers: Any = CIMultiDict(
        (name, value) for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP
    )
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(incoming)
    try:
        async for chunk in answer.content.iter_any():
            take(chunk)
            await response.write(chunk)
    except aiohttp.ClientError:
        # The replica died in the middle: so does the answer, or a client would take a part for the whole.
        assert incoming.transport is not None
        incoming.transport.abort()
        return response
    take(None)
    await response.write_eof()
    return response
