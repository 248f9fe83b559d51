"""Deleting tasks by kubectl, in each cascade mode and in each state of a task: all is gone, and nothing is held."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import pytest

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


async def in_every_state(world: World) -> tuple[str, ...]:
    """A task that waits for an answer, one whose image cannot be had, one that runs, one that is being stopped, one
    that has ended."""
    stay = '{"text": "stay"}'
    asked = await world.call(questions={"sure": SURE})
    stuck = await world.call("stuck")
    running = await world.call(arguments=stay)
    stopping = await world.call(arguments=stay)
    ended = await world.call()
    await asyncio.gather(
        world.status(asked, Phase.INPUT_REQUIRED),
        world.until(PODS, await world.kubelet.pod_of(stuck), lambda pod: bool(pod["spec"].get("nodeName"))),
        world.status(running, Phase.RUNNING),
        world.status(stopping, Phase.RUNNING),
        world.status(ended),
    )
    await world.cancel(stopping)
    return asked, stuck, running, stopping, ended


async def test_each_cascade_mode_removes_all_of_a_task_in_each_state(
    operated: World, python_image: str, kubeconfig: Path
) -> None:
    await operated.tool("echo", job=_job(python_image))
    await operated.tool("stuck", job=_job("example.invalid/none:1"))
    modes = ("background", "foreground", "orphan")
    tasks = await asyncio.gather(*(in_every_state(operated) for _ in modes))
    kubectl = (program("kubectl"), "--kubeconfig", str(kubeconfig), "--namespace", operated.namespace)

    for mode, of_mode in zip(modes, tasks, strict=True):
        run([*kubectl, "delete", "mcptask", *of_mode, f"--cascade={mode}", "--wait=false"])

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
        await idle.tool("echo", job=_job(python_image))
        await idle.tool("stuck", job=_job("example.invalid/none:1"))
        await in_every_state(idle)

    run([program("kubectl"), "--kubeconfig", str(kubeconfig), "delete", "namespace", idle.namespace, "--wait=false"])

    async def is_gone() -> bool:
        try:
            await idle.kube.request("GET", f"/api/v1/namespaces/{idle.namespace}")
        except NotFoundError:
            return True
        return False

    await eventually(is_gone, what="the namespace is gone", timeout_seconds=GONE_SECONDS)
