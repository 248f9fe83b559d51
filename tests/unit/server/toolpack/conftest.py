"""Packs that tests write, called directly, or through the whole application."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import aiohttp
import orjson
import pytest
from aiohttp.test_utils import TestServer
from multidict import CIMultiDict

from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.app import create_app, with_packs
from mcptasks_server.caller import ANONYMOUS, NoAuthentication
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import MissingCapabilityError, RpcError
from mcptasks_server.exchange import Abilities, Exchange, InputRequest, Result
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.outbox import Outbox
from mcptasks_server.progress import ProgressLine
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore
from mcptasks_server.testing.wire import Wire
from mcptasks_server.toolpack import ToolPack
from mcptasks_server.toolpack.packs import packs_of
from mcptasks_server.toolpack.running import Runner

EVERYTHING = Abilities(elicitation=True, sampling=True, roots=True)


@dataclass(frozen=True, kw_only=True)
class ScriptedExchange(Exchange):
    """An exchange whose client gives the answers of a test, at once or when it says so."""

    answers: Mapping[str, Any] = field(default_factory=dict)
    asked: list[Mapping[str, InputRequest]] = field(default_factory=list)
    logged: list[tuple[str, Any]] = field(default_factory=list)
    answering: asyncio.Event = field(default_factory=asyncio.Event)
    """What a question waits for; set unless a test clears it."""

    async def ask(self, requests: Mapping[str, InputRequest]) -> Mapping[str, Any]:
        """The test's answers."""
        self.asked.append(requests)
        await self.answering.wait()
        return {key: self.answers[key] for key in requests}

    async def ask_for_task(self, task: McpTask, requests: Mapping[str, InputRequest]) -> None:
        """No function of a pack has a task."""
        raise AssertionError("a pack's function has no task")

    async def log(self, level: str, data: Any, *, logger: str | None = None) -> None:
        """Keep it."""
        self.logged.append((level, data))

    def handle(self, task: McpTask) -> Result:
        """No function of a pack has a task."""
        raise AssertionError("a pack's function has no task")

    def finished(self, text: str) -> Result:
        """Not needed."""
        raise AssertionError("a pack's function has no result text")

    def missing(self, required: Mapping[str, Any], *, why: str) -> RpcError:
        """The modern wire's."""
        return MissingCapabilityError(required, why=why)

    def refused_task(self, *, required: bool) -> RpcError:
        """Not needed."""
        raise AssertionError("a pack's function is no task")


def scripted(**members: Any) -> ScriptedExchange:
    """An exchange; `members` beside what each has."""
    outbox = Outbox()
    everywhere: dict[str, Any] = {
        "id": "1",
        "caller": ANONYMOUS,
        "abilities": EVERYTHING,
        "params": {},
        "sources": {},
        "headers": CIMultiDict[str](),
        "outbox": outbox,
        "progress": ProgressLine(outbox, token=None),
    }
    exchange = ScriptedExchange(**{**everywhere, **members})
    exchange.answering.set()
    return exchange


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait until something is so."""

    async def probe() -> bool:
        return bool(condition())

    await eventually(probe, what=what, timeout_seconds=10)


class Serve(Protocol):
    """Serves packs."""

    async def __call__(self, *packs: ToolPack, runner: Runner | None = None) -> Wire:
        """A client of the whole application with these packs, and no other tools."""
        ...


@pytest.fixture
def call() -> Callable[..., Awaitable[Result]]:
    """Calls the one tool of a pack: `await call(pack, exchange=..., runner=..., argument=...)`."""

    async def run(
        pack: ToolPack, *, exchange: ScriptedExchange | None = None, runner: Runner | None = None, **arguments: Any
    ) -> Result:
        (tool,) = packs_of([pack], runner=runner or Runner()).tools
        result: Result = orjson.loads(orjson.dumps(await tool.run(exchange or scripted(), arguments)))
        return result

    return run


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Serves packs until the test ends."""
    async with AsyncExitStack() as stack:

        async def start(*packs: ToolPack, runner: Runner | None = None) -> Wire:
            store = InMemoryTaskStore(clock=lambda: datetime.now(UTC))
            services = Services(catalogue=FixedCatalogue(), tasks=store)
            app = create_app(
                with_packs(services, packs_of(packs, runner=runner or Runner())),
                callers=NoAuthentication(),
                guards=Guards(),
                health=Health(ready=lambda: "", live=lambda: ""),
                metrics=Metrics(),
                max_body_bytes=100_000,
            )
            server = TestServer(app, host="127.0.0.1")
            await server.start_server(auto_decompress=False)
            stack.push_async_callback(server.close)
            session = await stack.enter_async_context(aiohttp.ClientSession())
            return Wire(session, str(server.make_url("/mcp")))

        yield start
