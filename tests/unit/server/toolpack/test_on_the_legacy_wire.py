"""Packs on the legacy wire: the same functions, in the older shapes."""

import pytest

from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.toolpack import Context, ToolPack

from .conftest import Serve

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

pack = ToolPack("library")
"""One of each."""


@pack.tool()
async def greet(context: Context) -> str:
    """Greets whoever is there."""
    answer = await context.elicit("name", "Who?", FORM)
    await context.log("info", "asked")
    return f"Hello {(answer.content or {}).get('name', 'nobody')}"


@pack.prompt()
async def personal(context: Context, anything: str = "") -> str:
    answer = await context.elicit("name", "Who?", FORM)
    return f"For {(answer.content or {})['name']}{anything}"


@pack.completion("personal", "anything")
def complete(typed: str) -> list[str]:
    return [typed + "!"]


@pack.resource("text://one")
def one() -> str:
    """The first."""
    return "One"


@pytest.fixture
async def client(serve: Serve) -> LegacyWire:
    """A legacy client of the library."""
    return await LegacyWire.connected(await serve(pack), capabilities=EVERYTHING)


async def test_what_packs_bring_is_declared(serve: Serve) -> None:
    with_packs, without = LegacyWire(await serve(pack)), LegacyWire(await serve())

    declared = (await with_packs.initialize({})).result["capabilities"]
    bare = (await without.initialize({})).result["capabilities"]

    assert {name: declared[name] for name in ("prompts", "resources", "completions", "logging")} == {
        "prompts": {},
        "resources": {"subscribe": True},
        "completions": {},
        "logging": {},
    }
    assert set(bare) == {"tools", "logging", "resources", "tasks"}
    assert bare["resources"] == {}  # tasks' own, to which nobody subscribes


@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("tools/list", "tools"),
    ],
)
async def test_lists_have_nothing_of_the_newer_wire(client: LegacyWire, method: str, member: str) -> None:
    assert (await client.call(method)).result.keys() == {member}


async def test_a_resource_is_read_and_may_be_subscribed_to(client: LegacyWire) -> None:
    read = (await client.call("resources/read", {"uri": "text://one"})).result

    assert read == {"contents": [{"uri": "text://one", "text": "One", "mimeType": "text/plain"}]}
    for method in ("resources/subscribe", "resources/unsubscribe"):
        assert (await client.call(method, {"uri": "text://one"})).result == {}


@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe", "resources/unsubscribe"])
async def test_an_unknown_resource_has_this_wires_own_code(client: LegacyWire, method: str) -> None:
    answer = await client.call(method, {"uri": "text://none"})

    assert answer.error == (200, -32002)
    assert answer.body["error"]["data"] == {"uri": "text://none"}


async def test_completion_is_the_same(client: LegacyWire) -> None:
    params = {"ref": {"type": "ref/prompt", "name": "personal"}, "argument": {"name": "anything", "value": "x"}}

    assert (await client.call("completion/complete", params)).result["completion"]["values"] == ["x!"]


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [("tools/call", {"name": "greet"}, "Hello Ann"), ("prompts/get", {"name": "personal"}, "For Ann")],
)
async def test_a_function_that_asks_is_answered_while_it_waits(
    client: LegacyWire, method: str, params: dict[str, str], expected: str
) -> None:
    async with client.stream(method, params) as stream:
        asked = await stream.until("elicitation/create")
        await client.respond(asked["id"], {"action": "accept", "content": {"name": "Ann"}})
        answer = await stream.answer()

    assert expected in answer.text
    assert "resultType" not in answer.result
    assert "serverInfo" not in answer.text
