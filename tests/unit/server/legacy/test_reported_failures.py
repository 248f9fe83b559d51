"""What people have reported of other servers, tried on this one (`tests/requirements/failures.yaml`)."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over, questions
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import WITH_TASKS, Wire

Replicas = tuple[Wire, Wire]

ASKABLE = {**WITH_TASKS, "elicitation": {}}
TEN_TERABYTES = 10 * 10**12
RESULT = '{"content":[{"type":"text","text":"7"}],"structuredContent":{"n":7}}'
RELATED = "io.modelcontextprotocol/related-task"


def ended(phase: Phase = Phase.COMPLETED) -> dict[str, Any]:
    """The status of a task that is over."""
    match phase:
        case Phase.COMPLETED:
            return over(phase) | {"result": {"inline": RESULT}}
        case Phase.FAILED:
            return over(phase) | {"error": {"code": -32603, "message": "no node", "reason": "NoNode"}}
        case _:
            return over(phase)


def newest(store: InMemoryTaskStore) -> str:
    """The id of the task that was made last."""
    return list(store.objects)[-1]


@asynccontextmanager
async def one_connection(url: str) -> AsyncIterator[tuple[Wire, list[object]]]:
    """A client with one connection, and a list that grows with each that it opens."""
    opened: list[object] = []

    async def note(*args: object) -> None:
        opened.append(args)

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(note)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1), trace_configs=[trace]) as session:
        yield Wire(session, url), opened


@pytest.mark.requirement("failures/f3-02")
async def test_what_one_request_declared_says_nothing_of_the_next_on_its_connection(
    replicas: Replicas, store: InMemoryTaskStore
) -> None:
    async with one_connection(replicas[0].url) as (wire, opened):
        declared = await wire.call("tools/call", {"name": "task-only"})
        refused = await wire.call("tools/call", {"name": "task-only"}, capabilities={})
        held = asyncio.create_task(wire.call("tools/call", {"name": "held"}, capabilities={}))
        await eventually(lambda: _has_created(store, 2), what="the held call has its task")
        await store.write_status(newest(store), ended())
        plain = await held

    assert declared.result["resultType"] == "task"
    assert refused.error == (400, -32021)
    assert plain.result["resultType"] == "complete"
    assert len(opened) == 1


async def _has_created(store: InMemoryTaskStore, count: int) -> bool:
    return len(store.created) == count


@pytest.mark.requirement("failures/f3-03", "failures/f3-12", "failures/f3-33")
@pytest.mark.parametrize("phase", [Phase.COMPLETED, Phase.FAILED, Phase.CANCELLED])
async def test_a_task_has_each_wires_own_shape_at_every_turn(
    phase: Phase, client: LegacyWire, replicas: Replicas, store: InMemoryTaskStore
) -> None:
    created = (await replicas[0].call("tools/call", {"name": "task-only"})).result
    nested = (await client.call("tools/call", {"name": "task-only", "task": {}})).result
    task_id = created["taskId"]
    modern, legacy = [created], [nested["task"]]

    for status in ({"phase": "Running"}, questions("q"), ended(phase)):
        await store.write_status(task_id, status)
        modern.append((await replicas[0].call("tasks/get", {"taskId": task_id}, capabilities=ASKABLE)).result)
        legacy.append((await client.call("tasks/get", {"taskId": task_id})).result)

    assert created["resultType"] == "task"
    assert [each["resultType"] for each in modern[1:]] == ["complete"] * 3
    assert [each["status"] for each in modern] == ["working", "working", "input_required", phase.lower()]
    assert [each["status"] for each in legacy] == [each["status"] for each in modern]
    assert "task" not in created
    for each in modern:
        assert {"ttlMs", "pollIntervalMs"} <= each.keys()
        assert not {"ttl", "pollInterval"} & each.keys()
        assert RELATED not in json.dumps(each)
    for each in legacy:
        assert {"ttl", "pollInterval"} <= each.keys()
        assert not {"ttlMs", "pollIntervalMs", "resultType", "inputRequests", "result", "error"} & each.keys()


@pytest.mark.requirement("failures/f3-07")
async def test_a_task_of_a_session_is_found_from_a_later_one_at_a_server_that_never_saw_the_first(
    client: LegacyWire, replicas: Replicas, store: InMemoryTaskStore
) -> None:
    ids = [(await client.call("tools/call", {"name": "long", "task": {}})).result["task"]["taskId"] for _ in range(2)]
    await store.write_status(ids[0], ended())

    later = await LegacyWire.connected(replicas[1])
    shown = await later.call("tasks/get", {"taskId": ids[0]})
    result = await later.call("tasks/result", {"taskId": ids[0]})
    cancelling = asyncio.create_task(later.call("tasks/cancel", {"taskId": ids[1]}))
    await eventually(lambda: _is_to_be_cancelled(store, ids[1]), what="the cancel is written")
    await store.write_status(ids[1], ended(Phase.CANCELLED))

    assert later.session_id != client.session_id
    assert shown.result["status"] == "completed"
    assert result.result["structuredContent"] == {"n": 7}
    assert (await cancelling).result["status"] == "cancelled"


async def _is_to_be_cancelled(store: InMemoryTaskStore, task_id: str) -> bool:
    return bool(store.objects[task_id]["spec"].get("cancelRequested"))


@pytest.mark.requirement("failures/f3-17")
async def test_nothing_is_compressed_and_boxes_in_between_are_told_not_to(
    replicas: Replicas, store: InMemoryTaskStore
) -> None:
    wanted = {"Accept-Encoding": "br, gzip, zstd"}
    plain = await replicas[0].call("tools/list", headers=wanted)
    token = {"progressToken": 1}
    async with replicas[0].stream(
        "tools/call", {"name": "held"}, capabilities={}, meta=token, headers=wanted
    ) as stream:
        await eventually(lambda: _has_created(store, 1), what="the call has its task")
        await store.write_status(newest(store), ended())
        streamed = await stream.answer()

    assert int(plain.headers["Content-Length"]) == len(plain.text.encode())
    assert streamed.headers["Content-Type"].startswith("text/event-stream")
    assert "no-transform" in streamed.headers["Cache-Control"]
    assert "no-cache" in streamed.headers["Cache-Control"]
    assert streamed.headers["X-Accel-Buffering"] == "no"
    for answer in (plain, streamed):
        assert "Content-Encoding" not in answer.headers


@pytest.mark.requirement("failures/f3-25")
async def test_a_hundred_tasks_of_each_wire_meet_no_error_at_replicas_drawn_for_each_request(
    replicas: Replicas, store: InMemoryTaskStore
) -> None:
    draw = random.Random(1)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        wires = [Wire(session, each.url) for each in replicas]

        async def legacy() -> None:
            client = await LegacyWire.connected(draw.choice(wires))
            task = {"name": "long", "task": {}}
            created = (await client.elsewhere(draw.choice(wires)).call("tools/call", task)).result["task"]
            named = {"taskId": created["taskId"]}
            assert (await client.elsewhere(draw.choice(wires)).call("tasks/get", named)).result["status"] == "working"
            await store.write_status(created["taskId"], ended())
            result = (await client.elsewhere(draw.choice(wires)).call("tasks/result", named)).result
            assert result["structuredContent"] == {"n": 7}

        async def modern() -> None:
            created = (await draw.choice(wires).call("tools/call", {"name": "long"})).result
            named = {"taskId": created["taskId"]}
            answers = named | {"inputResponses": {"q": {"action": "accept", "content": {"sure": True}}}}
            await store.write_status(created["taskId"], {"phase": "Running", **questions("q")})
            for method, params in (("tasks/update", answers), ("tasks/cancel", named)):
                acknowledged = (await draw.choice(wires).call(method, params)).result
                assert acknowledged.keys() <= {"resultType", "_meta"}
            assert (await draw.choice(wires).call("tasks/get", named)).result["status"] == "working"

        for _ in range(10):
            await asyncio.gather(*(each() for each in (legacy, modern) * 10))

    assert len(store.created) == 200


@pytest.mark.requirement("failures/f3-26")
async def test_a_session_outlives_its_server_and_a_stale_one_does_not_stand_in_the_way_of_a_new_one(
    client: LegacyWire, elsewhere: LegacyWire, replicas: Replicas
) -> None:
    body = LegacyWire.body_of("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
    body = body.replace('"clientInfo": {}', '"clientInfo": {"name": "test", "version": "1"}')
    stale = {**client.headers(), "Mcp-Session-Id": "stale"}

    anew = await replicas[0].post(body, headers=stale)
    deleted = await replicas[0].post(b"", headers=stale, verb="DELETE")

    assert (await elsewhere.call("tools/list")).status == 200
    assert anew.status == 200
    assert anew.headers["Mcp-Session-Id"] not in {"stale", client.session_id}
    assert deleted.status in {404, 405}


@pytest.mark.requirement("failures/f3-29")
async def test_a_length_beyond_all_bounds_is_refused_before_a_byte_is_read(replicas: Replicas) -> None:
    host, port = replicas[0].url.removeprefix("http://").removesuffix("/mcp").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {TEN_TERABYTES}\r\n\r\n".encode())
    async with asyncio.timeout(10):
        status = await reader.readline()
        answer = await reader.readuntil(b"}}")
    writer.close()

    assert status.split()[1] == b"413"
    assert b'"code":-32600' in answer


@pytest.mark.requirement("failures/f3-29")
async def test_a_large_id_within_the_limit_comes_back_whole(replicas: Replicas) -> None:
    large = "x" * 90_000

    assert (await replicas[0].call("server/discover", message_id=large)).body["id"] == large


@pytest.mark.requirement("failures/f3-31")
async def test_many_that_wait_for_a_task_which_cannot_start_hold_nobody_up_and_leave_nothing_behind(
    client: LegacyWire, replicas: Replicas, store: InMemoryTaskStore
) -> None:
    calls = [await client.call("tools/call", {"name": "long", "task": {}}) for _ in range(50)]
    ids = [each.result["task"]["taskId"] for each in calls]
    waiting = [asyncio.create_task(client.call("tasks/result", {"taskId": each})) for each in ids]

    async def all_wait() -> bool:
        return len(store.watches) == len(waiting)

    async def none_waits() -> bool:
        return len(store.watches) == 0

    await eventually(all_wait, what="all wait")
    assert (await client.call("ping")).result == {}
    assert (await replicas[0].call("tasks/get", {"taskId": ids[0]})).result["status"] == "working"
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await eventually(none_waits, what="nobody is waited for any more")
