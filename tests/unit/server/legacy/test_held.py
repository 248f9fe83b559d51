"""Plain calls of legacy clients that become tasks: held, asked, withdrawn from anywhere, not cut by a disconnect."""

import asyncio
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over, questions
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import Wire

from .conftest import created, write

ACCEPT = {"action": "accept", "content": {"yes": True}}


async def watched(store: InMemoryTaskStore) -> None:
    """Wait until somebody follows a task."""

    async def is_watched() -> bool:
        return len(store.watches) > 0

    await eventually(is_watched, what="the task is followed")


def is_cancelled(store: InMemoryTaskStore, task_id: str) -> bool:
    return bool(store.objects[task_id]["spec"].get("cancelRequested"))


@pytest.mark.requirement("legacy/json-or-stream", "legacy/stream-has-response")
async def test_a_plain_call_is_held_until_the_task_ends(client: LegacyWire, store: InMemoryTaskStore) -> None:
    calling = asyncio.create_task(client.call("tools/call", {"name": "held", "_meta": {"progressToken": 5}}))
    task_id = await created(store)
    await write(store, task_id, phase="Running", report={"progress": {"progress": 1, "total": 2}})
    await watched(store)
    await write(store, task_id, **over())
    answer = await calling

    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]
    assert "resultType" not in answer.result
    assert "_meta" not in answer.result
    assert {each["progressToken"] for each in answer.told("notifications/progress")} <= {5}


@pytest.mark.requirement("legacy/elicitation-bound")
async def test_a_held_calls_question_is_answered_at_the_other_replica(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    async with client.stream("tools/call", {"name": "held"}) as stream:
        task_id = await created(store)
        await write(store, task_id, **questions("one", "two"))
        asked = [await stream.until("elicitation/create") for _ in range(2)]
        for each in asked:
            assert (await elsewhere.respond(each["id"], ACCEPT)).status == 202
        await write(store, task_id, **over())
        answer = await stream.answer()

    assert set(store.objects[task_id]["spec"]["answers"]) == {"one", "two"}
    assert len(answer.told("elicitation/create")) == 2  # each is put once on one stream
    assert "_meta" not in asked[0]["params"]  # its client knows of no task


@pytest.mark.parametrize("way", [{}, {"task": {}}], ids=["plain", "task"])
async def test_an_approval_that_the_client_cannot_ask_for_is_told_and_nothing_is_created(
    replicas: tuple[Wire, Wire], store: InMemoryTaskStore, way: dict[str, Any]
) -> None:
    client = await LegacyWire.connected(replicas[0])  # without elicitation

    answer = await client.call("tools/call", {"name": "approved", **way})

    assert answer.error == (200, -32600)
    assert "elicitation" in answer.message
    assert answer.body["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}
    assert store.objects == {}


@pytest.mark.requirement("legacy/output-schema", "legacy/cancelled-not-for-tasks")
async def test_what_takes_long_is_answered_by_a_handle_that_conforms_and_is_not_cancelled_any_more(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    tools = {tool["name"]: tool for tool in (await client.call("tools/list")).result["tools"]}
    schema = Draft202012Validator(tools["short"]["outputSchema"])

    handle = (await client.call("tools/call", {"name": "short"}, message_id=7)).result
    await elsewhere.cancel(7)

    task_id = await created(store)
    schema.validate(handle["structuredContent"])
    assert handle["structuredContent"]["taskId"] == task_id
    assert "task_get" in handle["content"][0]["text"]
    assert store.objects[task_id]["spec"]["detached"]
    assert not is_cancelled(store, task_id)


@pytest.mark.requirement("legacy/output-schema")
async def test_a_result_in_time_conforms_to_the_listed_schema_too(client: LegacyWire, store: InMemoryTaskStore) -> None:
    tools = {tool["name"]: tool for tool in (await client.call("tools/list")).result["tools"]}
    calling = asyncio.create_task(client.call("tools/call", {"name": "long"}))
    await write(store, await created(store), **over())

    Draft202012Validator(tools["long"]["outputSchema"]).validate((await calling).result["structuredContent"])


@pytest.mark.requirement("legacy/cancelled")
@pytest.mark.parametrize("request_id", [7, "seven", 2**60])
async def test_a_held_call_is_withdrawn_at_the_other_replica(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore, request_id: Any
) -> None:
    async with client.stream("tools/call", {"name": "held"}, message_id=request_id) as stream:
        task_id = await created(store)
        await elsewhere.cancel(request_id)
        assert is_cancelled(store, task_id)
        await write(store, task_id, **over("Cancelled"))  # type: ignore[arg-type]
        answer = await stream.answer()

    assert answer.error == (200, -32603)


@pytest.mark.requirement("legacy/cancelled")
async def test_a_held_call_is_withdrawn_at_its_own_replica_and_gets_no_answer(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    async with client.stream("tools/call", {"name": "held"}, message_id=7) as stream:
        task_id = await created(store)
        await watched(store)
        await client.cancel(7)

        assert await stream.next() is None
    assert is_cancelled(store, task_id)


@pytest.mark.requirement("legacy/cancelled-races")
async def test_a_cancel_that_comes_before_its_task_cancels_it_all_the_same(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    await elsewhere.cancel(7)
    async with client.stream("tools/call", {"name": "held"}, message_id=7):
        task_id = await created(store)

    assert is_cancelled(store, task_id)


@pytest.mark.requirement("legacy/disconnect")
async def test_a_client_that_goes_away_leaves_its_task_alone(client: LegacyWire, store: InMemoryTaskStore) -> None:
    async with client.stream("tools/call", {"name": "held"}):
        task_id = await created(store)
        await watched(store)

    async def is_left() -> bool:
        return len(store.watches) == 0

    await eventually(is_left, what="the call is not followed any more")
    assert not is_cancelled(store, task_id)


async def test_clients_of_two_sessions_may_use_the_same_request_id(
    client: LegacyWire, replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    another = await LegacyWire.connected(replicas[1])
    async with (
        client.stream("tools/call", {"name": "held"}, message_id=1),
        another.stream("tools/call", {"name": "held"}, message_id=1),
    ):
        await created(store, count=2)
        await another.cancel(1)
        cancelled = [is_cancelled(store, task_id) for task_id in store.objects]

    assert sorted(cancelled) == [False, True]
