"""An independent judge: the Python SDK's own client, with the tasks extension driven through its public hooks."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Request, RequestParams, Result, TextContent

from mcptasks_server.era import TASKS_EXTENSION
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.wire import Wire

pytestmark = pytest.mark.requirement("ours/real-clients")


class Handle(Result):
    """What a call is answered with."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    ttl_ms: int | None
    poll_interval_ms: int | None = None


class TaskParams(RequestParams):
    task_id: str


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class Shown(Result):
    status: str
    result: dict[str, Any] | None = None


class Tasks(ClientExtension):
    """Follows a handle to its result, as any client of the extension does; acts as the operator on the way."""

    identifier = TASKS_EXTENSION

    def __init__(self, finish: Callable[[str], Any]) -> None:
        self._finish = finish
        self.seen: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=Handle, resolve=self._resolve),)

    async def _resolve(self, handle: Handle, context: ClaimContext) -> CallToolResult:
        self.seen.append(handle.status)
        await self._finish(handle.task_id)
        request = GetTask(params=TaskParams(task_id=handle.task_id))
        shown = await context.session.send_request(request, Shown)
        self.seen.append(shown.status)
        return CallToolResult.model_validate(shown.result)


async def test_the_sdks_client_lists_calls_and_follows_a_task_to_its_result(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    text = '{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}}'
    tasks = Tasks(lambda task_id: store.write_status(task_id, over() | {"result": {"inline": text}}))

    async with Client(wire.url, extensions=[tasks]) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert [tool.name for tool in tools] == ["add", "echo", "regional"]
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"sum": 3}
    assert result.content == [TextContent(type="text", text="3")]
    assert tasks.seen == ["working", "completed"]


async def test_the_sdks_client_mirrors_arguments_into_headers_and_is_taken(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    tasks = Tasks(lambda task_id: store.write_status(task_id, over() | {"result": {"inline": '{"content":[]}'}}))

    async with Client(wire.url, extensions=[tasks]) as client:
        await client.list_tools()
        await client.call_tool("regional", {"region": " Größe ", "size": 3})

    assert len(store.created) == 1


async def test_the_sdks_client_shows_what_was_wrong_with_the_arguments(wire: Wire) -> None:
    async with Client(wire.url, extensions=[Tasks(lambda _: None)]) as client:
        result = await client.call_tool("add", {"a": "one"})

    assert isinstance(result, CallToolResult)
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "/a" in result.content[0].text


async def test_the_sdks_client_without_the_extension_is_told_what_it_lacks(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    async with Client(wire.url) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("echo", {})

    assert raised.value.error.code == -32021
    assert store.created == []
