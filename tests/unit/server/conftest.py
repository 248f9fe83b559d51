"""The whole application over doubles, on a loopback port, and a bare client of it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mcptasks_crds.policy import TaskSupport
from mcptasks_server.app import create_app
from mcptasks_server.caller import NoAuthentication
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.wire import Wire

MAX_BODY: Final = 300 * 1024

ADD_SCHEMA: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": ["integer", "null"]}},
    "required": ["a"],
    "x-unknown-keyword": {"$comment": "kept"},
}
REGION_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "size": {"type": "integer", "x-mcp-header": "Size"},
    },
}


@pytest.fixture
def catalogue() -> FixedCatalogue:
    """Three tools that only run as tasks."""
    required = TaskSupport.REQUIRED
    return FixedCatalogue(
        ready_tool("echo", task_support=required),
        ready_tool(
            "add",
            input_schema=ADD_SCHEMA,
            title="Add",
            output_schema={"type": "object"},
            retention_seconds=600,
            task_support=required,
        ),
        ready_tool("regional", input_schema=REGION_SCHEMA, task_support=required),
    )


@pytest.fixture
def store() -> InMemoryTaskStore:
    """Where the tasks are."""
    return InMemoryTaskStore(clock=lambda: datetime.now(UTC))


@pytest.fixture
def metrics() -> Metrics:
    """What was counted."""
    return Metrics()


@pytest.fixture
def app(catalogue: FixedCatalogue, store: InMemoryTaskStore, metrics: Metrics) -> web.Application:
    """The application over the doubles."""
    return create_app(
        Services(catalogue=catalogue, tasks=store),
        callers=NoAuthentication(),
        guards=Guards(hosts=frozenset({"mcp.example.com"}), origins=frozenset({"https://app.example"})),
        health=Health(ready=lambda: "" if catalogue.is_known else "starting", live=lambda: ""),
        metrics=metrics,
        max_body_bytes=MAX_BODY,
    )


@pytest.fixture
async def wire(app: web.Application) -> AsyncIterator[Wire]:
    """A bare client of the running application."""
    server = TestServer(app, host="127.0.0.1")
    await server.start_server(auto_decompress=False)  # as the process does
    try:
        async with aiohttp.ClientSession() as session:
            yield Wire(session, str(server.make_url("/mcp")))
    finally:
        await server.close()
