"""What every measurement stands on: our two services as processes of this machine, watches, and plain clients.

Server and operator run outside the cluster, so that no port-forwarder stands between the things that are compared:
server, operator, benchmark and the bare client all reach the API server by the same loopback port.
"""

import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, Kube
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.services import services

VERSION: Final = "2026-07-28"
EXTENSION: Final = "io.modelcontextprotocol/tasks"
CALLER: Final = "benchmark"
"""Whose the tasks are."""

Identity = Callable[[Kube, Path, str, Path], Awaitable[Path]]
"""Makes the kubeconfig that the operator runs with, from: connection, admin's kubeconfig, namespace, directory."""


@dataclass(frozen=True, kw_only=True)
class Rig:
    """A namespace with our services at work in it."""

    kube: Kube
    kubeconfig: Path
    namespace: str
    bare_namespace: str
    """A namespace that nobody watches, for the plain writes that ours are compared with."""
    client: "McpClient"
    url: str
    """Of the server's MCP endpoint."""
    metrics_url: str
    tasks_url: str
    """Of the server's task endpoint."""
    server_pid: int
    operator_pid: int | None
    """None where no operator is at work."""
    operator_metrics_url: str

    async def bare_write(self) -> float:
        """How long a plain client takes for one create of a McpTask, in seconds."""
        manifest = bare_task("nobody")
        started = time.monotonic()
        await self.kube.create(TASKS, self.bare_namespace, manifest)
        return time.monotonic() - started


def message(method: str, target: str, *, token: str | None = None, **params: Any) -> tuple[dict[str, str], Json]:
    """Headers and body of a request."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}},
    }
    headers = {
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        "Mcp-Name": target,
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


class McpClient:
    """The plainest MCP client there is: one connection, one JSON body, no retries."""

    def __init__(self, session: aiohttp.ClientSession, url: str, *, token: str | None = None) -> None:
        self._session, self._url, self._token = session, url, token

    async def request(self, method: str, target: str, **params: Any) -> Json:
        """Send one request and return its result."""
        headers, body = message(method, target, token=self._token, **params)
        async with self._session.post(self._url, json=body, headers=headers) as response:
            if response.content_type == "text/event-stream":  # the answer is its only event
                document: Json = json.loads((await response.text()).partition("data: ")[2])
            else:
                document = await response.json()
        if "result" not in document:
            raise RuntimeError(f"{method} {target}: {document}")
        result: Json = document["result"]
        return result

    async def call(self, tool: str, arguments: Json) -> str:
        """Call a tool as a task; returns the task's id."""
        result = await self.request("tools/call", tool, name=tool, arguments=arguments)
        return str(result["taskId"])

    async def get(self, task: str) -> Json:
        """The task as the server has it."""
        return await self.request("tasks/get", task, taskId=task)


@asynccontextmanager
async def rig(
    *,
    kubeconfig: Path,
    operator: bool,
    tools: Sequence[Json] = (),
    operator_identity: Identity | None = None,
    environment: Mapping[str, str] | None = None,
    token: str | None = None,
) -> AsyncIterator[Rig]:
    """A fresh namespace with the server, the tools and, if asked for, the operator. All is removed afterwards.

    `environment`: more of it for the services. `token`: of the only caller that the server is to know; None: it knows
    nobody.
    """
    async with AsyncExitStack() as stack:
        kube = await stack.enter_async_context(await Kube.connect(kubeconfig=kubeconfig))
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)))
        await install_crds(kube)
        namespace, bare_namespace = [await _new_namespace(kube, stack) for _ in range(2)]
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        more = {**(environment or {}), **({} if token is None else _known_by(token, directory))}
        running = await stack.enter_async_context(
            services(kubeconfig=kubeconfig, namespace=namespace, environment=more)
        )
        await running.start("server")
        if operator and operator_identity is not None:
            await running.start("operator", kubeconfig=await operator_identity(kube, kubeconfig, namespace, directory))
        elif operator:
            await running.start("operator")
        for tool in tools:
            manifest = await kube.create(TOOLS, namespace, tool)
            if not operator:
                await _declare_ready(kube, namespace, manifest)
        client = McpClient(session, running.url, token=token)
        await eventually(lambda: _are_listed(client, tools), what="the tools are listed", timeout_seconds=60)
        yield Rig(
            kube=kube,
            kubeconfig=kubeconfig,
            namespace=namespace,
            bare_namespace=bare_namespace,
            client=client,
            url=running.url,
            metrics_url=f"http://127.0.0.1:{running.environment['MCPTASKS_METRICS_PORT']}/metrics",
            tasks_url=f"http://127.0.0.1:{running.environment['MCPTASKS_TASK_PORT']}",
            server_pid=running.processes["server"].pid,
            operator_pid=running.processes["operator"].pid if operator else None,
            operator_metrics_url=f"http://127.0.0.1:{running.environment['MCPTASKS_OPERATOR_PORT']}/metrics",
        )


def _known_by(token: str, directory: Path) -> dict[str, str]:
    tokens = directory / "tokens.json"
    tokens.touch(mode=0o600)
    tokens.write_text(json.dumps([{"token": token, "subject": CALLER}]))
    return {"MCPTASKS_AUTHENTICATION": "tokens", "MCPTASKS_TOKENS_FILE": str(tokens)}


async def _are_listed(client: McpClient, tools: Sequence[Json]) -> bool:
    try:
        listed = await client.request("tools/list", "")
    except (aiohttp.ClientError, RuntimeError):
        return False
    return {tool["metadata"]["name"] for tool in tools} <= {tool["name"] for tool in listed["tools"]}


async def _declare_ready(kube: Kube, namespace: str, tool: Json) -> None:
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "Benchmark",
        "message": "declared ready by a benchmark that runs no operator",
        "lastTransitionTime": tool["metadata"]["creationTimestamp"],
    }
    status = {"observedGeneration": tool["metadata"]["generation"], "conditions": [condition]}
    await kube.patch(TOOLS, namespace, tool["metadata"]["name"], {"status": status}, subresource="status")


async def _new_namespace(kube: Kube, stack: AsyncExitStack) -> str:
    created = await kube.request("POST", "/api/v1/namespaces", body={"metadata": {"generateName": "bench-"}})
    name = str(json.loads(created)["metadata"]["name"])
    stack.push_async_callback(kube.request, "DELETE", f"/api/v1/namespaces/{name}")
    return name


@dataclass
class Moments:
    """When the benchmark's own watches first saw what, by the task's name, in seconds of the monotonic clock."""

    job_posted: dict[str, float] = field(default_factory=dict)
    terminated: dict[str, float] = field(default_factory=dict)
    job_complete: dict[str, float] = field(default_factory=dict)

    def saw_job(self, job: Json) -> None:
        """Note a Job's first sight and its end."""
        name = job["metadata"]["name"]
        self.job_posted.setdefault(name, time.monotonic())
        conditions = job.get("status", {}).get("conditions", ())
        if any(item["type"] == "Complete" and item["status"] == "True" for item in conditions):
            self.job_complete.setdefault(name, time.monotonic())

    def saw_pod(self, pod: Json) -> None:
        """Note the end of a pod's container."""
        statuses = pod.get("status", {}).get("containerStatuses", ())
        if statuses and all("terminated" in item["state"] for item in statuses):
            task = pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
            self.terminated.setdefault(task, time.monotonic())


@asynccontextmanager
async def watching(rig: Rig) -> AsyncIterator[Moments]:
    """The benchmark's own watches on Jobs and pods, on a connection of their own."""
    moments = Moments()
    async with await Kube.connect(kubeconfig=rig.kubeconfig) as kube, asyncio.TaskGroup() as group:
        watches = [
            group.create_task(_follow(kube, kind, rig.namespace, see))
            for kind, see in ((JOBS, moments.saw_job), (PODS, moments.saw_pod))
        ]
        yield moments
        for watch in watches:
            watch.cancel()


async def _follow(kube: Kube, kind: Any, namespace: str, see: Callable[[Json], None]) -> None:
    listed = await kube.list(kind, namespace)
    version = listed["metadata"]["resourceVersion"]
    async for event in kube.watch(kind, namespace, timeout_seconds=3600, resourceVersion=version):
        see(event["object"])


def bare_task(tool: str) -> Json:
    """A McpTask like those the server creates, for a plain client to create."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": names.new_task_id()},
        "spec": {"tool": {"name": tool}, "arguments": "{}", "caller": CALLER},
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share (0 to 1) of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def p50(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def cpu_seconds(pid: int) -> float:
    """What a process has used of the processors so far."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """The memory that a process takes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
