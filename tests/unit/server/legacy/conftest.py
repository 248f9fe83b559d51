"""Two replicas over one store, with tools that run as Jobs and tools that run in the process, and legacy clients."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from mcptasks_crds.schemas import Schema
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.app import create_app
from mcptasks_server.caller import CallerPolicy, NoAuthentication
from mcptasks_server.catalogue import CombinedCatalogue
from mcptasks_server.dispatch import Services
from mcptasks_server.exchange import Exchange, InputRequest, Result
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.signing import Signer
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.testing.wire import Wire
from mcptasks_server.tools import InlineTool

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
ELICIT = InputRequest(method="elicitation/create", params={"mode": "form", "message": "Sure?", "requestedSchema": FORM})
SAMPLE = InputRequest(
    method="sampling/createMessage",
    params={"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 10},
)
ROOTS = InputRequest(method="roots/list")


def question(key: str) -> dict[str, Any]:
    """One that is asked before there is a task."""
    return {"key": key, "message": f"{key}?", "requestedSchema": FORM, "when": "beforeTask"}


@dataclass(kw_only=True)
class Inline:
    """What the inline tools do: as a test has it."""

    run: Callable[[Exchange, Mapping[str, Any]], Awaitable[Result]] | None = None
    ended: list[BaseException | None] = field(default_factory=list)
    """How each of their runs has ended."""

    async def __call__(self, exchange: Exchange, arguments: Mapping[str, Any]) -> Result:
        assert self.run is not None
        try:
            result = await self.run(exchange, arguments)
        except BaseException as error:
            self.ended.append(error)
            raise
        self.ended.append(None)
        return result


@pytest.fixture
def inline() -> Inline:
    """What the tool `inline` does."""
    return Inline()


@pytest.fixture
def store() -> InMemoryTaskStore:
    """Where the tasks of both replicas are."""
    return InMemoryTaskStore(clock=lambda: datetime.now(UTC))


@pytest.fixture
def callers() -> CallerPolicy:
    """Who calls."""
    return NoAuthentication()


@pytest.fixture
def stopping() -> asyncio.Event:
    """Set once the first replica is to end."""
    return asyncio.Event()


@pytest.fixture
async def replicas(
    store: InMemoryTaskStore, inline: Inline, callers: CallerPolicy, stopping: asyncio.Event
) -> AsyncIterator[tuple[Wire, Wire]]:
    """Bare clients of two replicas."""
    jobs = FixedCatalogue(
        ready_tool("long", output_schema=NUMBER),
        replace(ready_tool("short", output_schema=NUMBER), hold_seconds=0.05),
        ready_tool("held", without_tasks="hold"),
        ready_tool("task-only", task_support="required"),
        ready_tool("never-task", task_support="forbidden"),
        ready_tool("first", questions=[question("one"), question("two")]),
        replace(ready_tool("soon", questions=[question("one")]), hold_seconds=0.05),
        replace(ready_tool("later", questions=[question("one")]), hold_seconds=1.0),
        ready_tool("first-held", questions=[question("one")], without_tasks="hold"),
        ready_tool(
            "approved",
            questions=[{"key": "sure", "message": "Sure?", "requestedSchema": FORM, "when": "beforeStart"}],
        ),
    )
    schema = {"type": "object"}
    tool = InlineTool(
        name="inline",
        input_schema=schema,
        arguments=Schema(schema),
        mirrored=(),
        listed=b'{"name":"inline","description":"Does as the test says.","inputSchema":{"type":"object"}}',
        run=inline,
    )
    signer = Signer.ephemeral()
    async with AsyncExitStack() as stack:
        wires = []
        for ends in (stopping, asyncio.Event()):
            app = create_app(
                Services(catalogue=CombinedCatalogue(jobs, packs=(tool,)), tasks=store, signer=signer, stopping=ends),
                callers=callers,
                guards=Guards(origins=frozenset({"https://app.example"})),
                health=Health(ready=lambda: "", live=lambda: ""),
                metrics=Metrics(),
                max_body_bytes=100_000,
            )
            server = TestServer(app, host="127.0.0.1")
            await server.start_server(auto_decompress=False)  # as the process does
            stack.push_async_callback(server.close)
            session = await stack.enter_async_context(aiohttp.ClientSession())
            wires.append(Wire(session, str(server.make_url("/mcp"))))
        yield wires[0], wires[1]


@pytest.fixture
async def client(replicas: tuple[Wire, Wire]) -> LegacyWire:
    """A client of the first replica that can do all that a server may ask."""
    return await LegacyWire.connected(replicas[0], capabilities=EVERYTHING)


@pytest.fixture
def elsewhere(client: LegacyWire, replicas: tuple[Wire, Wire]) -> LegacyWire:
    """The same client at the second replica."""
    return client.elsewhere(replicas[1])


async def created(store: InMemoryTaskStore, *, count: int = 1) -> str:
    """The id of the newest task, once there are so many."""

    async def is_there() -> bool:
        return len(store.created) >= count

    await eventually(is_there, what="the task is created")
    return list(store.objects)[-1]


async def write(store: InMemoryTaskStore, task_id: str, **status: Any) -> None:
    """The operator's and the pod's hand."""
    await store.write_status(task_id, status)
