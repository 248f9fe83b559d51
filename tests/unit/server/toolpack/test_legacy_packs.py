"""Tools, prompts and resources of packs, on the legacy wire: what is asked is asked in the call's own stream."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcptasks_server.testing.answers import Answer
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.toolpack import BlockingContext, Context, ToolPack

from .conftest import Serve
from .test_wire_prompts_and_resources import pack as library
from .test_wire_tools_of_packs import ANSWERS
from .test_wire_tools_of_packs import pack as desk

waiting = ToolPack("waiting")


@waiting.tool()
def ask_in_a_thread(context: BlockingContext) -> str:
    """Asks the client's model."""
    return context.sample("k", "Why?", max_tokens=3).model


@waiting.tool()
async def refused(context: Context) -> str:
    """Asks the person."""
    return (await context.elicit("k", "Sure?", {"type": "object", "properties": {}})).action


@pytest.fixture
async def client(serve: Serve) -> LegacyWire:
    """A client of all packs that can be asked everything."""
    return await LegacyWire.connected(await serve(library, desk, waiting), capabilities=EVERYTHING)


async def call(client: LegacyWire, name: str, answers: Mapping[str, Any]) -> tuple[list[str], Answer]:
    """Call a tool, answering what it asks by method; the methods that were asked, and the answer."""
    asked: list[str] = []
    async with client.stream("tools/call", {"name": name, "arguments": {}}) as stream:
        while (message := await stream.next()) is not None and "method" in message:
            if "id" in message:
                asked.append(message["method"])
                await client.respond(message["id"], **answers[message["method"]])
        return asked, await stream.answer()


BY_METHOD: dict[str, Any] = {
    "elicitation/create": {"result": ANSWERS["name"]},
    "sampling/createMessage": {"result": ANSWERS["model"]},
    "roots/list": {"result": ANSWERS["roots"]},
}


async def test_capabilities_are_those_of_the_packs(serve: Serve) -> None:
    wire = await serve(library, desk)
    result = (await LegacyWire(wire).initialize({})).result

    assert {"prompts", "resources", "completions", "logging"} <= result["capabilities"].keys()


async def test_a_function_asks_in_its_stream_and_goes_on(client: LegacyWire) -> None:
    asked, answer = await call(client, "curious", BY_METHOD)

    assert sorted(asked) == sorted(BY_METHOD)
    assert answer.result["content"][0]["text"] == "ElicitResult, CreateMessageResultWithTools, ListRootsResult"


async def test_a_thread_is_answered_too(client: LegacyWire) -> None:
    _, answer = await call(client, "ask_in_a_thread", BY_METHOD)

    assert answer.result["content"][0]["text"] == "m"


async def test_a_form_that_the_client_cannot_show_counts_as_closed(client: LegacyWire) -> None:
    _, answer = await call(client, "refused", {"elicitation/create": {"error": {"code": -32603, "message": "no"}}})

    assert answer.result["content"][0]["text"] == "cancel"


async def test_a_client_that_cannot_sample_is_told_so(serve: Serve) -> None:
    client = await LegacyWire.connected(await serve(waiting), capabilities={})

    answer = await client.call("tools/call", {"name": "ask_in_a_thread", "arguments": {}})

    assert answer.status == 200
    assert "sampling" in answer.body["error"]["message"]


async def test_a_client_that_goes_away_has_not_cancelled_its_call(serve: Serve) -> None:
    pack, began, release, ended = ToolPack("p"), asyncio.Event(), asyncio.Event(), asyncio.Event()

    @pack.tool()
    async def wait() -> None:
        began.set()
        await release.wait()
        ended.set()

    client = await LegacyWire.connected(await serve(pack))
    running = asyncio.ensure_future(client.call("tools/call", {"name": "wait", "arguments": {}}))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await client.call("ping")  # the server has long seen that the connection is closed
    release.set()

    async with asyncio.timeout(5):
        await ended.wait()


async def test_prompts_and_resources_are_those_of_the_modern_wire(client: LegacyWire) -> None:
    prompts = (await client.call("prompts/list")).result
    prompt = (await client.call("prompts/get", {"name": "review", "arguments": {"code": "x"}})).result
    resources = (await client.call("resources/list")).result
    templates = (await client.call("resources/templates/list")).result
    contents = (await client.call("resources/read", {"uri": "books://a/1"})).result

    assert len(prompts["prompts"]) == 5
    assert prompt["messages"][0]["content"]["text"] == "Review 3 lines of x"
    assert (len(resources["resources"]), len(templates["resourceTemplates"])) == (3, 1 + 2)
    assert [each["text"] for each in contents["contents"]] == ["a", "a"]
    for result in (prompts, prompt, resources, templates, contents):
        assert not {"resultType", "ttlMs", "cacheScope"} & result.keys()


async def test_an_unknown_resource_has_this_wires_own_error(client: LegacyWire) -> None:
    answer = await client.call("resources/read", {"uri": "text://none"})

    assert (answer.status, answer.body["error"]["code"]) == (200, -32002)
    assert answer.body["error"]["data"] == {"uri": "text://none"}


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_a_subscription_to_what_never_changes_is_taken(client: LegacyWire, method: str) -> None:
    assert (await client.call(method, {"uri": "text://one"})).result == {}
    assert (await client.call(method, {"uri": "text://none"})).body["error"]["code"] == -32002


async def test_a_prompt_asks_in_its_stream_too(client: LegacyWire) -> None:
    async with client.stream("prompts/get", {"name": "personal"}) as stream:
        asked = await stream.next()
        assert asked is not None
        await client.respond(asked["id"], ANSWERS["name"])
        answer = await stream.answer()

    assert asked["method"] == "elicitation/create"
    assert answer.result["messages"][0]["content"]["text"] == "For Ann"
