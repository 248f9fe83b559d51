"""Two callers on one server: neither sees, touches or hinders what is the other's, on either wire."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Final

import aiohttp
import pytest
from aiohttp import web

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.app import create_app
from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.contract import new_task, over, questions
from mcptasks_server.testing.desk import CallersByHeader
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.testing.raw import connection, posted
from mcptasks_server.testing.wire import WITH_FORMS, Wire

UNKNOWN: Final = "mt-" + "a" * 32
ACCEPT: Final = {"action": "accept", "content": {"yes": True}}


@pytest.fixture
def store() -> InMemoryTaskStore:
    """Where the tasks are."""
    return InMemoryTaskStore(clock=lambda: datetime.now(UTC))


@pytest.fixture
def app(store: InMemoryTaskStore, metrics: Metrics) -> web.Application:
    """Tools for everybody, for anna alone, and for a group that bert is in."""
    catalogue = FixedCatalogue(
        ready_tool("open"),
        ready_tool("annas", access={"callers": ["anna"]}),
        ready_tool("group", access={"groups": ["ops"]}, task_support="required"),
        ready_tool("nobodys", access={"callers": ["carl"]}),
    )
    return create_app(
        Services(catalogue=catalogue, tasks=store),
        callers=CallersByHeader("anna", "bert", groups={"bert": frozenset({"ops"})}),
        guards=Guards(),
        health=Health(ready=lambda: "", live=lambda: ""),
        metrics=metrics,
        max_body_bytes=300_000,
    )


@pytest.fixture
def anna(wire: Wire) -> Wire:
    """One caller."""
    return wire.as_caller("anna-token")


@pytest.fixture
def bert(wire: Wire) -> Wire:
    """Another one."""
    return wire.as_caller("bert-token")


@pytest.fixture
async def annas(store: InMemoryTaskStore) -> str:
    """A task of anna's that asks something."""
    task_id = (await store.create(new_task(), caller=Caller(name="anna"))).metadata.name
    await store.write_status(task_id, questions("q"))
    return task_id


@pytest.mark.requirement("tools/access", "cache/access-controls", "tools/unknown")
async def test_a_tool_that_is_not_for_a_caller_does_not_exist_for_it(anna: Wire, bert: Wire) -> None:
    seen = {}
    for name, wire in (("anna", anna), ("bert", bert)):
        listed = (await wire.call("tools/list")).result
        legacy = (await (await LegacyWire.connected(wire)).call("tools/list")).result
        assert listed["cacheScope"] == "private"
        seen[name] = {tool["name"] for tool in listed["tools"]} - {
            "task_get",
            "task_answer",
            "task_cancel",
            "task_list",
        }
        assert {tool["name"] for tool in legacy["tools"]} >= seen[name]
        assert "nobodys" not in {tool["name"] for tool in legacy["tools"]}

    refused = await bert.call("tools/call", {"name": "annas"})
    unknown = await bert.call("tools/call", {"name": "no-such"})
    old = await (await LegacyWire.connected(bert)).call("tools/call", {"name": "annas"})

    assert seen == {"anna": {"open", "annas"}, "bert": {"open", "group"}}
    assert refused.error == unknown.error == (200, -32602)
    assert refused.message.replace("annas", "no-such") == unknown.message
    assert old.body["error"]["message"].replace("annas", "no-such") == unknown.message


@pytest.mark.requirement("ext-tasks/auth-binding", "legacy-tasks/bound")
async def test_somebody_elses_task_is_answered_as_one_that_never_was(
    bert: Wire, store: InMemoryTaskStore, annas: str
) -> None:
    before = json.dumps(store.objects[annas], sort_keys=True)
    session = await LegacyWire.connected(bert, capabilities=EVERYTHING)
    for method, more in (
        ("tasks/get", {}),
        ("tasks/cancel", {}),
        ("tasks/update", {"inputResponses": {"q": ACCEPT}}),
    ):
        theirs, none = [
            await bert.call(method, {"taskId": task_id, **more}, capabilities=WITH_FORMS)
            for task_id in (annas, UNKNOWN)
        ]
        assert (theirs.error, theirs.body["error"]) == (none.error, none.body["error"])
    for method in ("tasks/get", "tasks/cancel", "tasks/result"):
        theirs, none = [await session.call(method, {"taskId": task_id}) for task_id in (annas, UNKNOWN)]
        assert (theirs.error, theirs.body["error"]) == (none.error, none.body["error"])
    answering = {"key": "q", "answer": {"yes": True}}
    for tool, arguments in (("task_get", {}), ("task_cancel", {}), ("task_answer", answering)):
        told = []
        for task_id in (annas, UNKNOWN):
            result = (
                await bert.call("tools/call", {"name": tool, "arguments": {"taskId": task_id, **arguments}})
            ).result
            told.append((result["isError"], result["content"][0]["text"].replace(task_id, "ID")))
        assert told[0] == told[1]

    assert json.dumps(store.objects[annas], sort_keys=True) == before


@pytest.mark.requirement("legacy-tasks/list-bound", "legacy-tasks/list-complete")
async def test_lists_show_a_callers_own_tasks_alone(anna: Wire, bert: Wire, annas: str) -> None:
    listed = {}
    for name, wire in (("anna", anna), ("bert", bert)):
        legacy = (await (await LegacyWire.connected(wire)).call("tasks/list")).result["tasks"]
        companion = (await wire.call("tools/call", {"name": "task_list"})).result["structuredContent"]["tasks"]
        listed[name] = [[task["taskId"] for task in tasks] for tasks in (legacy, companion)]

    assert listed == {"anna": [[annas], [annas]], "bert": [[], []]}


@pytest.mark.requirement("legacy/elicitation-bound", "legacy/session-secure")
async def test_a_session_is_of_no_use_to_another_caller(anna: Wire, bert: Wire) -> None:
    session = await LegacyWire.connected(anna)

    stolen = await session.elsewhere(bert).call("tools/list")
    own = await session.call("tools/list")

    assert stolen.status == 404
    assert "result" in own.body


@pytest.mark.requirement("ext-tasks/listen-ack-ids", "ext-tasks/auth-binding", "ext-tasks/no-progress-on-listen")
async def test_a_subscription_to_others_tasks_hears_nothing_of_them(
    bert: Wire, store: InMemoryTaskStore, annas: str
) -> None:
    mine = (await store.create(new_task(), caller=Caller(name="bert"))).metadata.name
    wanted = {"notifications": {"taskIds": [annas, mine, UNKNOWN, "", "../" + mine, mine.upper()]}}
    async with bert.stream("subscriptions/listen", wanted, meta={"progressToken": "t"}) as stream:
        acknowledged = await stream.until("notifications/subscriptions/acknowledged")
        progress = {"progress": 1, "total": 2, "podUID": "p"}
        for task_id in (annas, mine):
            await store.write_status(task_id, {"phase": "Running", "report": {"progress": progress}})
            await store.write_status(task_id, over())
        answer = await stream.answer()

    assert acknowledged["params"]["notifications"] == {"taskIds": [mine]}
    assert {each["params"]["taskId"] for each in answer.before[1:]} == {mine}
    assert {each["method"] for each in answer.before[1:]} == {"notifications/tasks"}
    assert annas not in json.dumps(answer.before)


@pytest.mark.requirement("ours/newest-wins")
async def test_a_listener_that_does_not_read_is_told_the_newest_of_each_task_and_every_end(
    bert: Wire, store: InMemoryTaskStore, metrics: Metrics
) -> None:
    ids = [(await store.create(new_task(), caller=Caller(name="bert"))).metadata.name for _ in range(3)]
    request = posted(bert, "subscriptions/listen", {"notifications": {"taskIds": ids}})
    request = request.replace(b"\r\n", b"\r\nAuthorization: Bearer bert-token\r\n", 1)
    changes = 3000
    async with connection(bert, receive_buffer=4096) as (reader, writer):
        writer.write(request)
        await reader.readuntil(b"acknowledged")
        for number in range(changes):
            for task_id in ids:
                await store.write_status(task_id, {"message": f"{number:05} " + "x" * 3000})
            await asyncio.sleep(0)
        for task_id in ids:
            await store.write_status(task_id, over())
        text = b""
        while b'"result":{"resultType":"complete"' not in text.rpartition(b"data: ")[2]:
            piece = await asyncio.wait_for(reader.read(65_536), 30)
            assert piece, "the stream ended without its result"
            text += piece

    told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith(b"data: {") and line.endswith(b"}")]
    ends = [each["params"]["taskId"] for each in told if each.get("params", {}).get("status") == "completed"]
    assert sorted(ends) == sorted(ids)
    assert len(told) < changes * len(ids)
    assert metrics.messages_replaced._value.get() > 0


@pytest.mark.requirement("ours/fair")
async def test_one_callers_many_open_streams_do_not_hold_up_another(
    anna: Wire, bert: Wire, store: InMemoryTaskStore, metrics: Metrics
) -> None:
    task_id = (await store.create(new_task(), caller=Caller(name="anna"))).metadata.name
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        crowd = Wire(session, anna.url).as_caller("anna-token")
        listening = [
            asyncio.create_task(crowd.call("subscriptions/listen", {"notifications": {"taskIds": [task_id]}}))
            for _ in range(200)
        ]

        async def all_listen() -> bool:
            return _open(metrics) == len(listening)

        await eventually(all_listen, what="all streams are open")
        shown = await bert.call("tools/list")
        await store.write_status(task_id, over())
        answers = await asyncio.gather(*listening)

    assert shown.status == 200
    assert all(answer.told("notifications/tasks")[-1]["status"] == "completed" for answer in answers)


def _open(metrics: Metrics) -> float:
    return sum(sample.value for metric in metrics.open_streams.collect() for sample in metric.samples)
