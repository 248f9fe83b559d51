"""Tools of packs, on the modern wire."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from mcptasks_server.testing.wire import WITH_TASKS, Wire
from mcptasks_server.toolpack import Context, Elicitation, Roots, Sampling, ToolError, ToolPack
from mcptasks_server.toolpack.running import SWITCH_SECONDS, Runner

from .conftest import Serve, until

pytestmark = pytest.mark.requirement("ours/tool-packs")

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
EVERYTHING: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
ANSWERS: dict[str, Any] = {
    "name": {"action": "accept", "content": {"name": "Ann"}},
    "model": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "42"}},
    "roots": {"roots": [{"uri": "file:///home"}]},
}

pack = ToolPack("desk")
runs: list[str] = []


class Sum(BaseModel):
    """A sum."""

    total: int


@pack.tool()
def zeta_add(a: int, b: int = 1) -> Sum:
    """Adds."""
    return Sum(total=a + b)


@pack.tool()
async def fail() -> None:
    """Fails."""
    raise ToolError("No such city")


@pack.tool()
async def regional(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "none") -> str:
    """Takes a mirrored argument."""
    return region


@pack.tool()
async def talkative(context: Context) -> str:
    """Reports and logs."""
    for step in range(3):
        await context.progress(step, total=2)
    await context.log("info", {"k": "v"})
    return "done"


@pack.tool()
async def curious(context: Context) -> str:
    """Asks for everything at once."""
    runs.append("curious")
    answers = await context.ask(
        {
            "name": Elicitation(message="Who?", schema=FORM),
            "model": Sampling(messages="Why?", max_tokens=9),
            "roots": Roots(),
        }
    )
    return ", ".join(type(answer).__name__ for answer in answers.values())


@pack.tool()
async def patient(context: Context) -> str:
    """Asks twice."""
    first = await context.elicit("first", "First?", FORM)
    second = await context.elicit("second", "Second?", FORM)
    return f"{(first.content or {})['name']} {(second.content or {})['name']}"


async def call(wire: Wire, name: str, arguments: Any = None, **options: Any) -> dict[str, Any]:
    """A call's result."""
    params = {"name": name, "arguments": arguments or {}, **options.pop("more", {})}
    result: dict[str, Any] = (await wire.call("tools/call", params, **options)).result
    return result


@pytest.fixture
async def wire(serve: Serve) -> Wire:
    """A client of the pack."""
    return await serve(pack)


async def test_tools_are_listed_in_the_packs_own_order(wire: Wire) -> None:
    tools = (await wire.call("tools/list")).result["tools"]

    assert [tool["name"] for tool in tools] == ["zeta_add", "fail", "regional", "talkative", "curious", "patient"]
    assert tools[0]["outputSchema"] == {
        "type": "object",
        "description": "A sum.",
        "properties": {"total": {"type": "integer"}},
        "required": ["total"],
    }


async def test_a_call_is_answered_at_once_whatever_the_client_declares(wire: Wire) -> None:
    without: dict[str, Any] = {}
    for capabilities in (without, WITH_TASKS):
        result = await call(wire, "zeta_add", {"a": 2}, capabilities=capabilities)

        assert (result["resultType"], result["structuredContent"]) == ("complete", {"total": 3})
        assert result["content"] == [{"type": "text", "text": '{"total":3}'}]


@pytest.mark.parametrize("arguments", [{"a": "secret"}, {}, {"a": 1.5}])
async def test_arguments_are_checked_against_the_schema(wire: Wire, arguments: Any) -> None:
    result = await call(wire, "zeta_add", arguments)

    assert result["isError"] is True
    assert "Invalid arguments" in result["content"][0]["text"]


async def test_a_tool_error_is_a_result(wire: Wire) -> None:
    result = await call(wire, "fail")

    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "No such city"}]


async def test_a_mirrored_argument_must_stand_in_its_header(wire: Wire) -> None:
    params = {"name": "regional", "arguments": {"region": "eu"}}

    assert (await wire.call("tools/call", params)).error == (400, -32020)
    answer = await wire.call("tools/call", params, headers={"Mcp-Param-Region": "eu"})
    assert answer.result["content"][0]["text"] == "eu"


async def test_progress_and_log_messages_come_before_the_answer(wire: Wire) -> None:
    meta = {"progressToken": "t", "io.modelcontextprotocol/logLevel": "info"}
    answer = await wire.call("tools/call", {"name": "talkative"}, meta=meta)

    progress = answer.told("notifications/progress")
    assert [(each["progressToken"], each["progress"], each["total"]) for each in progress] == [
        ("t", 0, 2),
        ("t", 1, 2),
        ("t", 2, 2),
    ]
    assert answer.told("notifications/message") == [{"level": "info", "data": {"k": "v"}}]
    assert answer.result["content"][0]["text"] == "done"


async def test_what_the_client_wants_none_of_is_not_sent(wire: Wire) -> None:
    answer = await wire.call("tools/call", {"name": "talkative"})

    assert answer.told("notifications/progress") == answer.told("notifications/message") == []


async def test_a_function_that_asks_runs_again_with_the_answers(wire: Wire) -> None:
    runs.clear()
    asked = await call(wire, "curious", capabilities=EVERYTHING)
    more = {"requestState": asked["requestState"], "inputResponses": ANSWERS}
    result = await call(wire, "curious", capabilities=EVERYTHING, more=more)

    assert asked["resultType"] == "input_required"
    assert {key: each["method"] for key, each in asked["inputRequests"].items()} == {
        "name": "elicitation/create",
        "model": "sampling/createMessage",
        "roots": "roots/list",
    }
    assert result["content"][0]["text"] == "ElicitResult, CreateMessageResultWithTools, ListRootsResult"
    assert runs == ["curious", "curious"]


async def test_earlier_answers_come_back_with_each_round(wire: Wire) -> None:
    able: dict[str, Any] = {"elicitation": {}}
    first = await call(wire, "patient", capabilities=able)
    answer = {"first": {"action": "accept", "content": {"name": "a"}}}
    more = {"requestState": first["requestState"], "inputResponses": answer}
    second = await call(wire, "patient", capabilities=able, more=more)
    answer = {"second": {"action": "accept", "content": {"name": "b"}}}
    more = {"requestState": second["requestState"], "inputResponses": answer}
    third = await call(wire, "patient", capabilities=able, more=more)

    assert [list(each["inputRequests"]) for each in (first, second)] == [["first"], ["second"]]
    assert third["content"][0]["text"] == "a b"


async def test_a_client_that_cannot_be_asked_is_told_what_is_missing(wire: Wire) -> None:
    params = {"name": "curious"}
    answer = await wire.call("tools/call", params, capabilities={"elicitation": {}, "roots": {}})

    assert answer.error == (400, -32021)
    assert answer.body["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


@pytest.fixture
def quick_switching() -> Iterator[None]:
    """Threads that hand over the interpreter as the server's do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    yield
    sys.setswitchinterval(before)


@pytest.mark.requirement("ours/fair")
@pytest.mark.usefixtures("quick_switching")
async def test_a_poller_is_answered_while_ten_functions_spin(serve: Serve) -> None:
    spinning, release = ToolPack("spinning"), threading.Event()
    began: list[int] = []

    @spinning.tool(seconds=50)
    def spin() -> str:
        began.append(1)
        while not release.is_set():
            pass
        return "spun"

    @spinning.tool()
    async def look() -> str:
        return "looked"

    wire = await serve(spinning, runner=Runner(threads=8))
    calls = [asyncio.ensure_future(call(wire, "spin")) for _ in range(10)]
    try:
        await until(lambda: len(began) == 8, "all threads spin")
        for _ in range(10):
            assert (await call(wire, "look"))["content"][0]["text"] == "looked"
            assert len((await wire.call("tools/list")).result["tools"]) == 2
        assert len(began) == 8
    finally:
        release.set()

    assert {result["content"][0]["text"] for result in await asyncio.gather(*calls)} == {"spun"}
