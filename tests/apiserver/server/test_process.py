"""The server as a process, with the rights that it asks for and no others."""

import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import SECRETS, TASKS, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.rights import restricted_kubeconfig
from mcptasks_server.testing.contract import RESULT, Hand, over
from mcptasks_server.testing.wire import Wire

pytestmark = pytest.mark.apiserver

SECRET_VALUE = "very-secret-value"


class Process:
    """A running server."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.logs: list[Json] = []
        self._reading = asyncio.create_task(self._read())

    async def event(self, name: str) -> Json:
        """The first log line of that name."""

        async def find() -> Json | None:
            return next((line for line in self.logs if line["event"] == name), None)

        return await eventually(find, what=f"the server logs {name!r}")

    async def stop(self) -> int:
        """Tell it to end, as a kubelet does; its exit code."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            code = await self._process.wait()
            await self._reading
        return code

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.logs.append(json.loads(line))


@pytest.fixture
async def restricted(kube: Kube, namespace: str, tmp_path: Path) -> Path:
    """A kubeconfig of a service account that has the server's rights in the namespace and no others."""
    return await restricted_kubeconfig(kube, namespace, component="server", file=tmp_path / "restricted")


@pytest.fixture
async def process(restricted: Path, namespace: str) -> AsyncIterator[Process]:
    """A running server."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MCPTASKS_")},
        "MCPTASKS_KUBECONFIG": str(restricted),
        "MCPTASKS_NAMESPACE": namespace,
        "MCPTASKS_HOST": "127.0.0.1",
        "MCPTASKS_PORT": "0",
        "MCPTASKS_METRICS_PORT": "0",
        "MCPTASKS_TASK_PORT": "0",
    }
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mcptasks_server", env=environment, stderr=asyncio.subprocess.PIPE
    )
    process = Process(started)
    yield process
    await process.stop()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def base(process: Process, session: aiohttp.ClientSession) -> str:
    """Where the server listens; it is ready."""
    serving = await process.event("serving")
    base = f"http://127.0.0.1:{serving['mcp'][1]}"

    async def is_ready() -> bool:
        async with session.get(f"{base}/readyz") as response:
            return response.status == 200

    await eventually(is_ready, what="the server is ready")
    return base


@pytest.fixture
async def tool(kube: Kube, namespace: str, base: str, session: aiohttp.ClientSession) -> str:
    """A tool that the server lists."""
    template = {"spec": {"containers": [{"name": "tool", "image": "example.org/tool:1"}]}}
    properties = {"text": {"type": "string"}, "password": {"type": "string", "writeOnly": True}}
    manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": "echo"},
        "spec": {
            "description": "Says it again.",
            "inputSchema": {"type": "object", "properties": {"text": properties["text"]}},
            "job": {"template": template},
        },
    }
    secretive = {
        **manifest,
        "metadata": {"name": "secretive"},
        "spec": {**manifest["spec"], "inputSchema": {"type": "object", "properties": properties}},  # type: ignore[dict-item]
    }
    for each in (manifest, secretive):
        await kube.create(TOOLS, namespace, each)
        ready = {"type": "Ready", "status": "True", "reason": "Tested", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"status": {"observedGeneration": 1, "conditions": [ready]}}
        await kube.patch(TOOLS, namespace, str(each["metadata"]["name"]), status, subresource="status")  # type: ignore[index]

    async def is_listed() -> bool:
        listed = (await Wire(session, f"{base}/mcp").call("tools/list")).result["tools"]
        return {"echo", "secretive"} <= {tool["name"] for tool in listed}

    await eventually(is_listed, what="the tools are listed")
    return "echo"


@pytest.fixture
def wire(base: str, session: aiohttp.ClientSession) -> Wire:
    """A bare client of the server."""
    return Wire(session, f"{base}/mcp")


async def call(wire: Wire, tool: str, **arguments: Any) -> str:
    answer = await wire.call("tools/call", {"name": tool, "arguments": arguments})
    return str(answer.result["taskId"])


async def test_a_call_goes_its_whole_way_with_the_servers_own_rights(
    kube: Kube, namespace: str, wire: Wire, tool: str, hand: Hand
) -> None:
    task_id = await call(wire, tool, text="hello")
    working = (await wire.call("tasks/get", {"taskId": task_id})).result
    cancelled = await call(wire, tool)
    acknowledged = (await wire.call("tasks/cancel", {"taskId": cancelled})).result
    await hand(task_id, over())

    async def is_completed() -> bool:
        return bool((await wire.call("tasks/get", {"taskId": task_id})).result["status"] == "completed")

    await eventually(is_completed, what="the task is completed")
    shown = await wire.call("tasks/get", {"taskId": task_id})

    assert working["status"] == "working"
    assert acknowledged["resultType"] == "complete"
    assert (await kube.get(TASKS, namespace, cancelled))["spec"]["cancelRequested"] is True
    assert RESULT[1:] in shown.text
    stored = await kube.get(TASKS, namespace, task_id)
    assert stored["spec"]["arguments"] == '{"text": "hello"}'
    assert stored["metadata"]["labels"][names.TOOL_LABEL] == "echo"


@pytest.mark.parametrize("size", [16 * 1024 + 1, 200 * 1024])
async def test_large_arguments_are_in_a_secret_of_the_tasks_to_the_byte(
    kube: Kube, namespace: str, wire: Wire, tool: str, size: int
) -> None:
    task_id = await call(wire, tool, text="x" * size)

    task = await kube.get(TASKS, namespace, task_id)
    secret = await kube.get(SECRETS, namespace, names.arguments_secret_name(task_id))

    assert task["spec"]["argumentsFrom"] == {"secretName": secret["metadata"]["name"]}
    assert "arguments" not in task["spec"]
    assert secret["immutable"] is True
    assert [owner["uid"] for owner in secret["metadata"]["ownerReferences"]] == [task["metadata"]["uid"]]
    written = base64.b64decode(secret["data"]["arguments.json"]).decode()
    assert written == json.dumps({"text": "x" * size})


async def test_a_secret_argument_is_never_in_the_task_nor_in_a_log(
    kube: Kube, namespace: str, wire: Wire, tool: str, process: Process
) -> None:
    task_id = await call(wire, "secretive", text="x", password=SECRET_VALUE)

    task = await kube.get(TASKS, namespace, task_id)
    secret = await kube.get(SECRETS, namespace, names.arguments_secret_name(task_id))

    assert SECRET_VALUE not in json.dumps(task)
    assert SECRET_VALUE in base64.b64decode(secret["data"]["arguments.json"]).decode()
    assert "ARG_PASSWORD" not in secret["data"]
    await process.event("task created")
    assert SECRET_VALUE not in json.dumps(process.logs)


async def test_a_server_that_is_told_to_end_finishes_what_it_has_and_ends_well(
    wire: Wire, tool: str, process: Process
) -> None:
    calls = [asyncio.create_task(call(wire, tool, text=str(number))) for number in range(20)]
    first = await calls[0]

    code = await process.stop()
    finished = await asyncio.gather(*calls, return_exceptions=True)

    assert code == 0
    assert names.is_task_id(first)
    # Those that had reached it were answered; those that had not were refused, not cut.
    assert all(isinstance(each, str | aiohttp.ClientConnectionError) for each in finished)
    assert [line["event"] for line in process.logs][-1] == "stopped"


@pytest.mark.requirement("listen/graceful", "failures/f3-16")
async def test_streams_end_well_when_the_server_is_told_to_end(wire: Wire, tool: str, process: Process) -> None:
    task_id = await call(wire, tool)
    asked = {"notifications": {"taskIds": [task_id], "toolsListChanged": True}}
    async with wire.stream("subscriptions/listen", asked) as stream:
        await stream.until("notifications/tasks")
        stopping = asyncio.create_task(process.stop())
        answer = await stream.answer()
        code = await stopping

    assert answer.result["resultType"] == "complete"
    assert code == 0
    assert "Traceback" not in json.dumps(process.logs)


async def test_its_metrics_are_on_their_own_port(
    process: Process, wire: Wire, tool: str, session: aiohttp.ClientSession
) -> None:
    await call(wire, tool)
    port = (await process.event("serving"))["metrics"][1]

    async with session.get(f"http://127.0.0.1:{port}/metrics") as response:
        text = await response.text()
    async with session.get(wire.url.replace("/mcp", "/metrics")) as response:
        there = response.status

    assert 'mcptasks_server_requests_total{era="modern",method="tools/call",outcome="ok"} 1.0' in text
    assert "mcptasks_server_watch_lag_seconds" in text
    assert there == 404


async def test_a_process_without_an_api_server_lives_and_is_not_ready(
    tmp_path: Path, session: aiohttp.ClientSession
) -> None:
    kubeconfig = tmp_path / "nowhere"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: c, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: c}}]\n"
    )
    environment = {"PATH": os.environ["PATH"], "MCPTASKS_KUBECONFIG": str(kubeconfig), "MCPTASKS_HOST": "127.0.0.1"}
    ports = {"MCPTASKS_PORT": "0", "MCPTASKS_METRICS_PORT": "0", "MCPTASKS_TASK_PORT": "0"}
    process = Process(
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mcptasks_server", env=environment | ports, stderr=asyncio.subprocess.PIPE
        )
    )
    try:
        base = f"http://127.0.0.1:{(await process.event('serving'))['mcp'][1]}"
        async with session.get(f"{base}/livez") as live, session.get(f"{base}/readyz") as ready:
            statuses = (live.status, ready.status)
        listed = await Wire(session, f"{base}/mcp").call("tools/list")
        discovered = await Wire(session, f"{base}/mcp").call("server/discover")
    finally:
        code = await process.stop()

    assert statuses == (200, 503)
    assert listed.error == (200, -32603)
    assert discovered.status == 200
    assert code == 0


async def test_what_is_no_http_leaves_no_trace_of_what_was_sent(process: Process, base: str) -> None:
    port = int(base.rpartition(":")[2])
    for head in ("Transfer-Encoding: identity", "Content-Length: minus", "no header at all"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n\r\n{SECRET_VALUE}\r\n\r\n".encode())
        answer = await asyncio.wait_for(reader.read(), timeout=10)
        writer.close()
        assert b" 400 " in answer.partition(b"\r\n")[0]

    await process.stop()

    assert SECRET_VALUE not in json.dumps(process.logs)
    assert "Traceback" not in json.dumps(process.logs)
