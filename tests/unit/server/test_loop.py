"""Nothing that a client or a tool can make large keeps the server's event loop to itself."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, Kind
from mcptasks_crds.policy import TaskSupport
from mcptasks_devcluster.holds import longest_hold
from mcptasks_server.app import create_app
from mcptasks_server.caller import NoAuthentication
from mcptasks_server.cluster.reflector import PAGE, Reflector
from mcptasks_server.cluster.seen_task import SeenTask, seen_task
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool

MOST_SECONDS: Final = 0.1
MIB: Final = 1024 * 1024
SHAPES: Final[dict[str, Any]] = {
    "a text": "x" * (MIB - 1000),
    "a text of escapes": '"\\\n' * (MIB // 8),
    "numbers": [1] * (MIB // 3 - 1000),
    "empty arrays": [[]] * (MIB // 4 - 1000),
    "empty objects": [{}] * (MIB // 4 - 1000),
    "small objects": [{"k": 1}] * (MIB // 10 - 1000),
    "many members": {f"k{number}": number for number in range(MIB // 18)},
}


@pytest.fixture
async def large(metrics: Metrics) -> AsyncIterator[str]:
    """The address of an application that takes bodies as large as it does by default."""
    catalogue = FixedCatalogue(ready_tool("echo", task_support=TaskSupport.REQUIRED))
    app = create_app(
        Services(catalogue=catalogue, tasks=InMemoryTaskStore(clock=lambda: datetime.now(UTC))),
        callers=NoAuthentication(),
        guards=Guards(hosts=frozenset({"mcp.example.com"}), origins=frozenset()),
        health=Health(ready=lambda: "", live=lambda: ""),
        metrics=metrics,
        max_body_bytes=MIB,
    )
    server = TestServer(app, host="127.0.0.1")
    await server.start_server(auto_decompress=False)
    try:
        yield str(server.make_url("/mcp"))
    finally:
        await server.close()


@pytest.mark.parametrize("shape", list(SHAPES))
async def test_a_body_of_1_mib_is_read_in_small_steps(large: str, shape: str) -> None:
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"a": SHAPES[shape]}},
        },
        separators=(",", ":"),
    ).encode()
    assert MIB / 2 < len(body) <= MIB

    with longest_hold() as hold:
        async with aiohttp.ClientSession() as session, session.post(large, data=body, headers=HEADERS) as answer:
            said = await answer.read()

    assert answer.status != 413, said[:500]
    assert hold.seconds < MOST_SECONDS, hold.by


HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "echo",
}


class Listing:
    """An API server that lists so many tasks, each with a result of the largest size."""

    def __init__(self, tasks: int) -> None:
        pages, self.number = tasks // int(PAGE), 0
        self.pages = [self.page(is_last=number == pages) for number in range(1, pages + 1)]

    async def list(self, kind: Kind, namespace: str, **query: str) -> Json:
        page: Json = json.loads(self.pages.pop(0))  # the reading is what takes the time
        return page

    def page(self, *, is_last: bool) -> bytes:
        items = [self.task() for _ in range(int(PAGE))]
        metadata = {"resourceVersion": "7"} | ({} if is_last else {"continue": "more"})
        return json.dumps({"metadata": metadata, "items": items}, ensure_ascii=False).encode()

    def task(self) -> Json:
        self.number += 1
        result = json.dumps({"content": [{"type": "text", "text": "é" * 40_000}]})
        return {
            "metadata": {"name": f"mt-{self.number:026}", "resourceVersion": str(self.number)},
            "spec": {"tool": {"name": "echo"}, "arguments": "{}"},
            "status": {
                "phase": "Completed",
                "reason": "Succeeded",
                "result": {"inline": result},
                "logTail": "x" * 65_536,
            },
        }


async def test_large_tasks_are_listed_in_small_steps(metrics: Metrics) -> None:
    kube: Any = Listing(200)
    reflector: Reflector[SeenTask] = Reflector(kube, TASKS, namespace="ns", parse=seen_task, metrics=metrics)

    with longest_hold() as hold:
        await reflector._list()

    assert len(reflector.cache) == 200
    assert hold.seconds < MOST_SECONDS, hold.by
