"""The whole application over doubles, read by clients of both eras."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from mcptasks_crds.task import McpTask
from mcptasks_server.app import create_app, with_packs
from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.tasklogs import TaskLog, kept_log, no_log
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore
from mcptasks_server.testing.answers import Answer
from mcptasks_server.testing.contract import new_task
from mcptasks_server.testing.desk import CallersByHeader
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import Wire
from mcptasks_server.toolpack.packs import Packs

ANNA = Caller(name="anna")
NOT_FOUND = {"modern": -32602, "legacy": -32002}
"""Each era's own code."""


@dataclass(kw_only=True)
class Logs:
    """What pods have printed, by task."""

    printed: dict[str, TaskLog] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def read(self, task: McpTask) -> TaskLog:
        """The test's log."""
        self.asked.append(task.metadata.name)
        return self.printed.get(task.metadata.name) or kept_log(task) or no_log(task)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A client of one era."""

    era: str
    client: Wire | LegacyWire

    async def call(self, method: str, **params: Any) -> Answer:
        """Any method."""
        return await self.client.call(method, params)

    async def read(self, uri: str) -> dict[str, Any]:
        """The one content of a resource."""
        [content] = (await self.call("resources/read", uri=uri)).result["contents"]
        found: dict[str, Any] = content
        return found

    async def refusal(self, uri: str) -> dict[str, Any]:
        """The error by which a resource is not there."""
        answer = await self.call("resources/read", uri=uri)
        assert answer.error == (200, NOT_FOUND[self.era])
        found: dict[str, Any] = answer.body["error"]
        return found


@pytest.fixture
def store() -> InMemoryTaskStore:
    """Where the tasks are."""
    return InMemoryTaskStore(clock=lambda: datetime.now(UTC))


@pytest.fixture
def logs() -> Logs:
    """What pods have printed."""
    return Logs()


@pytest.fixture
def packs() -> Packs:
    """None; a test module may have some."""
    return Packs()


@pytest.fixture
async def wire(store: InMemoryTaskStore, logs: Logs, packs: Packs) -> AsyncIterator[Wire]:
    """A bare client without a name."""
    async with AsyncExitStack() as stack:
        app = create_app(
            with_packs(Services(catalogue=FixedCatalogue(), tasks=store, logs=logs), packs),
            callers=CallersByHeader("anna", "bert"),
            guards=Guards(),
            health=Health(ready=lambda: "", live=lambda: ""),
            metrics=Metrics(),
            max_body_bytes=100_000,
        )
        server = TestServer(app, host="127.0.0.1")
        await server.start_server(auto_decompress=False)
        stack.push_async_callback(server.close)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        yield Wire(session, str(server.make_url("/mcp")))


async def reader_of(wire: Wire, era: str, name: str) -> Reader:
    """A client of somebody's."""
    own = wire.as_caller(f"{name}-token")
    return Reader(era=era, client=own if era == "modern" else await LegacyWire.connected(own))


@pytest.fixture(params=["modern", "legacy"])
async def anna(wire: Wire, request: pytest.FixtureRequest) -> Reader:
    """Whose the task is."""
    return await reader_of(wire, request.param, "anna")


@pytest.fixture
async def bert(wire: Wire, anna: Reader) -> Reader:
    """Somebody else, of the same era."""
    return await reader_of(wire, anna.era, "bert")


@pytest.fixture
async def task_id(store: InMemoryTaskStore) -> str:
    """A task of anna's."""
    return (await store.create(new_task(), caller=ANNA)).metadata.name
