"""Programs of tools in real pods: what their clients see, how they stop, and that nothing is lost on the way."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.forwarding import forwarded
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.releases import PORT, Release
from mcptasks_server.testing.wire import WITH_FORMS, Wire

from .conftest import NAMESPACE, scale_servers

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(400)]

ROOT: Final = Path(__file__).parents[3]
OPEN: Final = {"type": "object"}
RED: Final = {"action": "accept", "content": {"answer": "red"}}
MakeTool = Callable[..., None]

WORK: Final = """
import time
from mcptasks.job import audio, choice, file, link, task

def main(steps: int = 5):
    for step in task.track(range(steps), "working"):
        time.sleep(0.5)
    task.add("first")
    colour = task.ask("Which colour?", choice(["red", "green"]), key="colour")
    task.complete(
        f"done: {colour}",
        structured={"big": 2**70, "colour": colour},
        images=[b"GIF89a" + bytes(9000)],
        files=[file(b"a,b\\n1,2\\n", name="rows.csv"), file(b"\\xff\\x00", name="raw.bin")],
        parts=[audio(b"OggS" + bytes(9000)), link("https://example.com/report.pdf", name="The whole report")],
    )

task.run(main)
"""
FAIL: Final = """
from mcptasks.job import task

def main():
    raise LookupError("there is no such city")

task.run(main)
"""
STOP: Final = """
import time
from mcptasks.job import task

def main():
    try:
        print("begun", flush=True)
        task.progress(1, 2, "waiting to be stopped")
        time.sleep(600)
    finally:
        print("cleaned up", flush=True)

task.run(main)
"""


async def begin(wire: Wire, tool: str, **arguments: Any) -> str:
    params = {"name": tool, "arguments": arguments}
    task_id: str = (await wire.call("tools/call", params, capabilities=WITH_FORMS)).result["taskId"]
    return task_id


async def get(wire: Wire, task_id: str) -> dict[str, Any]:
    return (await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result


async def until(wire: Wire, task_id: str, *statuses: str, seconds: float = 120) -> dict[str, Any]:
    async def probe() -> dict[str, Any] | None:
        seen = await get(wire, task_id)
        return seen if seen["status"] in statuses else None

    return await eventually(probe, what=f"{task_id} is {statuses}", timeout_seconds=seconds)


async def answer(wire: Wire, task_id: str, **answers: Any) -> None:
    await wire.call("tasks/update", {"taskId": task_id, "inputResponses": answers}, capabilities=WITH_FORMS)


@asynccontextmanager
async def log_of(release: Release, pod: str) -> AsyncIterator[asyncio.StreamReader]:
    """What a pod prints, from its beginning to its end."""
    words = ("--kubeconfig", str(release.kubeconfig), "--namespace", NAMESPACE, "logs", "--follow", pod)
    process = await asyncio.create_subprocess_exec(program("kubectl"), *words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(90):
        yield process.stdout
        await process.wait()


async def test_progress_a_question_and_a_result_with_all_its_parts(wire: Wire, python_tool: MakeTool) -> None:
    python_tool("work", WORK, inputSchema=OPEN)
    task_id = await begin(wire, "work", steps=6)
    messages: list[str] = []

    async def asks() -> dict[str, Any] | None:
        seen = await get(wire, task_id)
        messages.append(seen.get("statusMessage", ""))
        return seen if seen["status"] == "input_required" else None

    asking = await eventually(asks, what="it asks", timeout_seconds=120)
    assert asking["inputRequests"]["colour"]["params"]["message"] == "Which colour?"
    await answer(wire, task_id, colour=RED)
    done = await until(wire, task_id, "completed", "failed")

    assert any(re.match(r"[2-5]/6: working", message) for message in messages), messages
    result = done["result"]
    kinds = ["text", "text", "image", "resource", "resource", "audio", "resource_link"]
    assert [part["type"] for part in result["content"]] == kinds
    assert [part["text"] for part in result["content"][:2]] == ["first", "done: red"]
    assert result["structuredContent"] == {"big": 2**70, "colour": "red"}
    picture, rows, raw, sound, report = result["content"][2:]
    assert (picture["mimeType"], base64.b64decode(picture["data"])) == ("image/gif", b"GIF89a" + bytes(9000))
    assert (sound["mimeType"], base64.b64decode(sound["data"])) == ("audio/ogg", b"OggS" + bytes(9000))
    assert (rows["resource"]["mimeType"], rows["resource"]["text"]) == ("text/csv", "a,b\n1,2\n")
    assert base64.b64decode(raw["resource"]["blob"]) == b"\xff\x00"
    assert (report["uri"], report["name"]) == ("https://example.com/report.pdf", "The whole report")


async def test_an_exception_is_a_tool_error_in_its_words(wire: Wire, python_tool: MakeTool) -> None:
    python_tool("fail", FAIL)

    done = await until(wire, await begin(wire, "fail"), "completed", "failed")

    assert done["result"]["isError"] is True
    assert [part["text"] for part in done["result"]["content"]] == ["LookupError: there is no such city"]


async def test_a_cancel_ends_a_program_at_once_and_lets_it_clean_up(
    wire: Wire, python_tool: MakeTool, release: Release
) -> None:
    python_tool("stop", STOP)
    task_id = await begin(wire, "stop")

    async def waits() -> bool:
        return "waiting to be stopped" in (await get(wire, task_id)).get("statusMessage", "")

    await eventually(waits, what="it waits", timeout_seconds=120)
    async with log_of(release, release.task(task_id)["status"]["job"]["podName"]) as log:
        begun = await log.readline()  # a cancelled task's pod goes, and its log with it: it is read as it comes
        await wire.call("tasks/cancel", {"taskId": task_id}, capabilities=WITH_FORMS)
        left = await log.read()
    await until(wire, task_id, "cancelled")

    # One is written to stdout and the other to stderr: no runtime keeps the order between the two.
    assert (begun, sorted(left.splitlines())) == (b"begun\n", [b"cancelled", b"cleaned up"])


async def test_servers_that_are_away_for_a_while_lose_nothing(
    release: Release, wire: Wire, python_tool: MakeTool
) -> None:
    python_tool("patient", WORK, inputSchema=OPEN)
    task_id = await begin(wire, "patient", steps=30)
    await until(wire, task_id, "working")

    async def runs() -> bool:
        status = release.task(task_id).get("status", {})  # a client sees it working before anybody has looked at it
        return bool(status.get("report", {}).get("progress", {}).get("progress", 0) >= 2)

    await eventually(runs, what="it has told how far it is", timeout_seconds=120)
    await asyncio.to_thread(scale_servers, release, 0)
    stood = release.task(task_id)["status"]["report"]["progress"]["progress"]
    await asyncio.sleep(5)  # the endpoint is away, which is what is tried here
    assert release.task(task_id)["status"]["report"]["progress"]["progress"] == stood
    await asyncio.to_thread(scale_servers, release, 2)

    async def asks() -> bool:
        return "colour" in release.task(task_id)["status"].get("report", {}).get("questions", {})

    await eventually(asks, what="it asks", timeout_seconds=120)
    way = forwarded(release.servers()[0], PORT, kubeconfig=release.kubeconfig, namespace=NAMESPACE)
    async with way as url, aiohttp.ClientSession() as session:
        await answer(Wire(session, f"{url}/mcp"), task_id, colour={"action": "decline"})

    async def is_over() -> bool:
        return bool(release.task(task_id)["status"]["phase"] == "Completed")

    await eventually(is_over, what="it is over", timeout_seconds=120)
    report = release.task(task_id)["status"]["report"]
    assert report["progress"]["progress"] == 30
    assert "declined: Which colour?" in report["result"]
    assert report["content"].count("first") == 1


@pytest.mark.parametrize(("go", "text"), [(True, "went on"), (False, "stopped after three steps")])
async def test_a_shell_script_with_curl_does_the_same_where_there_is_no_python(
    wire: Wire, release: Release, shell_image: str, go: bool, text: str
) -> None:
    page = (ROOT / "docs" / "jobs.md").read_text("utf-8")
    (script,) = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    container = {"image": shell_image, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script]}
    release.tool("shell", container)
    task_id = await begin(wire, "shell")

    await until(wire, task_id, "input_required")
    assert release.task(task_id)["status"]["report"]["progress"]["progress"] == 3
    await answer(wire, task_id, go={"action": "accept", "content": {"go": go}})
    done = await until(wire, task_id, "completed", "failed")

    assert done["result"]["content"] == [{"type": "text", "text": text}]
