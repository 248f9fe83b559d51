"""The MCP Python SDK's client (2.x): with the tasks extension through its extension seam, and as it is."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from driving import drive, next_call
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientRequestContext, ClientSession
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    Request,
    RequestParams,
    Result,
    TextContent,
)
from pydantic import Field


class TaskParams(RequestParams):
    task_id: str


class UpdateParams(TaskParams):
    input_responses: dict[str, Any]


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class UpdateTask(Request[UpdateParams, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: UpdateParams
    name_param = "taskId"


class CancelTask(Request[TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskParams
    name_param = "taskId"


class Handle(Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class Shown(Result):
    status: str
    poll_interval_ms: int = 1000
    input_requests: dict[str, Any] = Field(default_factory=dict)
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class Tasks(ClientExtension):
    """Follows a task's handle to the task's end, as the extension has it."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, answer: ElicitResult | None = None, *, cancels: bool = False) -> None:
        self.answer, self._cancels = answer, cancels
        self.seen: dict[str, Any] = {}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=Handle, resolve=self._follow),)

    async def _follow(self, handle: Handle, context: ClaimContext) -> CallToolResult:
        params = TaskParams(task_id=handle.task_id)
        self.seen["id"] = handle.task_id
        if self._cancels:
            await context.session.send_request(CancelTask(params=params), Result)
        while (shown := await context.session.send_request(GetTask(params=params), Shown)).status in {
            "working",
            "input_required",
        }:
            if shown.status == "input_required":
                await self._respond(handle, shown, context.session)
            else:
                await asyncio.sleep(shown.poll_interval_ms / 1000)
        self.seen |= {"status": shown.status, "error": shown.error}
        return CallToolResult.model_validate(shown.result or {"content": [], "isError": True})

    async def _respond(self, handle: Handle, shown: Shown, session: ClientSession) -> None:
        self.seen["asked"] = [request["params"]["message"] for request in shown.input_requests.values()]
        assert self.answer is not None
        response = self.answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        responses = dict.fromkeys(shown.input_requests, response)
        await session.send_request(
            UpdateTask(params=UpdateParams(task_id=handle.task_id, input_responses=responses)), Result
        )


async def tools(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return {"tools": [tool.name for tool in (await client.list_tools()).tools]}


async def result(url: str) -> dict[str, Any]:
    return await _followed(url, "add", {"a": 1, "b": 2})


async def tool_error(url: str) -> dict[str, Any]:
    return await _followed(url, "refuse")


async def failure(url: str) -> dict[str, Any]:
    return await _followed(url, "broken")


async def cancel(url: str) -> dict[str, Any]:
    return await _followed(url, "linger", tasks=Tasks(cancels=True))


async def question(url: str) -> dict[str, Any]:
    answer = ElicitResult(action="accept", content={"agree": True})
    return await _followed(url, "remove", {"file": "notes.txt"}, tasks=Tasks(answer))


async def declined(url: str) -> dict[str, Any]:
    return await _followed(url, "remove", {"file": "notes.txt"}, tasks=Tasks(ElicitResult(action="decline")))


async def restart(url: str) -> dict[str, Any]:
    return await _followed(url, "steady")


async def _followed(
    url: str, tool: str, arguments: dict[str, Any] | None = None, *, tasks: Tasks | None = None
) -> dict[str, Any]:
    tasks = tasks or Tasks()
    # Whoever can answer says so by having a callback; a task's questions come to the extension.
    callback = None if tasks.answer is None else _never
    async with Client(url, extensions=[tasks], elicitation_callback=callback) as client:
        return _result(await client.call_tool(tool, arguments or {})) | tasks.seen


async def _never(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    raise AssertionError("asked outside of the task")


async def listen(url: str) -> dict[str, Any]:
    """Waits until the list of tools has changed, and lists them again."""
    async with Client(url) as client, client.listen(tools_list_changed=True) as subscription:
        async for event in subscription:
            listed = (await client.list_tools()).tools
            return {"event": type(event).__name__, "tools": [tool.name for tool in listed]}
    return {"event": None}


async def held_result(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return _result(await client.call_tool("add", {"a": 1, "b": 2}))


async def held_tool_error(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return _result(await client.call_tool("refuse", {}))


async def held_failure(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return _result(await client.call_tool("broken", {}))


async def held_question(url: str) -> dict[str, Any]:
    return await _asked(url, ElicitResult(action="accept", content={"agree": True}))


async def held_declined(url: str) -> dict[str, Any]:
    return await _asked(url, ElicitResult(action="decline"))


async def held_cancel(url: str) -> dict[str, Any]:
    """Lets go of the call after three seconds: on this wire that is how a call is cancelled."""
    async with Client(url) as client:
        try:
            async with asyncio.timeout(3):
                return _result(await client.call_tool("linger", {}))
        except TimeoutError:
            return {"stopped": True}


async def held_restart(url: str) -> dict[str, Any]:
    """Goes on as the text says, as a model does."""
    call: tuple[str, dict[str, Any]] = ("steady", {})
    async with Client(url) as client:
        while True:
            seen = _result(await client.call_tool(*call))
            if (following := next_call(seen["text"])) is None:
                return seen
            call = following


async def progress(url: str) -> dict[str, Any]:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with Client(url) as client:
        ended = await client.call_tool("brew", {}, progress_callback=hear)
    return {"progress": heard, **_result(ended)}


async def _asked(url: str, answer: ElicitResult) -> dict[str, Any]:
    asked: list[str] = []

    async def respond(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        asked.append(params.message)
        return answer

    async with Client(url, elicitation_callback=respond) as client:
        ended = await client.call_tool("remove", {"file": "notes.txt"})
    return {"asked": asked, **_result(ended)}


def _result(seen: Result) -> dict[str, Any]:
    assert isinstance(seen, CallToolResult)
    text = "\n".join(block.text for block in seen.content if isinstance(block, TextContent))
    return {"text": text, "structured": seen.structured_content, "isError": seen.is_error}


if __name__ == "__main__":
    drive(
        tools,
        result,
        tool_error,
        failure,
        cancel,
        question,
        declined,
        restart,
        listen,
        held_result,
        held_tool_error,
        held_failure,
        held_question,
        held_declined,
        held_cancel,
        held_restart,
        progress,
    )
