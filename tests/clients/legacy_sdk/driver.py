"""The MCP Python SDK's client of the 1.x line, which speaks 2025-11-25: with its experimental tasks, and as it is."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from driving import drive, next_call
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError

# The SDK says of its tasks that its next version speaks another kind of them.
warnings.filterwarnings("ignore", category=DeprecationWarning)


@asynccontextmanager
async def connected(
    url: str, answer: types.ElicitResult | None = None
) -> AsyncIterator[tuple[ClientSession, list[str]]]:
    """A session that is initialized, and the questions that it was asked."""
    asked: list[str] = []

    async def respond(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        assert answer is not None
        return answer

    async with (
        streamable_http_client(url) as (reading, writing, _),
        ClientSession(reading, writing, elicitation_callback=None if answer is None else respond) as session,
    ):
        await session.initialize()
        yield session, asked


async def tools(url: str) -> dict[str, Any]:
    async with connected(url) as (session, _):
        listed = (await session.list_tools()).tools
        version = session.get_server_capabilities()
        return {
            "tools": [tool.name for tool in listed],
            "support": {tool.name: tool.execution and tool.execution.taskSupport for tool in listed},
            "capabilities": version and version.model_dump(mode="json", exclude_none=True),
        }


async def result(url: str) -> dict[str, Any]:
    return await _followed(url, "add", {"a": 1, "b": 2})


async def tool_error(url: str) -> dict[str, Any]:
    return await _followed(url, "refuse")


async def failure(url: str) -> dict[str, Any]:
    return await _followed(url, "broken")


async def cancel(url: str) -> dict[str, Any]:
    async with connected(url) as (session, _):
        task = (await session.experimental.call_tool_as_task("linger", {})).task
        cancelled = await session.experimental.cancel_task(task.taskId)
        return {"id": task.taskId, "status": cancelled.status}


async def question(url: str) -> dict[str, Any]:
    answer = types.ElicitResult(action="accept", content={"agree": True})
    return await _followed(url, "remove", {"file": "notes.txt"}, answer=answer)


async def declined(url: str) -> dict[str, Any]:
    return await _followed(url, "remove", {"file": "notes.txt"}, answer=types.ElicitResult(action="decline"))


async def restart(url: str) -> dict[str, Any]:
    """Polls, as in the SDK's example, so that nothing is under way for long."""
    async with connected(url) as (session, _):
        task = (await session.experimental.call_tool_as_task("steady", {})).task
        async for _ in session.experimental.poll_task(task.taskId):
            pass
        return _result(await session.experimental.get_task_result(task.taskId, types.CallToolResult))


async def _followed(
    url: str, tool: str, arguments: dict[str, Any] | None = None, *, answer: types.ElicitResult | None = None
) -> dict[str, Any]:
    """As a task, whose result is asked for at once: a question comes on the stream of that request."""
    async with connected(url, answer) as (session, asked):
        created = await session.experimental.call_tool_as_task(tool, arguments or {}, ttl=3_600_000)
        task = created.task
        seen = {"id": task.taskId, "created": task.status}
        try:
            ended = await session.experimental.get_task_result(task.taskId, types.CallToolResult)
            seen |= _result(ended) | {"meta": ended.meta}
        except McpError as error:
            seen["error"] = error.error.model_dump(mode="json")
        seen["status"] = (await session.experimental.get_task(task.taskId)).status
        return seen | {"asked": asked}


async def held_result(url: str) -> dict[str, Any]:
    async with connected(url) as (session, _):
        return _result(await session.call_tool("add", {"a": 1, "b": 2}))


async def held_tool_error(url: str) -> dict[str, Any]:
    async with connected(url) as (session, _):
        return _result(await session.call_tool("refuse", {}))


async def held_failure(url: str) -> dict[str, Any]:
    async with connected(url) as (session, _):
        try:
            return _result(await session.call_tool("broken", {}))
        except McpError as error:
            return {"error": error.error.model_dump(mode="json")}


async def held_question(url: str) -> dict[str, Any]:
    return await _asked(url, types.ElicitResult(action="accept", content={"agree": True}))


async def held_declined(url: str) -> dict[str, Any]:
    return await _asked(url, types.ElicitResult(action="decline"))


async def held_cancel(url: str) -> dict[str, Any]:
    """Says that it no longer wants the answer, by the notification that this revision has for it."""
    async with connected(url) as (session, _):
        call = asyncio.create_task(session.call_tool("linger", {}))
        await asyncio.sleep(3)
        request_id = session._request_id - 1  # the SDK does not tell a request's id
        params = types.CancelledNotificationParams(requestId=request_id, reason="changed my mind")
        await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        await session.send_ping()  # the SDK sends in order; leaving at once would cut the notification off
        call.cancel()
        return {"stopped": True}


async def held_restart(url: str) -> dict[str, Any]:
    """Goes on as the text says, as a model does."""
    call: tuple[str, dict[str, Any]] = ("steady", {})
    async with connected(url) as (session, _):
        while True:
            seen = _result(await session.call_tool(*call))
            if (following := next_call(seen["text"])) is None:
                return seen
            call = following


async def progress(url: str) -> dict[str, Any]:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with connected(url) as (session, _):
        ended = await session.call_tool("brew", {}, progress_callback=hear)
    return {"progress": heard, **_result(ended)}


async def _asked(url: str, answer: types.ElicitResult) -> dict[str, Any]:
    async with connected(url, answer) as (session, asked):
        ended = await session.call_tool("remove", {"file": "notes.txt"})
    return {"asked": asked, **_result(ended)}


def _result(seen: types.CallToolResult) -> dict[str, Any]:
    text = "\n".join(block.text for block in seen.content if isinstance(block, types.TextContent))
    return {"text": text, "structured": seen.structuredContent, "isError": seen.isError}


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
        held_result,
        held_tool_error,
        held_failure,
        held_question,
        held_declined,
        held_cancel,
        held_restart,
        progress,
    )
