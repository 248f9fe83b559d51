"""Runs calls of one tool as Jobs on a real kubelet, without the operator: only what it renders is tried here."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from mcptasks_crds import arguments, limits, names
from mcptasks_crds.kube import JOBS, MERGE_PATCH, PODS, SECRETS, TASKS, Kube
from mcptasks_crds.task import McpTask
from mcptasks_crds.tool import McpTool
from mcptasks_devcluster.productimage.base import base_image
from mcptasks_devcluster.productimage.engines import find_engine
from mcptasks_operator.jobs import render

POD_SECONDS: Final = 90.0

REPORT: Final = """
import hashlib, json, os, sys

def digest(data):
    return hashlib.sha256(data).hexdigest()[:24]

report = {
    "file": digest(open(os.environ["MCPTASK_ARGUMENTS"], "rb").read()),
    "variables": {
        name.decode(): digest(value) for name, value in os.environb.items() if name.startswith(b"ARG_")
    },
    "words": [digest(os.fsencode(word)) for word in sys.argv[1:]],
    "told": {name: value for name, value in os.environ.items() if name.startswith("MCPTASK_")},
    "user": [os.getuid(), os.access("/", os.W_OK), os.access("/mcptask", os.W_OK)],
    "home": [os.environ["HOME"], os.access(os.environ["HOME"], os.W_OK)],
    "secret": os.environ.get("DB"),
    "token": os.path.exists("/var/run/secrets/kubernetes.io/serviceaccount/token"),
}
with open("/dev/termination-log", "w") as file:
    json.dump(report, file)
"""
"""What a container runs: it tells what it was given, by hashes where that may be long."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What came of a pod."""

    reports: Mapping[str, Any]
    """What each container told, by its name."""
    pod: Mapping[str, Any]


MakeTool = Callable[..., McpTool]
CreateTask = Callable[[McpTool, str], Awaitable[McpTask]]
RunCall = Callable[..., Awaitable[Ran]]


@pytest.fixture(scope="session")
def root_image(cluster: Any) -> str:
    """An image that was built to run as root, on the node as it is: the plain Python that our own image stands on."""
    image = base_image(find_engine(), None)
    cluster.load_docker_image(image)
    return image


@pytest.fixture(scope="session")
def make_tool(root_image: str) -> MakeTool:
    """A tool with those properties beside `omitted` and `defaulted`, that tells what it was given."""

    def make(properties: Iterable[str], *, default: str = "") -> McpTool:
        container = {
            "image": root_image,
            "command": ["python3", "-c", REPORT],
            "env": [{"name": "DB", "valueFrom": {"secretKeyRef": {"name": "database", "key": "password"}}}],
        }
        main = {**container, "name": "main", "args": ["$(ARG_DEFAULTED)", "--x=$(ARG_DEFAULTED)"]}
        pod = {"initContainers": [{**container, "name": "first"}], "containers": [main]}
        schema: dict[str, Any] = {name: {} for name in properties} | {"omitted": {}, "defaulted": {"default": default}}
        return McpTool.model_validate(
            {
                "metadata": {"name": "report", "uid": "tool-uid", "generation": 1},
                "spec": {
                    "description": "Tells what it was given.",
                    "inputSchema": {"type": "object", "properties": schema},
                    "job": {"template": {"spec": pod}},
                },
            }
        )

    return make


@pytest.fixture
def create_task(kube: Kube, namespace: str) -> CreateTask:
    """Create the task of a call, as the server does."""
    return partial(_create_task, kube, namespace)


@pytest.fixture
async def run_call(kube: Kube, namespace: str, create_task: CreateTask) -> RunCall:
    """Run a tool with those arguments, the JSON text, and tell what came of its pod.

    The namespace takes only pods that keep to Kubernetes' own standard for restricted ones.
    """
    enforced = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await kube.request("PATCH", f"/api/v1/namespaces/{namespace}", body=enforced, content_type=MERGE_PATCH)
    await kube.create(SECRETS, namespace, {"metadata": {"name": "database"}, "stringData": {"password": "TOPSECRET"}})

    async def run(tool: McpTool, text: str) -> Ran:
        task = await create_task(tool, text)
        if task.spec.arguments_from is not None:
            await kube.create(SECRETS, namespace, _secret(task, tool, text))
        await kube.create(JOBS, namespace, render(task, tool), fieldValidation="Strict")
        async with asyncio.timeout(POD_SECONDS):
            pod = await _ended_pod(kube, namespace, task.metadata.name)
        statuses = pod["status"].get("initContainerStatuses", []) + pod["status"]["containerStatuses"]
        reports = {each["name"]: json.loads(each["state"]["terminated"]["message"]) for each in statuses}
        return Ran(reports=reports, pod=pod)

    return run


async def _create_task(kube: Kube, namespace: str, tool: McpTool, text: str) -> McpTask:
    name = names.new_task_id()
    spec: dict[str, Any] = {"tool": {"name": tool.name}}
    if len(text.encode()) <= limits.ARGUMENTS_INLINE_BYTES:
        spec["arguments"] = text
    else:
        spec["argumentsFrom"] = {"secretName": names.arguments_secret_name(name)}
    manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    return McpTask.model_validate(await kube.create(TASKS, namespace, manifest))


def _secret(task: McpTask, tool: McpTool, text: str) -> dict[str, Any]:
    owner = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "name": task.metadata.name,
        "uid": task.metadata.uid,
    }
    return {
        "metadata": {
            "name": names.arguments_secret_name(task.metadata.name),
            "labels": {names.MANAGED_BY_LABEL: names.MANAGED_BY, names.TASK_LABEL: task.metadata.name},
            "ownerReferences": [owner],
        },
        "immutable": True,
        "stringData": arguments.arguments_secret_data(tool.spec.input_schema, text),
    }


async def _ended_pod(kube: Kube, namespace: str, task: str) -> dict[str, Any]:
    watch = kube.watch(PODS, namespace, timeout_seconds=POD_SECONDS, labelSelector=f"{names.TASK_LABEL}={task}")
    async with aclosing(watch) as events:
        async for event in events:
            pod: dict[str, Any] = event["object"]
            statuses = pod.get("status", {}).get("containerStatuses", ())
            if statuses and all("terminated" in each["state"] for each in statuses):
                return pod
    raise AssertionError("the watch ended before the pod did")
