"""An answer of a megabyte, by every way that clients have: refused with its key and the limit, nothing stored."""

import json
from typing import Any, Final

import pytest
from aiohttp import web

from mcptasks_crds.limits import ANSWER_STORED_BYTES, stored_bytes
from mcptasks_crds.questions import QuestionTime, ToolQuestion
from mcptasks_server.app import create_app
from mcptasks_server.caller import NoAuthentication
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import WITH_FORMS, Wire

pytestmark = pytest.mark.requirement("ours/limits-in-words")
FORM: Final = {"type": "object", "properties": {"why": {"type": "string"}}}
WHY: Final = ToolQuestion(
    key="why", message="Why?", requested_schema=FORM, when=QuestionTime.BEFORE_START, model_may_answer=True
)
EARLY: Final = WHY.model_copy(update={"when": QuestionTime.BEFORE_TASK})


def answer(size: int) -> dict[str, Any]:
    """An answer that takes so many bytes as stored, and is what was asked for."""
    empty = {"action": "accept", "content": {"why": ""}}
    room = size - stored_bytes(json.dumps(empty))
    return {"action": "accept", "content": {"why": "x" * room}}


MEGABYTE: Final = answer(1_000_000)
FITS: Final = answer(ANSWER_STORED_BYTES)
ONE_MORE: Final = answer(ANSWER_STORED_BYTES + 1)
TOO_LARGE: Final = "is larger than 16 KiB"


@pytest.fixture
def catalogue() -> FixedCatalogue:
    """A tool that asks before its start, and one that asks before there is a task."""
    return FixedCatalogue(ready_tool("late", questions=(WHY,)), ready_tool("early", questions=(EARLY,)))


@pytest.fixture
def app(catalogue: FixedCatalogue, store: InMemoryTaskStore) -> web.Application:
    """The application with the limits that it has by default."""
    return create_app(
        Services(catalogue=catalogue, tasks=store),
        callers=NoAuthentication(),
        guards=Guards(),
        health=Health(ready=lambda: "", live=lambda: ""),
        metrics=Metrics(),
        max_body_bytes=1_048_576,
    )


@pytest.fixture
async def task_id(wire: Wire) -> str:
    """A task that asks."""
    return str((await wire.call("tools/call", {"name": "late"}, capabilities=WITH_FORMS)).result["taskId"])


def stored(store: InMemoryTaskStore) -> list[Any]:
    return [document["spec"].get("answers", {}) for document in store.objects.values()]


@pytest.mark.parametrize("large", [MEGABYTE, ONE_MORE], ids=["a megabyte", "one byte more than there is room for"])
async def test_an_update_is_refused_with_its_key(
    wire: Wire, store: InMemoryTaskStore, task_id: str, large: dict[str, Any]
) -> None:
    said = await wire.call("tasks/update", {"taskId": task_id, "inputResponses": {"why": large}})

    assert said.error[1] == -32602
    assert "the answer to why is larger than 16 KiB" in said.message.replace('"', "").replace("`", "")
    assert stored(store) == [{}]


async def test_the_largest_answer_is_taken(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    said = await wire.call("tasks/update", {"taskId": task_id, "inputResponses": {"why": FITS}})

    assert "result" in said.body
    assert stored(store)[0].keys() == {"why"}


async def test_a_model_is_told_to_answer_shorter(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    arguments = {"taskId": task_id, "key": "why", "answer": MEGABYTE["content"]}
    said = await wire.call("tools/call", {"name": "task_answer", "arguments": arguments}, capabilities={})

    assert said.result["isError"] is True
    assert TOO_LARGE in said.result["content"][0]["text"]
    assert stored(store) == [{}]


async def test_a_retry_is_refused_and_makes_no_task(wire: Wire, store: InMemoryTaskStore) -> None:
    call = {"name": "early", "arguments": {}}
    state = (await wire.call("tools/call", call, capabilities=WITH_FORMS)).result["requestState"]
    retry = {**call, "inputResponses": {"why": MEGABYTE}, "requestState": state}
    said = await wire.call("tools/call", retry, capabilities=WITH_FORMS)

    assert said.error[1] == -32602
    assert TOO_LARGE in said.message
    assert store.objects == {}


async def test_on_the_legacy_wire_it_is_refused_and_asked_again(wire: Wire, store: InMemoryTaskStore) -> None:
    client = await LegacyWire.connected(wire, capabilities={"elicitation": {}})
    async with client.stream("tools/call", {"name": "late", "arguments": {}}) as stream:
        asked = await stream.until("elicitation/create")
        refused = await client.respond(asked["id"], MEGABYTE)
        again = await stream.until("elicitation/create")

        assert TOO_LARGE in refused.text
        assert stored(store) == [{}]
        assert (await client.respond(again["id"], FITS)).status == 202
    assert stored(store)[0].keys() == {"why"}
