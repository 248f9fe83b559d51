"""Our client at a server that is not ours: the reference SDK's own, with tasks as an extension of it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolRequestParams, RequestParams
from pydantic import Field

from mcptasks import errors
from mcptasks.client import TasksClient
from mcptasks.handle import TaskHandle
from mcptasks.models import CancelledTask, CompletedTask, ToolResult
from mcptasks.testing import MOMENT
from mcptasks.wire import TASKS_EXTENSION


class TaskParams(RequestParams):
    """The parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str = Field(alias="taskId")


class Tasks(Extension):
    """Makes a task of each call of `slow`, over at the third look."""

    identifier = TASKS_EXTENSION

    def __init__(self) -> None:
        self.looks = 0
        self.cancelled = False

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("tasks/get", TaskParams, self.get),
            MethodBinding("tasks/cancel", TaskParams, self.cancel),
        ]

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        if params.name != "slow":
            return await call_next(ctx)
        return {"resultType": "task", **self.fields("working")}

    async def get(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> HandlerResult:
        self.looks += 1
        if self.cancelled:
            return {"resultType": "complete", **self.fields("cancelled")}
        if self.looks < 3:
            return {"resultType": "complete", **self.fields("working")}
        result = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}
        return {"resultType": "complete", **self.fields("completed"), "result": result}

    async def cancel(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> HandlerResult:
        self.cancelled = True
        return {"resultType": "complete"}

    @staticmethod
    def fields(status: str) -> dict[str, Any]:
        times = {"createdAt": MOMENT, "lastUpdatedAt": MOMENT}
        return {"taskId": "t-1", "status": status, "ttlMs": None, "pollIntervalMs": 10, **times}


def tools(server: MCPServer[Any]) -> None:
    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    async def count(to: int, ctx: Context[Any, Any]) -> str:
        """Count, and say so."""
        for number in range(1, to + 1):
            await ctx.report_progress(number, to)
        return "counted"

    @server.tool()
    def slow() -> str:
        """Becomes a task."""
        raise AssertionError("the extension is asked first")


@pytest.fixture(params=[False, True], ids=["answers as streams", "answers as JSON"])
async def sdk_client(request: pytest.FixtureRequest) -> AsyncIterator[TasksClient]:
    server: MCPServer[Any] = MCPServer("judge", extensions=[Tasks()])
    tools(server)
    app = server.streamable_http_app(json_response=request.param)
    config = uvicorn.Config(app, log_level="error", ws="none")
    process = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:  # listens before the server is up: no wait for it
        serving = asyncio.create_task(process.serve(sockets=[listening]))
        async with TasksClient(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp") as client:
            yield client
        process.should_exit = True
        await serving


async def test_it_says_what_it_can_do(sdk_client: TasksClient) -> None:
    discovery = await sdk_client.discover()

    assert "2026-07-28" in discovery.supported_versions
    assert discovery.has_extension(TASKS_EXTENSION)


async def test_its_tools_are_listed_and_called(sdk_client: TasksClient) -> None:
    assert [tool.name for tool in await sdk_client.list_tools()] == ["add", "count", "slow"]

    answer = await sdk_client.call_tool("add", {"a": 2, "b": 40})

    assert isinstance(answer, ToolResult)
    assert (answer.text, answer.structured_content) == ("42", {"result": 42})


async def test_its_refusals_are_errors(sdk_client: TasksClient) -> None:
    with pytest.raises(errors.RequestError) as caught:
        await sdk_client.task("t-1").answer({"it": {"action": "decline"}})

    assert caught.value.code == -32601


async def test_a_task_is_followed_to_its_end(sdk_client: TasksClient) -> None:
    handle = await sdk_client.call_tool("slow")

    assert isinstance(handle, TaskHandle)
    task = await handle.wait()
    assert isinstance(task, CompletedTask)
    assert task.result.text == "done"


async def test_a_task_is_cancelled(sdk_client: TasksClient) -> None:
    handle = sdk_client.task("t-1")

    await handle.cancel()

    assert isinstance(await handle.wait(), CancelledTask)


async def test_progress_comes_before_the_answer_where_there_is_a_stream(
    sdk_client: TasksClient, request: pytest.FixtureRequest
) -> None:
    told: list[float] = []

    answer = await sdk_client.call_tool("count", {"to": 3}, on_progress=lambda step: told.append(step["progress"]))

    assert isinstance(answer, ToolResult)
    assert answer.text == "counted"
    assert told == ([] if "JSON" in request.node.name else [1, 2, 3])
