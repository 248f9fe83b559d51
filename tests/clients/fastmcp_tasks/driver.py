"""fastmcp's client with fastmcp-tasks: a call that becomes a task is followed by the client itself."""

from typing import Any

import fastmcp_tasks
from driving import drive
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult


async def tools(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return {"tools": [tool.name for tool in await client.list_tools()]}


async def result(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return _result(await client.call_tool("add", {"a": 1, "b": 2}))


async def handle(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        task = await fastmcp_tasks.call_tool_task(client, "add", {"a": 1, "b": 2})
        status = (await task.status()).status
        return {"id": task.task_id, "status": status, **_result(await task.result())}


async def tool_error(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return _result(await client.call_tool("refuse", raise_on_error=False))


async def failure(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        task = await fastmcp_tasks.call_tool_task(client, "broken")
        ended = await task.wait()
        return {"status": ended.status, "error": ended.error}


async def cancel(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        task = await fastmcp_tasks.call_tool_task(client, "linger")
        await task.cancel()
        return {"status": (await task.wait()).status}


async def question(url: str) -> dict[str, Any]:
    return await _asked(url, accepts=True)


async def declined(url: str) -> dict[str, Any]:
    return await _asked(url, accepts=False)


async def restart(url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return _result(await client.call_tool("steady"))


async def _asked(url: str, *, accepts: bool) -> dict[str, Any]:
    asked: list[str] = []

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> Any:
        asked.append(message)
        return response_type(agree=True) if accepts else ElicitResult(action="decline")

    async with Client(url, elicitation_handler=answer) as client:
        ended = await client.call_tool("remove", {"file": "notes.txt"}, raise_on_error=False)
    return {"asked": asked, **_result(ended)}


def _result(seen: Any) -> dict[str, Any]:
    text = "\n".join(block.text for block in seen.content if block.type == "text")
    return {"text": text, "structured": seen.structured_content, "isError": seen.is_error}


if __name__ == "__main__":
    drive(
        tools,
        result,
        handle,
        tool_error,
        failure,
        cancel,
        question,
        declined,
        restart,
    )
