"""A pod that somebody deletes is never run a second time: the call may have had its effect already."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import JOBS, PODS, Kube
from mcptasks_crds.tool import McpTool
from mcptasks_operator.jobs import render

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(120)]

CreateTask = Callable[[McpTool, str], Awaitable[Any]]


@pytest.fixture
def patient_tool(root_image: str) -> McpTool:
    """A tool that runs until it is told to end, and then says that all is well."""
    container = {"name": "main", "image": root_image, "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait"]}
    return McpTool.model_validate(
        {
            "metadata": {"name": "patient", "uid": "tool-uid"},
            "spec": {"description": "Waits.", "job": {"template": {"spec": {"containers": [container]}}}},
        }
    )


@pytest.mark.parametrize("grace_seconds", [pytest.param(5, id="politely"), pytest.param(0, id="by force")])
@pytest.mark.requirement("failures/f2-22")
async def test_a_deleted_pod_ends_the_job_without_a_second_one(
    grace_seconds: int, patient_tool: McpTool, create_task: CreateTask, kube: Kube, namespace: str
) -> None:
    task = await create_task(patient_tool, "{}")
    await kube.create(JOBS, namespace, render(task, patient_tool))
    selector = f"{names.TASK_LABEL}={task.metadata.name}"
    seen: set[str] = set()

    async def delete_when_running() -> None:
        watch = kube.watch(PODS, namespace, timeout_seconds=60, labelSelector=selector)
        async with aclosing(watch) as events:
            async for event in events:
                pod = event["object"]
                seen.add(pod["metadata"]["uid"])
                if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
                    path = PODS.path(namespace, pod["metadata"]["name"])
                    await kube.request("DELETE", path, body={"gracePeriodSeconds": grace_seconds})

    async def end_of_the_job() -> None:
        watch = kube.watch(JOBS, namespace, timeout_seconds=60, labelSelector=selector)
        async with aclosing(watch) as events:
            async for event in events:
                # `Complete` where the pod says that all is well while it is being deleted: not the tool's own word.
                if {each["type"] for each in event["object"]["status"].get("conditions", ())} & {"Failed", "Complete"}:
                    return
        raise AssertionError("the watch ended before the Job did")

    deleting = asyncio.create_task(delete_when_running())
    async with asyncio.timeout(60):
        await end_of_the_job()
    deleting.cancel()
    await asyncio.gather(deleting, return_exceptions=True)

    assert len(seen) == 1
    assert {pod["metadata"]["uid"] for pod in (await kube.list(PODS, namespace))["items"]} <= seen
    job = await kube.get(JOBS, namespace, names.job_name(task.metadata.name))
    assert job["status"].get("failed", 0) + job["status"].get("succeeded", 0) == 1
