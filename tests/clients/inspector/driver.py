"""The MCP Inspector's two command lines: `inspector --cli`, one call each, and `mcpdo`, which keeps a connection.

They must be on PATH, and HOME a directory of their own.
"""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from driving import drive

from mcptasks.client import TasksClient
from mcptasks.handle import TaskHandle

ENVIRONMENT = {**os.environ, "MCP_INSPECTOR_SECRET_STORE": "memory"}
LOAD = ("--load", "--load-requests", "20", "--load-concurrency", "5")


async def run(*words: str, environment: Mapping[str, str] = ENVIRONMENT) -> dict[str, Any]:
    """What a command line printed, as the JSON that it is; its exit code beside it."""
    process = await asyncio.create_subprocess_exec(
        *words, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = (part.decode() for part in await process.communicate())
    printed = out if out.strip() else err[err.find("{") :]
    try:
        return {"code": process.returncode, **json.loads(printed)}
    except ValueError as error:
        raise RuntimeError(f"{' '.join(words)} printed no JSON: {out} {err}") from error


async def cli(url: str, method: str, *options: str, era: str = "modern") -> dict[str, Any]:
    return await run(
        *("inspector", "--cli", url, "--transport", "http", "--format", "json"),
        *("--protocol-era", era, "--method", method, *options),
    )


async def tools(url: str) -> dict[str, Any]:
    return await _listed(url, "modern")


async def legacy_tools(url: str) -> dict[str, Any]:
    return await _listed(url, "legacy")


async def _listed(url: str, era: str) -> dict[str, Any]:
    seen = await cli(url, "tools/list", era=era)
    return {"tools": [tool["name"] for tool in seen["result"]["tools"]]}


async def result(url: str) -> dict[str, Any]:
    return _result(await cli(url, "tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2"))


async def tool_error(url: str) -> dict[str, Any]:
    return _result(await cli(url, "tools/call", "--tool-name", "refuse"))


async def failure(url: str) -> dict[str, Any]:
    seen = await cli(url, "tools/call", "--tool-name", "broken")
    return {"code": seen["code"], "error": seen["error"]}


async def load(url: str) -> dict[str, Any]:
    seen = await cli(url, "tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2", *LOAD)
    return {"code": seen["code"], **seen["result"]}


async def restart(url: str) -> dict[str, Any]:
    return _result(await cli(url, "tools/call", "--tool-name", "steady"))


async def legacy_result(url: str) -> dict[str, Any]:
    return _result(await cli(url, "tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2", era="legacy"))


@dataclass(frozen=True, kw_only=True)
class Mcpdo:
    """A connection that a daemon of mcpdo's keeps."""

    environment: Mapping[str, str]

    async def __call__(self, command: str, *words: str) -> dict[str, Any]:
        return await run(
            "mcpdo", "--format", "json", "--connection", "it", command, *words, environment=self.environment
        )


@asynccontextmanager
async def mcpdo(url: str) -> AsyncIterator[Mcpdo]:
    """A daemon of its own, connected; it is stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="mcpdo-") as directory:
        environment = {**ENVIRONMENT, "MCP_INSPECTOR_DAEMON_DIR": directory, "MCP_INSPECTOR_DAEMON_TOKEN": "driver"}
        do = Mcpdo(environment=environment)
        try:
            await do("connect", url, "--transport", "http", "--era", "modern", "--elicit", "form")
            yield do
        finally:
            stop = await asyncio.create_subprocess_exec(
                *("mcpdo", "daemon", "stop"), env=environment, stdout=asyncio.subprocess.DEVNULL
            )
            await stop.wait()


async def question(url: str) -> dict[str, Any]:
    return await _asked(url, "agree:=true")


async def declined(url: str) -> dict[str, Any]:
    return await _asked(url, "--decline")


async def _asked(url: str, *answer: str) -> dict[str, Any]:
    async with mcpdo(url) as do:
        pending = (await do("tools/call", "remove", "file:=notes.txt"))["elicitationPending"]
        ended = await do("elicitation/respond", pending["elicitationId"], *answer)
        return {"asked": [pending["message"]], **_result(ended)}


async def cancel(url: str) -> dict[str, Any]:
    """A task that another client made: the daemon's own calls return at their ends."""
    async with TasksClient(url) as client, mcpdo(url) as do:
        task = await client.call_tool("linger", {})
        assert isinstance(task, TaskHandle)
        before = await do("tasks/get", task.id)
        await do("tasks/cancel", task.id)
        await task.wait(timeout_seconds=60)
        return {"id": task.id, "before": before, "after": await do("tasks/get", task.id)}


def _result(seen: Mapping[str, Any]) -> dict[str, Any]:
    """A tool error comes as an error of the command line."""
    if "error" in seen:
        return {"code": seen["code"], "isError": True, "text": seen["error"]["message"]}
    ended = seen.get("result", seen)
    text = "\n".join(block["text"] for block in ended["content"] if block["type"] == "text")
    return {
        "code": seen["code"],
        "text": text,
        "structured": ended.get("structuredContent"),
        "isError": ended.get("isError", False),
    }


if __name__ == "__main__":
    drive(
        tools,
        result,
        tool_error,
        failure,
        load,
        restart,
        legacy_tools,
        legacy_result,
        question,
        declined,
        cancel,
    )
