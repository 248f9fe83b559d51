"""What an author's functions become: the list's entries, and errors for what cannot be served."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
import pytest
from mcp_types import ImageContent, Tool
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from mcptasks_server.toolpack import BlockingContext, Context, PackError, ToolPack
from mcptasks_server.toolpack.packs import packs_of
from mcptasks_server.toolpack.running import Runner


class Point(BaseModel):
    """A place."""

    x: int
    y: int = 0


@dataclasses.dataclass
class Line:
    """Two places."""

    start: Point
    end: Point


class Row(TypedDict):
    """A row."""

    n: int


class Node(BaseModel):
    """A tree."""

    children: "list[Node]" = []


def listed(pack: ToolPack) -> dict[str, Any]:
    """The one tool as it is listed; it must be one of MCP's."""
    (tool,) = packs_of([pack], runner=Runner()).tools
    document: dict[str, Any] = orjson.loads(tool.listed)
    Tool.model_validate(document)
    return document


def test_the_schema_comes_from_the_signature() -> None:
    pack = ToolPack("p")

    @pack.tool()
    def add(
        a: Annotated[int, Field(description="The first one", ge=0)],
        kind: Literal["sum", "mean"],
        context: BlockingContext,
        where: Point | None = None,
        *,
        schema: str = "none",
    ) -> str:
        """Adds two numbers.

        Rarely more.
        """
        return f"{a}{kind}{context}{where}{schema}"

    tool = listed(pack)

    assert tool["name"] == "add"
    assert tool["description"] == "Adds two numbers.\n\nRarely more."
    assert tool["inputSchema"] == {
        "type": "object",
        "$defs": {
            "Point": {
                "description": "A place.",
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"default": 0, "type": "integer"}},
                "required": ["x"],
            }
        },
        "properties": {
            "a": {"description": "The first one", "minimum": 0, "type": "integer"},
            "kind": {"enum": ["sum", "mean"], "type": "string"},
            "where": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}], "default": None},
            "schema": {"default": "none", "type": "string"},
        },
        "required": ["a", "kind"],
    }
    assert "outputSchema" not in tool


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    pack = ToolPack("p")

    @pack.tool()
    def now() -> str:
        return "now"

    tool = listed(pack)

    assert tool["inputSchema"] == {"type": "object", "properties": {}}
    assert tool["description"] == "now"


def test_the_decorators_give_the_function_back() -> None:
    pack = ToolPack("p")

    @pack.tool(title="Adds", annotations={"readOnlyHint": True}, icons=[{"src": "https://example.org/i.png"}])
    def add(a: int, b: int) -> int:
        return a + b

    tool = listed(pack)

    assert add(1, 2) == 3
    assert tool["title"] == "Adds"
    assert tool["annotations"] == {"readOnlyHint": True}
    assert tool["icons"] == [{"src": "https://example.org/i.png"}]


def test_an_input_schema_of_its_own_is_listed_byte_by_byte() -> None:
    pack = ToolPack("p")
    text = '{"type": "object",  "properties": {"n": {"const": 12345678901234567890123, "x": 1.0}}, "$comment": "a"}'

    @pack.tool(input_schema=text)
    def count(arguments: Mapping[str, Any]) -> str:
        return str(arguments)

    (tool,) = packs_of([pack], runner=Runner()).tools

    assert text.encode() in tool.listed


def test_a_schema_over_several_lines_is_listed_on_one() -> None:
    pack = ToolPack("p")

    @pack.tool(input_schema='{\n"type":\r\n"object"}')
    def count() -> str:
        return ""

    (tool,) = packs_of([pack], runner=Runner()).tools

    assert b"\n" not in tool.listed
    assert b"\r" not in tool.listed
    assert tool.input_schema == {"type": "object"}


def test_a_mirrored_argument_is_found() -> None:
    pack = ToolPack("p")

    @pack.tool()
    def here(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        return region

    (tool,) = packs_of([pack], runner=Runner()).tools

    assert [parameter.header for parameter in tool.mirrored] == ["Mcp-Param-Region"]


@pytest.mark.parametrize("kind", [Point, Line, Row, dict[str, int], dict])
def test_a_result_that_is_an_object_has_an_output_schema(kind: Any) -> None:
    pack = ToolPack("p")

    def give() -> Any:
        return {}

    give.__annotations__["return"] = kind
    pack.tool()(give)

    assert listed(pack)["outputSchema"]["type"] == "object"


def test_the_output_schema_of_a_recursive_type_says_object_at_its_top() -> None:
    pack = ToolPack("p")

    @pack.tool()
    def tree() -> Node:
        return Node()

    schema = listed(pack)["outputSchema"]

    assert (schema["type"], schema["$ref"]) == ("object", "#/$defs/Node")


@pytest.mark.parametrize("kind", [str, int, list[int], None, ImageContent, Point | None])
def test_any_other_result_has_none(kind: Any) -> None:
    pack = ToolPack("p")

    def give() -> Any:
        return None

    give.__annotations__["return"] = kind
    pack.tool()(give)

    assert "outputSchema" not in listed(pack)


def _takes_anything(*args: int) -> None: ...
def _takes_names(**names: int) -> None: ...
def _takes_positions(a: int, /) -> None: ...
def _takes_what_has_no_schema(a: object, b: Exception) -> None: ...
async def _takes_two(a: Context, b: Context) -> None: ...
def _sync_with_a_context(a: Context) -> None: ...
async def _async_with_a_blocking_context(a: BlockingContext) -> None: ...
def _with_two_parameters(a: int, b: int) -> None: ...
def _fine() -> None: ...


def _unresolved(a: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    ...


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (_takes_anything, {}, "parameter args has no name that a client could send"),
        (_takes_names, {}, "parameter names has no name that a client could send"),
        (_takes_positions, {}, "parameter a has no name that a client could send"),
        (_takes_what_has_no_schema, {}, "have no JSON Schema"),
        (_takes_two, {}, "it takes two contexts"),
        (_sync_with_a_context, {}, "a sync function takes a BlockingContext"),
        (_async_with_a_blocking_context, {}, "an async function takes a Context"),
        (_unresolved, {}, "cannot be resolved"),
        (_with_two_parameters, {"input_schema": {"type": "object"}}, "takes all arguments as one object"),
        (_fine, {"name": "a b"}, "a tool's name is"),
        (_fine, {"name": "task_get"}, "one of the server's own tools"),
        (_fine, {"input_schema": {"type": "string"}}, '"type": "object"'),
        (_fine, {"input_schema": "{"}, "is not JSON"),
        (_fine, {"input_schema": {"type": "object", "properties": 1}}, "input schema is not valid"),
        (_fine, {"input_schema": {"type": "object", "properties": {"a": {"x-mcp-header": "A"}}}}, "x-mcp-header"),
        (_fine, {"output_schema": {"type": "object", "required": 1}}, "output schema is not valid"),
        (_fine, {"seconds": 61}, "should be a task"),
        (_fine, {"seconds": 0}, "should be a task"),
        (_fine, {"annotations": {"readOnlyHint": "perhaps"}}, "annotations"),
        (_fine, {"icons": [{"href": "x"}]}, "icons"),
    ],
)
def test_what_cannot_be_served_is_refused_with_its_name(function: Any, options: dict[str, Any], words: str) -> None:
    pack = ToolPack("broken")

    with pytest.raises(PackError) as refused:
        pack.tool(**options)(function)

    assert words in str(refused.value)
    assert str(refused.value).startswith("tool pack broken: tool ")


def test_two_tools_of_one_name_are_refused() -> None:
    pack = ToolPack("p")
    pack.tool(name="same")(_fine)

    with pytest.raises(PackError, match="tool pack p: tool same: there are two of it"):
        pack.tool(name="same")(_fine)


def test_two_packs_with_a_tool_of_one_name_are_refused() -> None:
    one, other = ToolPack("one"), ToolPack("other")
    one.tool(name="same")(_fine)
    other.tool(name="same")(_fine)

    with pytest.raises(PackError, match="tool pack other: same: the tool pack one has one of this name too"):
        packs_of([one, other], runner=Runner())


def test_a_template_wants_its_variables_as_parameters() -> None:
    pack = ToolPack("p")

    with pytest.raises(PackError, match="must be the template's variables"):
        pack.resource_template("docs://{id}")(_with_two_parameters)
    with pytest.raises(PackError, match=r"only {name} and {\+name}"):
        pack.resource_template("docs://{?id}")(_fine)
    with pytest.raises(PackError, match="nobody could fill its parameters"):
        pack.resource("docs://1")(_with_two_parameters)


def test_a_completion_of_what_is_not_there_is_refused() -> None:
    pack = ToolPack("p")

    @pack.completion("nowhere", "a")
    def complete(typed: str) -> list[str]:
        return [typed]

    with pytest.raises(PackError, match="no such prompt or template"):
        packs_of([pack], runner=Runner())
