"""The modern endpoint with one method, `tools/call`, that does what a test says: for tests of the wire itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import web
from aiohttp.test_utils import TestServer

from mcptasks_server.caller import Caller, CallerPolicy, NoAuthentication
from mcptasks_server.dispatch import Method, Services
from mcptasks_server.errors import UnauthenticatedError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.guards import Guards
from mcptasks_server.headers import Headers
from mcptasks_server.http import PATH, McpEndpoint
from mcptasks_server.metrics import Metrics
from mcptasks_server.modern import ModernEra
from mcptasks_server.signing import Signer

from .catalogue import FixedCatalogue
from .store import InMemoryTaskStore

Work = Callable[[Exchange], Awaitable[Result]]
DONE: Final[Result] = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
MAX_BODY_BYTES: Final = 200_000


async def at_once(_: Exchange) -> Result:
    """Work that is done already."""
    return DONE


class Desk:
    """What each call does, and what became of it."""

    def __init__(self, *, callers: CallerPolicy | None = None, signer: Signer | None = None) -> None:
        self.work: Work = at_once
        self.metrics = Metrics()
        self.running = 0
        """Calls that are being worked on."""
        self.ended: list[str] = []
        """How each call ended: `done`, `cancelled` or the name of what it raised."""
        self.now = datetime.now(UTC)
        self.signer = signer or Signer.ephemeral()
        self._callers = callers or NoAuthentication()

    @property
    def open_streams(self) -> float:
        """Answers that are open streams."""
        return sum(sample.value for metric in self.metrics.open_streams.collect() for sample in metric.samples)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """A replica: the URL of an endpoint on a loopback port."""
        services = Services(
            catalogue=FixedCatalogue(),
            tasks=InMemoryTaskStore(clock=lambda: self.now),
            signer=self.signer,
            clock=lambda: self.now,
        )
        methods = {
            name: Method(run=self._run) for name in ("tools/call", "prompts/get", "resources/read", "tools/list")
        }
        era = ModernEra(services=services, methods=methods)
        endpoint = McpEndpoint(
            modern=era,
            legacy=era,
            callers=self._callers,
            guards=Guards(),
            max_body_bytes=MAX_BODY_BYTES,
            metrics=self.metrics,
        )
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", PATH, endpoint.handle)
        server = TestServer(app, host="127.0.0.1")
        await server.start_server(auto_decompress=False)
        try:
            yield str(server.make_url(PATH))
        finally:
            await server.close()

    async def _run(self, _: Services, exchange: Exchange) -> Result:
        self.running += 1
        how = "done"
        try:
            return await self.work(exchange)
        except asyncio.CancelledError:
            how = "cancelled"
            raise
        except Exception as error:
            how = type(error).__name__
            raise
        finally:
            self.running -= 1
            self.ended.append(how)


class CallersByHeader:
    """Whoever bears the token `anna-token` is anna, and so for each name given."""

    knows_callers: Final = True

    def __init__(self, *names: str, groups: Mapping[str, frozenset[str]] | None = None) -> None:
        self._callers = {
            f"{name}-token": Caller(name=name, groups=(groups or {}).get(name, frozenset())) for name in names
        }

    async def caller_of(self, headers: Headers) -> Caller:
        """The bearer of the token."""
        token: Any = headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self._callers:
            raise UnauthenticatedError("Authentication is required: send Authorization: Bearer <token>")
        return self._callers[token]
