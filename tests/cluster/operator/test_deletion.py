"""Deleting tasks by kubectl, in each cascade mode and in each state of a task: all is gone, and nothing is held."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, NotFoundError
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.shell import run
from mcptasks_operator.testing.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

GONE_SECONDS: Final = 120.0
FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}
SURE: Final = {"message": "Sure?", "requestedSchema": json.dumps(FORM), "when": "beforeStart", "expirySeconds": 600}
STAY: Final = '{"text": "stay"}'
SCRIPT: Final = 'echo done > "$MCPTASK_RESULT"; if [ "$ARG_TEXT" = stay ]; then sleep 1000 & wait; fi'


def _job(image: str) -> dict[str, Any]:
    container = {
        "name": "tool",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", SCRIPT],
        "resources": {"requests": {"cpu": "5m", "memory": "8Mi"}},
    }
    return {"template": {"spec": {"containers": [container]}}}


async def make_tools(world: World, image: str) -> str:
    """One of each kind. Returns the task that runs where only one may: whatever else is called there is held."""
    await world.tool("echo", job=_job(image))
    await world.tool("stuck", job=_job("example.invalid/none:1"))
    await world.tool("one", job=_job(image), limits={"running": 1})
    await world.tool("quota", job=_job(image), queueName="nobody-admits")
    first = await world.call("one", arguments=STAY)
    await world.status(first, Phase.RUNNING)
    return first


async def in_every_state(world: World) -> tuple[str, ...]:
    """A task that waits for an answer, one that waits for its turn, one for Kueue, one whose image cannot be had, one
    that runs, one that is being stopped, one that has ended."""
    asked = await world.call(questions={"sure": SURE})
    in_line = await world.call("one", arguments=STAY)
    for_quota = await world.call("quota")
    stuck = await world.call("stuck")
    running = await world.call(arguments=STAY)
    stopping = await world.call(arguments=STAY)
    ended = await world.call()
    await asyncio.gather(
        world.status(asked, Phase.INPUT_REQUIRED),
        world.until(TASKS, in_line, is_queued),
        world.until(TASKS, for_quota, is_queued),
        world.until(PODS, await world.kubelet.pod_of(stuck), lambda pod: bool(pod["spec"].get("nodeName"))),
        world.status(running, Phase.RUNNING),
        world.status(stopping, Phase.RUNNING),
        world.status(ended),
    )
    await world.cancel(stopping)
    for held in (asked, in_line, for_quota):
        assert (await world.job(held))["spec"]["suspend"] is True
    return asked, in_line, for_quota, stuck, running, stopping, ended


def is_queued(task: Json) -> bool:
    message: str = task.get("status", {}).get("message", "")
    return message.startswith("queued")


async def test_each_cascade_mode_removes_all_of_a_task_in_each_state(
    operated: World, python_image: str, kubeconfig: Path
) -> None:
    first = await make_tools(operated, python_image)
    modes = ("background", "foreground", "orphan")
    tasks = await asyncio.gather(*(in_every_state(operated) for _ in modes))
    kubectl = (program("kubectl"), "--kubeconfig", str(kubeconfig), "--namespace", operated.namespace)

    for mode, of_mode in zip(modes, tasks, strict=True):
        run([*kubectl, "delete", "mcptask", *of_mode, f"--cascade={mode}", "--wait=false"])
    run([*kubectl, "delete", "mcptask", first, "--wait=false"])

    async def all_gone() -> bool:
        for kind in (TASKS, JOBS, PODS):
            if (await operated.kube.list(kind, operated.namespace))["items"]:
                return False
        return True

    await eventually(all_gone, what="tasks, Jobs and pods are gone", timeout_seconds=GONE_SECONDS)


async def test_a_namespace_goes_with_its_tasks_while_no_operator_is_there(
    idle: World, python_image: str, kubeconfig: Path
) -> None:
    async with idle.operator():
        await make_tools(idle, python_image)
        await in_every_state(idle)

    run([program("kubectl"), "--kubeconfig", str(kubeconfig), "delete", "namespace", idle.namespace, "--wait=false"])

    async def is_gone() -> bool:
        try:
            await idle.kube.request("GET", f"/api/v1/namespaces/{idle.namespace}")
        except NotFoundError:
            return True
        return False

    await eventually(is_gone, what="the namespace is gone", timeout_seconds=GONE_SECONDS)
