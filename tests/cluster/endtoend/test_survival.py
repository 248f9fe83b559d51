"""Tasks outlive both services: none is lost, none runs twice, whatever is killed while they run."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks.client import TasksClient
from mcptasks.errors import InternalServerError, UnreachableError
from mcptasks.handle import TaskHandle
from mcptasks.models import CompletedTask
from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.services import Services, services

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

TAG: Final = "test"
TASKS_AT_ONCE: Final = 20
DIARY: Final = "diary"

WRITE_DOWN: Final = """
import os, time, urllib.request
def write(what):
    line = f"{what} {os.environ['MCPTASK_ID']} {os.environ['ARG_NUMBER']}"
    urllib.request.urlopen("http://diary:8000/", data=line.encode(), timeout=30).close()
write("started")
time.sleep(3)
write("ended")
with open(os.environ["MCPTASK_RESULT"], "w") as result:
    result.write("number " + os.environ["ARG_NUMBER"])
"""
"""What a task's pod does: says that it started, works for three seconds, says that it ended, gives its result."""

KEEP_DIARY: Final = """
import http.server
class Diary(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        line = self.rfile.read(int(self.headers["Content-Length"]))
        with open("/tmp/diary", "ab") as file:
            file.write(line + b"\\n")
        self.send_response(204)
        self.end_headers()
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
open("/tmp/diary", "a").close()
http.server.ThreadingHTTPServer(("", 8000), Diary).serve_forever()
"""
"""Appends each line that it is sent to one file, which the test reads: nobody's status, and no cache, is in between."""


@pytest.fixture
def image(cluster: Any) -> str:
    """The product's image, on the node."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    return image_name("runtime", tag=TAG)


@pytest.fixture
async def diary(cluster: Any, kube: Kube, namespace: str, image: str) -> Callable[[], list[str]]:
    """A pod that keeps the diary; called, it gives the diary's lines."""
    labels = {"app": DIARY}
    container = {
        "name": DIARY,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", KEEP_DIARY],
        "readinessProbe": {"httpGet": {"path": "/", "port": 8000}, "periodSeconds": 1},
    }
    pod = {"metadata": {"name": DIARY, "labels": labels}, "spec": {"containers": [container]}}
    await kube.create(PODS, namespace, pod)
    # On a busy machine a probe may be late: the diary is kept all the same.
    spec = {"selector": labels, "ports": [{"port": 8000}], "publishNotReadyAddresses": True}
    service = {"metadata": {"name": DIARY}, "spec": spec}
    await kube.request("POST", f"/api/v1/namespaces/{namespace}/services", body=service)

    async def is_ready() -> bool:
        conditions = (await kube.get(PODS, namespace, DIARY))["status"].get("conditions", ())
        return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)

    await eventually(is_ready, what="the diary is kept", timeout_seconds=60)

    def read() -> list[str]:
        text: str = cluster.kubectl("exec", "--namespace", namespace, DIARY, "--", "cat", "/tmp/diary")
        return text.splitlines()

    return read


@pytest.fixture
async def running(kube: Kube, kubeconfig: Path, namespace: str, image: str) -> AsyncIterator[Services]:
    """Server and operator at work, and a tool that writes down when it starts and ends."""
    container = {
        "name": "tool",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", WRITE_DOWN],
    }
    tool: Json = {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": "note"},
        "spec": {
            "description": "Works for three seconds.",
            "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
            "job": {"template": {"spec": {"containers": [container]}}},
        },
    }
    await kube.create(TOOLS, namespace, tool)
    async with services(kubeconfig=kubeconfig, namespace=namespace) as running:
        await running.start("server")
        await running.start("operator")

        async with TasksClient(running.url) as client:
            await eventually(lambda: _is_listed(client), what="the tool is listed", timeout_seconds=60)
        yield running


@pytest.mark.requirement("uncovered/restarts")
async def test_twenty_tasks_survive_the_death_of_both_services(
    kube: Kube, namespace: str, running: Services, diary: Callable[[], list[str]]
) -> None:
    """SIGKILL for the operator with the first starts, for the server half-way, for both once more at the ends."""
    async with TasksClient(running.url) as client:
        tasks = await asyncio.gather(*(_call(client, number) for number in range(TASKS_AT_ONCE)))
        assert len(set(tasks)) == TASKS_AT_ONCE

        async def lines(what: str, at_least: int) -> bool:
            return sum(line.startswith(what) for line in await asyncio.to_thread(diary)) >= at_least

        await eventually(lambda: lines("started", 1), what="a task has started", timeout_seconds=60)
        await running.kill("operator")
        await eventually(lambda: lines("started", 3), what="three tasks have started", timeout_seconds=120)
        await running.kill("server")
        await running.start("operator")
        await running.start("server")
        await eventually(lambda: lines("ended", 5), what="five tasks have ended", timeout_seconds=120)
        await running.kill("server")
        await running.kill("operator")
        await running.start("server")
        await running.start("operator")
        results = await asyncio.gather(*(_result(client, task) for task in tasks))

    assert results == [f"number {number}" for number in range(TASKS_AT_ONCE)]
    assert Counter(diary()) == Counter(
        f"{what} {task} {number}" for what in ("started", "ended") for number, task in enumerate(tasks)
    )
    objects = {kind: (await kube.list(kind, namespace))["items"] for kind in (TASKS, JOBS, PODS)}
    assert {item["metadata"]["name"] for item in objects[TASKS]} == set(tasks)
    assert {item["metadata"]["name"] for item in objects[JOBS]} == set(tasks)
    owners = Counter(item["metadata"]["labels"].get(names.TASK_LABEL) for item in objects[PODS])
    assert owners == Counter([*tasks, None])  # the one without a task keeps the diary


async def _is_listed(client: TasksClient) -> bool:
    try:
        return "note" in {tool.name for tool in await client.list_tools()}
    except (InternalServerError, UnreachableError):
        return False


async def _call(client: TasksClient, number: int) -> str:
    outcome = await client.call_tool("note", {"number": number})
    assert isinstance(outcome, TaskHandle)
    return outcome.id


async def _result(client: TasksClient, task: str) -> str:
    ended = await client.wait_for_task(task, timeout_seconds=240)
    assert isinstance(ended, CompletedTask), ended
    assert not ended.result.is_error, ended
    return ended.result.text
