"""The example client: a program on the client library that answers what a tool asks."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcptasks.testing import FakeServer, FakeTool, completed, form, state, tool_result

CLIENT = Path(__file__).parents[3] / "examples" / "clients" / "call_and_answer.py"
SURE = {"sure": {"type": "boolean"}}
ASKING = state("input_required", inputRequests={"go": form("Deploy?", **SURE)}, pollIntervalMs=20)


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


async def run(server: FakeServer, *arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(CLIENT), *arguments),
        env={**os.environ, "MCPTASKS_SERVER": server.url},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(50):
        out, _ = await process.communicate()
    return process.returncode, out.decode()


async def test_it_answers_what_a_task_asks(server: FakeServer) -> None:
    server.tools["deploy"] = FakeTool(states=[ASKING, completed("deployed")])

    assert await run(server, "deploy", '{"n": 1.0}', '{"go": {"sure": true}}') == (0, "deployed\n")
    (task,) = server.tasks.values()
    assert task.answers == {"go": {"action": "accept", "content": {"sure": True}}}


async def test_it_answers_what_is_asked_before_there_is_a_task(server: FakeServer) -> None:
    server.tools["deploy"] = FakeTool(
        asks_first={"go": form("Deploy?", **SURE)}, result=tool_result("no", is_error=True)
    )

    assert await run(server, "deploy", "{}", '{"go": {"sure": false}}') == (1, "no\n")
