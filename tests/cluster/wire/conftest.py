"""Two server replicas and an operator on a real cluster, with two callers, and tools whose Jobs are real."""

import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import pytest_asyncio
import yaml

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, Kube
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.productimage.base import base_image
from mcptasks_devcluster.productimage.engines import find_engine
from mcptasks_devcluster.services import Services, services
from mcptasks_server.testing.wire import WITH_FORMS, Wire

NAMESPACES: Final = "/api/v1/namespaces"
FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}
SECONDS: Final = {"type": "object", "properties": {"seconds": {"type": "integer", "minimum": 0, "default": 0}}}
ENDS: Final = frozenset({"completed", "failed", "cancelled"})
TO_END: Final = 60.0
"""How long a task of this module's tools may take, at most, on a busy machine."""


def _tools(image: str) -> Mapping[str, Json]:
    """The tools' specs by name."""

    def job(script: str) -> Json:
        container = {"name": "tool", "image": image, "imagePullPolicy": "IfNotPresent"}
        return {"template": {"spec": {"containers": [container | {"command": ["sh", "-euc", script]}]}}}

    work = job('sleep "$ARG_SECONDS"; echo "worked $ARG_SECONDS" > "$MCPTASK_RESULT"')
    chatty = 'for n in $(seq 60); do echo "line $n"; sleep 0.2; done; echo "out of lines" > "$MCPTASK_RESULT"; exit 3'
    answers = job('cat "$MCPTASK_ANSWERS" > "$MCPTASK_RESULT"')
    question = {"key": "sure", "message": "Sure?", "requestedSchema": FORM}
    missing = {"name": "tool", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["/no/such/program"]}
    return {
        "work": {"inputSchema": SECONDS, "job": work},
        "brief": {"inputSchema": SECONDS, "job": work, "retentionSeconds": 6},
        "soon": {"inputSchema": SECONDS, "job": work, "holdSeconds": 1},
        "refuse": {"job": job('echo "no such table" > "$MCPTASK_RESULT"; exit 3')},
        "chatty": {"job": job(chatty)},
        "broken": {"job": {"template": {"spec": {"containers": [missing]}}}},
        "confirm": {"job": answers, "questions": [question | {"when": "beforeStart"}]},
        "first": {"job": answers, "questions": [question | {"when": "beforeTask"}]},
        "second": {"job": answers, "questions": [question | {"when": "beforeTask"}]},
    }


@dataclass(frozen=True, kw_only=True)
class World:
    """The running product, as its callers and its cluster's owner see it."""

    kube: Kube
    namespace: str
    session: aiohttp.ClientSession
    replicas: tuple[Services, Services]
    tokens: Mapping[str, str]

    def wire(self, replica: int = 0, *, caller: str | None = "anna") -> Wire:
        """A caller at a replica."""
        wire = Wire(self.session, self.replicas[replica].url)
        return wire if caller is None else wire.as_caller(self.tokens[caller])

    async def handle(self, tool: str, *, caller: str = "anna", **arguments: Any) -> str:
        """A call that became a task: its id."""
        answer = await self.wire(caller=caller).call(
            "tools/call", {"name": tool, "arguments": arguments}, capabilities=WITH_FORMS
        )
        return str(answer.result["taskId"])

    async def shown(self, task_id: str, replica: int = 0, *, caller: str = "anna") -> Json:
        """What `tasks/get` shows."""
        answer = await self.wire(replica, caller=caller).call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)
        return answer.result

    async def until(self, task_id: str, *statuses: str, replica: int = 0) -> Json:
        """What is shown once the task has one of these statuses."""
        seen: list[Json] = []

        async def has() -> bool:
            seen.append(await self.shown(task_id, replica))
            return seen[-1]["status"] in statuses

        await eventually(has, what=f"{task_id} is one of {statuses}", timeout_seconds=TO_END)
        return seen[-1]

    async def tasks(self) -> list[Json]:
        """All McpTasks."""
        items: list[Json] = (await self.kube.list(TASKS, self.namespace))["items"]
        return items

    async def count(self, kind: Any, task_id: str) -> int:
        """How many Jobs, or pods, a task has."""
        selector = f"{names.TASK_LABEL}={task_id}"
        return len((await self.kube.list(kind, self.namespace, labelSelector=selector))["items"])

    async def is_quiet(self, task_id: str) -> bool:
        """Whether no pod of a task is left that could still do something."""
        selector = f"{names.TASK_LABEL}={task_id}"
        pods = (await self.kube.list(PODS, self.namespace, labelSelector=selector))["items"]
        return all(pod["status"].get("phase") in {"Succeeded", "Failed"} for pod in pods)

    async def remove_pods(self, task_id: str) -> None:
        """Delete a task's pods by hand, and wait until none is left."""
        selector = f"{names.TASK_LABEL}={task_id}"
        for pod in (await self.kube.list(PODS, self.namespace, labelSelector=selector))["items"]:
            await self.kube.delete(PODS, self.namespace, pod["metadata"]["name"])

        async def are_gone() -> bool:
            return await self.count(PODS, task_id) == 0

        await eventually(are_gone, what=f"the pods of {task_id} are gone", timeout_seconds=TO_END)

    async def jobs(self, task_id: str) -> int:
        """How many Jobs a task has."""
        return await self.count(JOBS, task_id)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The product at work, and its tools listed at both replicas."""
    kubeconfig = Path(cluster.kubeconfig_path)
    image = base_image(find_engine(), None)
    cluster.load_docker_image(image)
    directory = tmp_path_factory.mktemp("secrets")
    tokens = {name: secrets.token_hex(32) for name in ("anna", "bert")}
    (directory / "tokens").write_text(
        yaml.safe_dump([{"token": text, "subject": name} for name, text in tokens.items()])
    )
    (directory / "keys").mkdir()
    (directory / "keys" / "1").write_text(secrets.token_hex(32))
    environment = {
        "MCPTASKS_AUTHENTICATION": "tokens",
        "MCPTASKS_TOKENS_FILE": str(directory / "tokens"),
        "MCPTASKS_SIGNING_KEYS_DIR": str(directory / "keys"),
    }
    async with AsyncExitStack() as stack:
        kube = await stack.enter_async_context(await Kube.connect(kubeconfig=kubeconfig))
        await install_crds(kube)
        made = json.loads(await kube.request("POST", NAMESPACES, body={"metadata": {"generateName": "wire-"}}))
        namespace = made["metadata"]["name"]
        stack.push_async_callback(kube.request, "DELETE", f"{NAMESPACES}/{namespace}")
        for name, spec in _tools(image).items():
            tool = {"apiVersion": names.API_VERSION, "kind": names.TOOL_KIND, "metadata": {"name": name}}
            await kube.create(TOOLS, namespace, tool | {"spec": {"description": f"The tool {name}."} | spec})
        first, second = [
            await stack.enter_async_context(
                services(kubeconfig=kubeconfig, namespace=namespace, environment=environment)
            )
            for _ in range(2)
        ]
        for replica in (first, second):
            await replica.start("server")
        await first.start("operator")
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        world = World(kube=kube, namespace=namespace, session=session, replicas=(first, second), tokens=tokens)
        for number in range(2):
            await until_served(world, number, len(_tools(image)))
        yield world


async def until_served(world: World, replica: int, tools: int) -> None:
    """Wait until a replica lists all tools."""

    async def is_served() -> bool:
        try:
            answer = await world.wire(replica).call("tools/list")
        except aiohttp.ClientError:
            return False
        listed = answer.body.get("result", {}).get("tools", ())
        return len([tool for tool in listed if tool["name"] not in names.COMPANION_TOOLS]) == tools

    await eventually(is_served, what="the tools are listed", timeout_seconds=60)
