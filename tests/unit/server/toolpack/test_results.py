"""What a function gives, as its client gets it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import BaseModel
from structlog.testing import capture_logs

from mcptasks_server.errors import MissingCapabilityError, RpcError
from mcptasks_server.exchange import InputRequest, InputRequired, Result
from mcptasks_server.toolpack import ToolError, ToolPack

Call = Callable[..., Awaitable[Result]]
TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "data": "AA==", "mimeType": "image/png"}


class Point(BaseModel):
    """A place."""

    x: int


def giving(value: Any, returns: Any = None, **options: Any) -> ToolPack:
    """A pack whose one tool gives a value."""
    pack = ToolPack("p")

    async def give() -> Any:
        return value

    give.__annotations__["return"] = returns
    pack.tool(**options)(give)
    return pack


def raising(error: BaseException, *, is_sync: bool = False) -> ToolPack:
    """A pack whose one tool raises an error."""
    pack = ToolPack("p")

    async def fail() -> None:
        raise error

    def fail_in_a_thread() -> None:
        raise error

    pack.tool(name="fail")(fail_in_a_thread if is_sync else fail)
    return pack


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, {"content": []}),
        ("hi", {"content": [TEXT]}),
        (1.0, {"content": [{"type": "text", "text": "1.0"}]}),
        ([1, None], {"content": [{"type": "text", "text": "[1,null]"}]}),
        ([], {"content": [{"type": "text", "text": "[]"}]}),
        (ImageContent(data="AA==", mime_type="image/png"), {"content": [IMAGE]}),
        (["hi", ImageContent(data="AA==", mime_type="image/png")], {"content": [TEXT, IMAGE]}),
        (Point(x=1), {"content": [{"type": "text", "text": '{"x":1}'}]}),
        (
            CallToolResult(content=[TextContent(text="hi")], structured_content={"a": 1}, is_error=True),
            {"content": [TEXT], "structuredContent": {"a": 1}, "isError": True},
        ),
    ],
)
async def test_each_kind_of_value_becomes_content(call: Call, value: Any, result: Result) -> None:
    assert await call(giving(value)) == result


@pytest.mark.parametrize(
    ("value", "returns", "structured", "text"),
    [
        (Point(x=1), Point, {"x": 1}, '{"x":1}'),
        ({"x": 1}, Point, {"x": 1}, '{"x":1}'),
        ({"é": [1, None]}, dict[str, Any], {"é": [1, None]}, '{"é":[1,null]}'),
    ],
)
async def test_an_object_is_structured_content_and_its_text(
    call: Call, value: Any, returns: Any, structured: Any, text: str
) -> None:
    result = await call(giving(value, returns))

    assert result == {"content": [{"type": "text", "text": text}], "structuredContent": structured}


@pytest.mark.parametrize(
    ("value", "returns", "options"),
    [
        ({"x": "secret"}, Point, {}),
        ("secret", dict[str, Any], {}),
        ({"x": "secret"}, None, {"output_schema": {"type": "object", "properties": {"x": {"type": "integer"}}}}),
        (CallToolResult(content=[], structured_content={"x": "secret"}), Point, {}),
        (CallToolResult(content=[]), Point, {}),
    ],
)
async def test_a_result_that_breaks_its_schema_is_an_error(
    call: Call, value: Any, returns: Any, options: dict[str, Any]
) -> None:
    with capture_logs() as logs:
        result = await call(giving(value, returns, **options))

    assert result["isError"] is True
    assert "gave a result that cannot be handed on" in result["content"][0]["text"]
    assert [log["function"] for log in logs] == ["tool pack p: give"]
    assert "secret" not in str(logs)


@pytest.mark.parametrize(
    ("value", "returns", "text"),
    [
        ({"n": 2**70, "x": 1.0}, dict[str, Any], '{"n":1180591620717411303424,"x":1.0}'),
        ({"n": float("nan")}, dict[str, Any], '{"n":null}'),
        (2**70, None, "1180591620717411303424"),
        (float("inf"), None, "null"),
        ("half \ud800", None, "half \ufffd"),
        (CallToolResult(content=[TextContent(text="hi")], structured_content={"n": 2**70}), None, "hi"),
    ],
)
async def test_each_value_arrives_as_far_as_json_has_it(call: Call, value: Any, returns: Any, text: str) -> None:
    assert (await call(giving(value, returns)))["content"][0]["text"] == text


@pytest.mark.parametrize("value", [object(), b"\xff", {"k": "\ud800"}, [{1, 2}, object()]])
async def test_what_json_cannot_say_is_an_error(call: Call, value: Any) -> None:
    with capture_logs() as logs:
        result = await call(giving(value))

    assert result["isError"] is True
    assert "the result holds what JSON cannot say" in result["content"][0]["text"]
    assert len(logs) == 1


async def test_an_error_result_needs_no_structured_content(call: Call) -> None:
    result = await call(giving(CallToolResult(content=[TextContent(text="hi")], is_error=True), Point))

    assert result == {"content": [TEXT], "isError": True}


async def test_a_tool_error_reaches_the_model_as_it_is(call: Call) -> None:
    result = await call(raising(ToolError("No such city", TextContent(text="hi"))))

    assert result == {"content": [{"type": "text", "text": "No such city"}, TEXT], "isError": True}


@pytest.mark.parametrize("is_sync", [True, False])
@pytest.mark.parametrize("error", [ValueError("password=hunter2"), SystemExit("hunter2"), StopIteration("hunter2")])
async def test_any_other_error_is_told_without_its_words(call: Call, error: BaseException, is_sync: bool) -> None:
    with capture_logs() as logs:
        result = await call(raising(error, is_sync=is_sync))

    assert result["isError"] is True
    assert "The tool fail failed unexpectedly" in result["content"][0]["text"]
    assert logs[0]["function"] == "tool pack p: fail"
    assert logs[0]["frames"]
    assert "hunter2" not in str(result) + str(logs)


@pytest.mark.parametrize(
    "error",
    [
        MissingCapabilityError({"sampling": {}}, why="w"),
        InputRequired({"k": InputRequest(method="roots/list")}, claims={}),
    ],
)
@pytest.mark.parametrize("is_sync", [True, False])
async def test_what_the_wire_must_say_passes_through(call: Call, error: Exception, is_sync: bool) -> None:
    with pytest.raises((RpcError, InputRequired)) as raised:
        await call(raising(error, is_sync=is_sync))

    assert raised.value is error


async def test_arguments_that_python_refuses_are_an_error_that_names_the_place(call: Call) -> None:
    pack = ToolPack("p")

    @pack.tool()
    async def square(point: Point) -> str:
        return str(point.x**2)

    result = await call(pack, point={"x": "secret"})

    assert result["isError"] is True
    assert "/point/x" in result["content"][0]["text"]
    assert "secret" not in result["content"][0]["text"]
