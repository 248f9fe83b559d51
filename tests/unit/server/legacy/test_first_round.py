"""What is asked before there is a task: on the call's own stream, and nothing is made until it is answered."""

import asyncio
import json
from typing import Any

import pytest

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.legacy_wire import LegacyWire

from .conftest import created, write

YES = {"action": "accept", "content": {"sure": True}}
NO = {"action": "decline"}
WAYS = pytest.mark.parametrize("way", [{}, {"task": {}}], ids=["plain", "task"])


def answers_of(store: InMemoryTaskStore, task_id: str) -> dict[str, Any]:
    answers = store.objects[task_id]["spec"].get("answers", {})
    return {key: json.loads(answer["response"]) for key, answer in answers.items()}


@WAYS
async def test_nothing_is_created_until_all_is_answered(
    client: LegacyWire, store: InMemoryTaskStore, way: dict[str, Any]
) -> None:
    async with client.stream("tools/call", {"name": "first", **way}) as stream:
        asked = {each["params"]["message"]: each for each in [await stream.until("elicitation/create") for _ in "12"]}
        assert store.objects == {}
        await client.respond(asked["one?"]["id"], YES)
        assert store.objects == {}
        await client.respond(asked["two?"]["id"], YES)
        task_id = await created(store)
        await write(store, task_id, **over())
        answer = await stream.answer()

    assert answers_of(store, task_id) == {"one": YES, "two": YES}
    assert {each["when"] for each in store.objects[task_id]["spec"]["questions"].values()} == {"beforeTask"}
    assert len(answer.told("elicitation/create")) == 2
    assert ("task" in answer.result) is bool(way)
    assert asked["one?"]["params"] == {
        "message": "one?",
        "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
    }


@WAYS
@pytest.mark.parametrize("answer", [NO, {"action": "cancel"}, None], ids=["decline", "cancel", "error"])
async def test_a_no_starts_nothing_and_takes_the_other_questions_back(
    client: LegacyWire, store: InMemoryTaskStore, way: dict[str, Any], answer: dict[str, Any] | None
) -> None:
    async with client.stream("tools/call", {"name": "first", **way}) as stream:
        first, second = [await stream.until("elicitation/create") for _ in "12"]
        await client.respond(first["id"], answer, error=None if answer else {"code": -1, "message": "no screen"})
        said = await stream.answer()
        assert (await client.respond(second["id"], YES)).status == 202

    assert said.result["isError"] is True
    assert "`one` was not accepted" in said.result["content"][0]["text"]
    assert [each["requestId"] for each in said.told("notifications/cancelled")] == [second["id"]]
    assert store.objects == {}


async def test_a_wrong_answer_is_refused_with_its_place_and_asked_for_again(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    async with client.stream("tools/call", {"name": "later"}) as stream:
        first = await stream.until("elicitation/create")
        refused = await client.respond(first["id"], {"action": "accept", "content": {"sure": "perhaps"}})
        again = await stream.until("elicitation/create")
        assert store.objects == {}
        await client.respond(again["id"], YES)
        await write(store, await created(store), **over())
        await stream.answer()

    assert refused.status == 400
    assert "/content/sure" in refused.text
    assert again["id"] != first["id"]


async def test_what_takes_a_person_longer_than_the_call_is_held_is_asked_by_the_task(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    async with client.stream("tools/call", {"name": "soon"}) as stream:
        asked = await stream.until("elicitation/create")
        answer = await stream.answer()

    task_id = await created(store)
    assert answer.result["structuredContent"]["taskId"] == task_id
    assert store.objects[task_id]["spec"]["questions"]["one"]["when"] == "beforeStart"
    assert len(answer.told("elicitation/create")) == 1
    assert (await elsewhere.respond(asked["id"], YES)).status == 202  # what was asked then is answered now, anywhere
    assert answers_of(store, task_id) == {"one": YES}


async def test_a_task_that_its_client_wants_takes_back_what_it_will_ask_itself(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    async with client.stream("tools/call", {"name": "soon", "task": {}}) as stream:
        asked = await stream.until("elicitation/create")
        answer = await stream.answer()

    assert answer.result["task"]["taskId"] == await created(store)
    assert [each["requestId"] for each in answer.told("notifications/cancelled")] == [asked["id"]]


async def test_an_answer_at_the_other_replica_is_kept_for_the_task(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    async with client.stream("tools/call", {"name": "later"}) as stream:
        asked = await stream.until("elicitation/create")
        assert (await elsewhere.respond(asked["id"], YES)).status == 202
        assert store.objects == {}
        task_id = await created(store)

        async def is_answered() -> bool:
            return answers_of(store, task_id) == {"one": YES}

        await eventually(is_answered, what="the task has the answer")
        await stream.answer()


async def test_a_replica_that_is_to_end_leaves_its_question_to_the_task(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore, stopping: asyncio.Event
) -> None:
    async with client.stream("tools/call", {"name": "first"}) as stream:
        first, second = [await stream.until("elicitation/create") for _ in "12"]
        await client.respond(first["id"], YES)
        stopping.set()
        answer = await stream.answer()

    task_id = await created(store)
    assert answer.result["structuredContent"]["taskId"] == task_id
    await elsewhere.respond(second["id"], YES)
    assert answers_of(store, task_id) == {"one": YES, "two": YES}


@pytest.mark.parametrize("withdrawn", [True, False])
async def test_a_call_that_is_gone_before_its_answer_leaves_nothing(
    client: LegacyWire, store: InMemoryTaskStore, withdrawn: bool
) -> None:
    async with client.stream("tools/call", {"name": "first-held"}, message_id=7) as stream:
        asked = await stream.until("elicitation/create")
        if withdrawn:
            await client.cancel(7)
            assert await stream.next() is None
    await client.call("ping")

    assert (await client.respond(asked["id"], YES)).status == 202
    assert store.objects == {}
