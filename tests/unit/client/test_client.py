"""The client library against a server double that is strict about the wire."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks import errors
from mcptasks.client import TasksClient
from mcptasks.handle import TaskHandle
from mcptasks.models import (
    CancelledTask,
    CompletedTask,
    FailedTask,
    InputRequired,
    InputRequiredTask,
    Status,
    Task,
    ToolResult,
)
from mcptasks.testing import MOMENT, FakeServer, FakeTask, FakeTool, completed, drop, state, tool_result, unavailable

WORKING = state("working", pollIntervalMs=400, statusMessage="running")
ASKING = state("input_required", inputRequests={"name": {"method": "elicitation/create", "params": {"message": "?"}}})


def test_a_result_is_handed_over_to_the_sdks_types() -> None:
    typed = ToolResult.model_validate(tool_result("hello", structuredContent={"a": 1})).typed()

    assert typed.structured_content == {"a": 1}
    assert typed.content[0].type == "text"


async def handle_of(client: TasksClient, server: FakeServer, *states: dict[str, Any], **members: Any) -> TaskHandle:
    server.tools["tool"] = FakeTool(states=states, **members)
    answer = await client.call_tool("tool")
    assert isinstance(answer, TaskHandle)
    return answer


async def test_the_server_says_what_it_can_do(client: TasksClient) -> None:
    discovery = await client.discover()

    assert discovery.supported_versions == ("2026-07-28",)
    assert discovery.has_extension("io.modelcontextprotocol/tasks")
    assert not discovery.has_extension("other")


async def test_tools_are_listed_over_all_pages() -> None:
    tools = {f"t{number}": FakeTool() for number in range(5)}
    async with FakeServer(tools, page_size=2) as server, TasksClient(server.url) as client:
        assert [tool.name for tool in await client.list_tools()] == ["t0", "t1", "t2", "t3", "t4"]
        assert [params.get("cursor") for params in server.params("tools/list")] == [None, "2", "4"]


async def test_a_list_that_goes_round_in_circles_is_an_error() -> None:
    async with FakeServer({"a": FakeTool(), "b": FakeTool()}, page_size=0) as server, TasksClient(server.url) as client:
        with pytest.raises(errors.ProtocolError, match="circles"):
            await client.list_tools()


async def test_tools_whose_header_annotations_are_wrong_are_not_offered(
    client: TasksClient, server: FakeServer
) -> None:
    server.tools["good"] = FakeTool()
    server.tools["bad"] = FakeTool(schema={"items": {"x-mcp-header": "A"}})

    assert [tool.name for tool in await client.list_tools()] == ["good"]


async def test_a_tool_may_answer_at_once(client: TasksClient, server: FakeServer) -> None:
    server.tools["greet"] = FakeTool(result=tool_result("hello", structuredContent={"n": 10**25}))

    answer = await client.call_tool("greet", {"name": "World"})

    assert isinstance(answer, ToolResult)
    assert (answer.text, answer.is_error, answer.structured_content) == ("hello", False, {"n": 10**25})
    assert server.params("tools/call")[0]["arguments"] == {"name": "World"}


async def test_a_block_of_a_kind_that_nobody_knows_yet_does_not_lose_the_result(
    client: TasksClient, server: FakeServer
) -> None:
    blocks = [{"type": "hologram", "data": "x"}, {"type": "text", "text": "t"}]
    server.tools["new"] = FakeTool(result={"resultType": "complete", "content": blocks})

    answer = await client.call_tool("new")

    assert isinstance(answer, ToolResult)
    assert list(answer.content) == blocks
    assert answer.text == "t"


async def test_progress_of_a_call_is_told_and_the_answer_comes_after_it(
    client: TasksClient, server: FakeServer
) -> None:
    steps: list[dict[str, Any]] = [{"progress": 1, "total": 2}, {"progress": 2, "total": 2, "message": "done"}]
    server.tools["slow"] = FakeTool(result=tool_result("end"), progress=steps)
    told: list[Any] = []

    answer = await client.call_tool("slow", on_progress=told.append)

    assert isinstance(answer, ToolResult)
    assert answer.text == "end"
    assert [step["progress"] for step in told] == [1, 2]


async def test_a_tool_that_asks_before_it_starts_is_neither_run_nor_a_task(
    client: TasksClient, server: FakeServer
) -> None:
    server.tools["ask"] = FakeTool(result={"resultType": "input_required", "inputRequests": {"k": {}}})

    answer = await client.call_tool("ask")

    assert isinstance(answer, InputRequired)
    assert set(answer.input_requests) == {"k"}


async def test_a_kind_of_result_that_is_not_known_is_an_error(client: TasksClient, server: FakeServer) -> None:
    server.tools["odd"] = FakeTool(result={"resultType": "riddle"})

    with pytest.raises(errors.ProtocolError, match="riddle"):
        await client.call_tool("odd")


async def test_headers_for_arguments_are_added_once_the_server_asks_for_them(
    client: TasksClient, server: FakeServer
) -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    server.tools["regional"] = FakeTool(schema=schema, result=tool_result("ok"))

    await client.call_tool("regional", {"region": "north"})
    await client.call_tool("regional", {"region": "south"})

    assert server.methods() == ["tools/call", "tools/list", "tools/call", "tools/call"]
    assert server.seen[-1].headers["Mcp-Param-Region"] == "south"


async def test_a_call_becomes_a_task_that_is_followed_to_its_end(client: TasksClient, server: FakeServer) -> None:
    handle = await handle_of(client, server, WORKING, WORKING, completed("done"))
    seen: list[Task] = []

    task = await handle.wait(on_update=seen.append)

    assert isinstance(task, CompletedTask)
    assert task.result.text == "done"
    assert task.created_at == datetime.fromisoformat(MOMENT).astimezone(UTC)
    assert [str(each.status) for each in seen] == ["working", "working", "completed"]


async def test_looks_come_quickly_at_first_and_then_as_the_server_says(
    client: TasksClient, server: FakeServer, clock: Any
) -> None:
    handle = await handle_of(client, server, *[WORKING] * 7, completed("done"))

    await handle.wait()

    assert clock.sleeps == [0.05, 0.1, 0.2, 0.4, 0.4, 0.4, 0.4]


async def test_an_interval_that_the_server_changes_counts_from_then_on(
    client: TasksClient, server: FakeServer, clock: Any
) -> None:
    slower = state("working", pollIntervalMs=5000)
    handle = await handle_of(client, server, *[WORKING] * 5, *[slower] * 5, completed("done"))

    await handle.wait()

    assert clock.sleeps[3:] == [0.4, 0.4, 1.6, 3.2, 5.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        pytest.param(state("failed", error={"code": -32603, "message": "no image"}), FailedTask, id="failed"),
        pytest.param(state("cancelled"), CancelledTask, id="cancelled"),
        pytest.param(completed("no", is_error=True), CompletedTask, id="tool error"),
    ],
)
async def test_every_end_is_an_end(
    client: TasksClient, server: FakeServer, end: dict[str, Any], kind: type[Task]
) -> None:
    task = await (await handle_of(client, server, end)).wait()

    assert type(task) is kind
    assert task.status.is_terminal


@pytest.mark.parametrize("broken", [pytest.param(drop, id="cut off"), pytest.param(unavailable, id="503")])
async def test_a_server_that_is_away_for_a_while_does_not_end_the_wait(
    client: TasksClient, server: FakeServer, broken: Any
) -> None:
    handle = await handle_of(client, server, completed("done"))
    server.broken = [broken] * 4

    task = await handle.wait()

    assert isinstance(task, CompletedTask)


async def test_a_server_that_says_when_to_come_back_is_left_alone_until_then(
    client: TasksClient, server: FakeServer, clock: Any
) -> None:
    handle = await handle_of(client, server, completed("done"))
    server.broken = [unavailable]

    await handle.wait()

    assert clock.sleeps == [7]


async def test_a_server_that_stays_away_ends_the_wait_when_patience_does(
    client: TasksClient, server: FakeServer, clock: Any
) -> None:
    handle = await handle_of(client, server, completed("done"))
    server.broken = [drop] * 1000

    with pytest.raises(errors.UnreachableError):
        await handle.wait()

    assert 60 <= sum(clock.sleeps) < 75


async def test_the_time_to_wait_may_be_over_before_the_task_is(
    client: TasksClient, server: FakeServer, clock: Any
) -> None:
    handle = await handle_of(client, server, WORKING)

    with pytest.raises(errors.NotFinishedError):
        await handle.wait(timeout_seconds=3)

    assert sum(clock.sleeps) == pytest.approx(3)


async def test_a_wait_without_time_looks_once(client: TasksClient, server: FakeServer) -> None:
    handle = await handle_of(client, server, completed("done"))

    assert isinstance(await handle.wait(timeout_seconds=0), CompletedTask)


async def test_a_question_ends_the_wait_until_it_is_answered(client: TasksClient, server: FakeServer) -> None:
    handle = await handle_of(client, server, ASKING, ASKING, ASKING, completed("done"))

    asking = await handle.wait()
    assert isinstance(asking, InputRequiredTask)
    await handle.answer({"name": {"action": "accept", "content": {"name": "Ada"}}})
    task = await handle.wait()

    # The server showed the question twice more after its answer; it was not asked again.
    assert isinstance(task, CompletedTask)
    assert server.tasks[handle.id].answers == {"name": {"action": "accept", "content": {"name": "Ada"}}}


async def test_a_cancelled_task_is_seen_as_such(client: TasksClient, server: FakeServer) -> None:
    handle = await handle_of(client, server, WORKING, WORKING, WORKING)

    await handle.cancel()

    assert isinstance(await handle.wait(), CancelledTask)


async def test_a_task_is_found_by_its_id_alone(client: TasksClient, server: FakeServer) -> None:
    server.tasks["mt-old"] = FakeTask(states=[completed("done")])

    assert (await client.task("mt-old").get()).status is Status.COMPLETED


@pytest.mark.parametrize("method", ["get_task", "cancel_task", "wait_for_task"])
async def test_an_unknown_task_is_told_from_other_refusals(client: TasksClient, method: str) -> None:
    with pytest.raises(errors.UnknownTaskError, match="not found"):
        await getattr(client, method)("mt-none")


async def test_a_call_without_an_answer_is_not_repeated(client: TasksClient, server: FakeServer) -> None:
    server.tools["tool"] = FakeTool(states=[WORKING])
    server.broken = [drop]

    with pytest.raises(errors.UnreachableError):
        await client.call_tool("tool")

    assert server.tasks == {}


async def test_nobody_there_is_said_plainly(unused_tcp_port: int) -> None:
    async with TasksClient(f"http://127.0.0.1:{unused_tcp_port}/mcp") as client:
        with pytest.raises(errors.UnreachableError, match="Connection refused"):
            await client.discover()


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1/", "http://", "http://[::1"])
async def test_an_address_that_is_none_is_said_plainly(url: str) -> None:
    with pytest.raises(errors.ProtocolError, match="not an HTTP address"):
        async with TasksClient(url) as client:
            await client.discover()


async def test_another_path_of_the_same_server_is_no_mcp(server: FakeServer) -> None:
    async with TasksClient(server.url.replace("/mcp", "/")) as client:
        with pytest.raises(errors.ProtocolError, match="HTTP 404"):
            await client.discover()


async def test_capabilities_are_declared_with_each_request_beside_the_tasks(server: FakeServer) -> None:
    async with TasksClient(server.url, capabilities={"elicitation": {}}, headers={"Authorization": "Bearer x"}) as it:
        await it.discover()

    meta = server.seen[0].params["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert meta == {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    assert server.seen[0].headers["Authorization"] == "Bearer x"


async def test_a_task_of_the_wrong_shape_is_an_error_and_no_guess(client: TasksClient, server: FakeServer) -> None:
    handle = await handle_of(client, server, state("completed"))

    with pytest.raises(errors.ProtocolError, match="result"):
        await handle.wait()


async def test_many_tasks_are_followed_at_once(client: TasksClient, server: FakeServer) -> None:
    handles = [await handle_of(client, server, WORKING, completed(str(number))) for number in range(20)]

    tasks = await asyncio.gather(*(handle.wait() for handle in handles))

    assert [task.result.text for task in tasks if isinstance(task, CompletedTask)] == [str(n) for n in range(20)]


async def test_arguments_reach_the_server_as_they_were_written(client: TasksClient, server: FakeServer) -> None:
    server.tools["tool"] = FakeTool(result=tool_result("ok"))

    await client.call_tool("tool", '{"big": 123456789012345678901234567890, "one": 1.0}')

    assert '"arguments": {"big": 123456789012345678901234567890, "one": 1.0}' in server.seen[0].text
    assert json.loads(server.seen[0].text)["params"]["name"] == "tool"
