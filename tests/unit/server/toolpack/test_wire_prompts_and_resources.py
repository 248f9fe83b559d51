"""Prompts, resources and completion of packs, on the modern wire."""

import base64
from typing import Annotated, Any

import pytest
from mcp_types import EmbeddedResource, GetPromptResult, PromptMessage, TextContent, TextResourceContents
from pydantic import Field

from mcptasks_server.testing.wire import Wire
from mcptasks_server.toolpack import Context, ResourceNotFoundError, ToolError, ToolPack

from .conftest import Serve

pytestmark = pytest.mark.requirement("ours/tool-packs")

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


pack = ToolPack("library")
"""A bit of everything."""


@pack.prompt(title="Review")
def review(code: Annotated[str, Field(description="What to review")], lines: int = 3) -> str:
    """Asks for a review."""
    return f"Review {lines} lines of {code}"


@pack.completion("review", "code")
def complete_code(typed: str, known: dict[str, str]) -> list[str]:
    return [typed + str(number) for number in range(150)] if not known else [known["lines"]]


@pack.prompt()
async def dialogue() -> list[Any]:
    return [
        "Hello",
        PromptMessage(role="assistant", content=TextContent(text="Hi")),
        EmbeddedResource(resource=TextResourceContents(uri="x://1", text="one")),
    ]


@pack.prompt()
async def whole() -> GetPromptResult:
    return GetPromptResult(description="Whole", messages=[])


@pack.prompt()
async def personal(context: Context) -> str:
    answer = await context.elicit("name", "Who?", FORM)
    return f"For {(answer.content or {})['name']}"


@pack.prompt()
def broken(kind: str) -> str:
    raise ToolError("In words") if kind == "words" else ValueError("secret")


@pack.resource("text://one", mime_type="text/markdown")
def one() -> str:
    """The first."""
    return "# One"


@pack.resource("bytes://two")
async def two() -> bytes:
    return b"\x00\x01"


@pack.resource("json://three")
async def three() -> dict[str, int]:
    return {"n": 3}


@pack.resource_template("books://{shelf}/{number}", mime_type="text/plain")
def book(shelf: str, number: int) -> list[TextResourceContents]:
    if number > 9:
        raise ResourceNotFoundError(f"books://{shelf}/{number}")
    return [TextResourceContents(uri=f"books://{shelf}/{number}/{page}", text=shelf) for page in (1, 2)]


@pack.completion("books://{shelf}/{number}", "shelf")
async def complete_shelf(typed: str) -> list[str]:
    return [shelf for shelf in ("history", "poetry") if shelf.startswith(typed)]


@pytest.fixture
async def wire(serve: Serve) -> Wire:
    """A client of the library."""
    return await serve(pack)


async def test_prompts_are_listed_as_they_were_written(wire: Wire) -> None:
    result = (await wire.call("prompts/list")).result

    assert result["prompts"][0] == {
        "name": "review",
        "title": "Review",
        "description": "Asks for a review.",
        "arguments": [
            {"name": "code", "description": "What to review", "required": True},
            {"name": "lines", "required": False},
        ],
    }
    assert [prompt["name"] for prompt in result["prompts"]] == ["review", "dialogue", "whole", "personal", "broken"]
    assert "nextCursor" not in result
    assert (result["resultType"], result["cacheScope"], result["ttlMs"]) == ("complete", "private", 60_000)


async def test_a_prompt_is_made_of_its_arguments(wire: Wire) -> None:
    given = await wire.call("prompts/get", {"name": "review", "arguments": {"code": "x", "lines": "5"}})

    assert given.result["description"] == "Asks for a review."
    assert given.result["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Review 5 lines of x"}},
    ]


async def test_a_prompt_may_be_a_dialogue_or_a_whole_result(wire: Wire) -> None:
    dialogue = (await wire.call("prompts/get", {"name": "dialogue"})).result["messages"]
    whole = (await wire.call("prompts/get", {"name": "whole"})).result

    assert [(message["role"], message["content"]["type"]) for message in dialogue] == [
        ("user", "text"),
        ("assistant", "text"),
        ("user", "resource"),
    ]
    assert (whole["description"], whole["messages"]) == ("Whole", [])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "nowhere"}, "Unknown prompt"),
        ({"name": "review"}, "arguments/code"),
        ({"name": "review", "arguments": {"code": "x", "lines": "secret"}}, "arguments/lines"),
        ({"name": "review", "arguments": {"code": 1}}, "arguments/code"),
        ({"name": "review", "arguments": []}, "arguments"),
        ({}, "name"),
    ],
)
async def test_a_prompt_that_cannot_be_had_is_an_error_that_names_why(
    wire: Wire, params: dict[str, Any], words: str
) -> None:
    answer = await wire.call("prompts/get", params)

    assert answer.error == (200, -32602)
    assert words in answer.text
    assert "secret" not in answer.text


@pytest.mark.parametrize(("kind", "words"), [("words", "In words"), ("other", "Internal error")])
async def test_a_prompt_that_fails_is_an_error_without_secrets(wire: Wire, kind: str, words: str) -> None:
    answer = await wire.call("prompts/get", {"name": "broken", "arguments": {"kind": kind}})

    assert answer.error == (200, -32603)
    assert words in answer.text
    assert "secret" not in answer.text


async def test_a_prompt_may_ask_its_client_first(wire: Wire) -> None:
    able: dict[str, Any] = {"elicitation": {}}
    asked = (await wire.call("prompts/get", {"name": "personal"}, capabilities=able)).result
    retry = {
        "name": "personal",
        "requestState": asked["requestState"],
        "inputResponses": {"name": {"action": "accept", "content": {"name": "Ann"}}},
    }

    assert asked["resultType"] == "input_required"
    assert list(asked["inputRequests"]) == ["name"]
    assert (await wire.call("prompts/get", retry, capabilities=able)).result["messages"][0]["content"]["text"] == (
        "For Ann"
    )
    assert (await wire.call("prompts/get", {"name": "personal"}, capabilities={})).error == (400, -32021)


async def test_resources_and_templates_are_listed(wire: Wire) -> None:
    resources = (await wire.call("resources/list")).result
    templates = (await wire.call("resources/templates/list")).result

    assert resources["resources"] == [
        {"uri": "text://one", "name": "one", "description": "The first.", "mimeType": "text/markdown"},
        {"uri": "bytes://two", "name": "two"},
        {"uri": "json://three", "name": "three"},
    ]
    assert templates["resourceTemplates"][:-2] == [
        {"uriTemplate": "books://{shelf}/{number}", "name": "book", "mimeType": "text/plain"}
    ]
    for result in (resources, templates):
        assert (result["resultType"], result["cacheScope"]) == ("complete", "private")


@pytest.mark.parametrize(
    ("uri", "contents"),
    [
        ("text://one", {"uri": "text://one", "mimeType": "text/markdown", "text": "# One"}),
        (
            "bytes://two",
            {
                "uri": "bytes://two",
                "mimeType": "application/octet-stream",
                "blob": base64.b64encode(b"\x00\x01").decode(),
            },
        ),
        ("json://three", {"uri": "json://three", "mimeType": "application/json", "text": '{"n":3}'}),
        ("books://a%20b/1", {"uri": "books://a b/1/1", "text": "a b"}),
    ],
)
async def test_each_kind_of_resource_is_read(wire: Wire, uri: str, contents: dict[str, Any]) -> None:
    result = (await wire.call("resources/read", {"uri": uri})).result

    assert result["contents"][0] == contents
    assert (result["resultType"], result["cacheScope"], result["ttlMs"]) == ("complete", "private", 0)


@pytest.mark.parametrize("uri", ["text://two", "books://a/b/1", "books://a/x", "books://a/10", ""])
async def test_an_unknown_resource_is_an_error_that_names_it(wire: Wire, uri: str) -> None:
    answer = await wire.call("resources/read", {"uri": uri})

    assert answer.error == (200, -32602)
    assert answer.body["error"]["data"] == {"uri": uri}


async def test_an_argument_is_completed(wire: Wire) -> None:
    prompt, template = (
        {"type": "ref/prompt", "name": "review"},
        {
            "type": "ref/resource",
            "uri": "books://{shelf}/{number}",
        },
    )

    async def complete(ref: dict[str, str], name: str, value: str, **more: Any) -> Any:
        params = {"ref": ref, "argument": {"name": name, "value": value}, **more}
        return (await wire.call("completion/complete", params)).result["completion"]

    many = await complete(prompt, "code", "a")
    assert (many["values"][:2], len(many["values"]), many["total"], many["hasMore"]) == (["a0", "a1"], 100, 150, True)
    known = {"arguments": {"lines": "7"}}
    assert (await complete(prompt, "code", "a", context=known))["values"] == ["7"]
    assert await complete(template, "shelf", "p") == {"values": ["poetry"], "total": 1, "hasMore": False}
    assert await complete(template, "number", "p") == {"values": []}


@pytest.mark.parametrize(
    "ref", [{"type": "ref/prompt", "name": "none"}, {"type": "ref/resource", "uri": "text://one"}, {"type": "x"}]
)
async def test_completion_of_what_is_not_there_is_an_error(wire: Wire, ref: dict[str, str]) -> None:
    answer = await wire.call("completion/complete", {"ref": ref, "argument": {"name": "code", "value": ""}})

    assert answer.error == (200, -32602)


@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "resources/templates/list"])
async def test_a_cursor_that_was_never_given_is_refused(wire: Wire, method: str) -> None:
    assert (await wire.call(method, {"cursor": "abc"})).error == (200, -32602)


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_the_legacy_subscriptions_are_unknown_here(wire: Wire, method: str) -> None:
    assert (await wire.call(method, {"uri": "text://one"})).error == (404, -32601)


async def test_discovery_says_what_the_packs_have_and_no_more(serve: Serve, wire: Wire) -> None:
    bare = await serve(ToolPack("empty"))

    with_packs = (await wire.call("server/discover")).result["capabilities"]
    without = (await bare.call("server/discover")).result["capabilities"]

    assert {"prompts", "resources", "completions"} <= with_packs.keys()
    assert not {"prompts", "completions", "logging"} & without.keys()
    # Nothing of a pack changes while its process lives.
    assert (with_packs["prompts"], with_packs["resources"]) == ({}, {})


@pytest.mark.parametrize("method", ["prompts/list", "prompts/get", "completion/complete"])
async def test_what_no_pack_has_is_an_unknown_method(serve: Serve, method: str) -> None:
    bare = await serve(ToolPack("empty"))

    assert (await bare.call(method, {"name": "x"})).error == (404, -32601)
