"""Clients that leave: whatever stream they leave, at whatever point, nothing of them stays, and only what closing means
happens to their task."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.app import create_app
from mcptasks_server.caller import ANONYMOUS, NoAuthentication
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.contract import new_task, over
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.raw import connection, posted
from mcptasks_server.testing.wire import Wire

TOKEN: Final = {"progressToken": "t"}
PLAIN: Final[dict[str, Any]] = {}
POINTS: Final = ("at-once", "half-a-body", "first-byte", "first-event", "after-news")


@pytest.fixture
def services() -> Services:
    """What the application works with: a tool that is held until its end, and one that hands out a handle."""
    catalogue = FixedCatalogue(ready_tool("held", without_tasks="hold"), replace(ready_tool("soon"), hold_seconds=0.0))
    return Services(catalogue=catalogue, tasks=InMemoryTaskStore(clock=lambda: datetime.now(UTC)))


@pytest.fixture
def store(services: Services) -> InMemoryTaskStore:
    """Where the tasks are."""
    assert isinstance(services.tasks, InMemoryTaskStore)
    return services.tasks


@pytest.fixture
def app(services: Services, metrics: Metrics) -> web.Application:
    """The application."""
    return create_app(
        services,
        callers=NoAuthentication(),
        guards=Guards(),
        health=Health(ready=lambda: "", live=lambda: ""),
        metrics=metrics,
        max_body_bytes=300_000,
    )


async def held(wire: Wire, _: str) -> bytes:
    return posted(wire, "tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN)


async def listening(wire: Wire, task_id: str) -> bytes:
    return posted(wire, "subscriptions/listen", {"notifications": {"taskIds": [task_id], "toolsListChanged": True}})


async def companion(wire: Wire, task_id: str) -> bytes:
    params = {"name": "task_get", "arguments": {"taskId": task_id}}
    return posted(wire, "tools/call", params, capabilities=PLAIN, meta=TOKEN)


async def legacy(wire: Wire, method: str, params: dict[str, Any]) -> bytes:
    client = await LegacyWire.connected(wire)
    body = client.body_of(method, {"_meta": TOKEN, **params}).encode()
    headers = {**client.headers(), "Host": "localhost", "Content-Type": "application/json"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {urlsplit(wire.url).path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def legacy_held(wire: Wire, _: str) -> bytes:
    return await legacy(wire, "tools/call", {"name": "held"})


async def legacy_result(wire: Wire, task_id: str) -> bytes:
    return await legacy(wire, "tasks/result", {"taskId": task_id})


Request = Callable[[Wire, str], Awaitable[bytes]]
STREAMS: Final[dict[str, Request]] = {
    "held": held,
    "listen": listening,
    "companion": companion,
    "legacy-held": legacy_held,
    "legacy-result": legacy_result,
}


@pytest.fixture
def nothing_is_left(services: Services, store: InMemoryTaskStore, metrics: Metrics) -> Callable[[], Awaitable[bool]]:
    """Whether no watch, no stream, and nothing in the background is left."""

    async def probe() -> bool:
        streams = sum(sample.value for metric in metrics.open_streams.collect() for sample in metric.samples)
        return (len(store.watches), streams, len(services.background)) == (0, 0, 0)

    return probe


@pytest.mark.requirement("http/close-cancels", "http/silent-after-close", "cancel/races", "legacy/disconnect")
@pytest.mark.parametrize("abrupt", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("kind", STREAMS)
async def test_whoever_leaves_a_stream_leaves_nothing_behind(
    wire: Wire,
    store: InMemoryTaskStore,
    nothing_is_left: Callable[[], Awaitable[bool]],
    kind: str,
    point: str,
    *,
    abrupt: bool,
) -> None:
    known = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name
    request = await STREAMS[kind](wire, known)
    async with connection(wire) as (reader, writer):
        writer.write(request[:-20] if point == "half-a-body" else request)
        await writer.drain()
        match point:
            case "first-byte":
                await reader.readexactly(1)
            case "first-event":
                await reader.readuntil(b"data: ")
            case "after-news":
                await reader.readuntil(b"data: ")
                for task_id in list(store.objects):
                    await store.write_status(task_id, {"phase": "Running", "message": "news"})
                await reader.readuntil(b"data: ")
            case _:
                pass
        if abrupt:
            writer.transport.abort()

    await eventually(nothing_is_left, what="no watch, no stream, nothing in the background")
    cancelled = {name: document["spec"].get("cancelRequested", False) for name, document in store.objects.items()}
    assert cancelled.pop(known) is False
    if kind == "held":  # its request may have been cut before it was a task
        assert all(cancelled.values())
    else:
        assert not any(cancelled.values())
    assert (await wire.call("tools/list")).status == 200


@pytest.mark.requirement("ext-tasks/status-machine", "ours/fair")
async def test_a_crowd_that_leaves_at_random_leaves_nothing_behind(
    wire: Wire, store: InMemoryTaskStore, nothing_is_left: Callable[[], Awaitable[bool]]
) -> None:
    known = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name

    async def visit(number: int) -> None:
        request = await STREAMS[sorted(STREAMS)[number % len(STREAMS)]](wire, known)
        async with connection(wire) as (reader, writer):
            writer.write(request)
            await reader.readexactly(1 + number % 200)

    await asyncio.gather(*(visit(number) for number in range(60)))
    await store.write_status(known, over())

    await eventually(nothing_is_left, what="no watch, no stream, nothing in the background")
    assert (await wire.call("tasks/get", {"taskId": known})).result["status"] == "completed"
