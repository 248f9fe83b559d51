"""Queues and retries with real pods: one after the other, and another one where one has failed."""

import asyncio
import itertools
import json
from typing import Any, Final
from uuid import uuid4

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import PODS, TASKS
from mcptasks_crds.phases import Phase
from mcptasks_operator.testing.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

STATE: Final = "/state"
"""A directory of the node: attempts have nothing in common but what is outside of their pods."""
THIRD_TIME_LUCKY: Final = f"""
import os, sys
number = 1 + len(os.listdir({STATE!r}))
open(f"{STATE}/{{number}}", "w").close()
print(f"attempt {{number}}")
with open(os.environ["MCPTASK_RESULT"], "w") as file:
    file.write(f"said by {{number}}")
sys.exit(0 if number == 3 else number)
"""
UNTIL_IT_IS_DRAINED: Final = f"""
import os, time
number = 1 + len(os.listdir({STATE!r}))
open(f"{STATE}/{{number}}", "w").close()
if number == 1:
    time.sleep(600)
print(f"attempt {{number}}")
"""


def stateful(image: str, program: str) -> dict[str, Any]:
    """A pod whose program finds what attempts before it have left."""
    container = {
        "name": "tool",
        "image": image,
        "command": ["python3", "-c", program],
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
        "volumeMounts": [{"name": "state", "mountPath": STATE}],
    }
    path = f"/tmp/mcptasks-attempts-{uuid4().hex[:8]}"  # a directory of the node, not of ours
    volume = {"name": "state", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
    return {"template": {"spec": {"containers": [container], "volumes": [volume]}}}


def text_of(status: Json) -> str:
    return str(json.loads(status["result"]["inline"])["content"][0]["text"])


async def fails_twice(world: World, image: str) -> None:
    await world.tool("lucky", job=stateful(image, THIRD_TIME_LUCKY), retries=2)
    task = await world.call("lucky")
    await world.until(TASKS, task, lambda seen: "(attempt 2 of 3)" in seen.get("status", {}).get("message", ""))

    status = await world.status(task)

    assert (status["phase"], status["reason"], status["attempts"]) == ("Completed", "Succeeded", 3)
    assert text_of(status) == "said by 3"


async def fails_for_good(world: World, image: str) -> None:
    await world.tool("unlucky", job=stateful(image, THIRD_TIME_LUCKY), retries=1)
    task = await world.call("unlucky")

    status = await world.status(task)

    assert (status["phase"], status["reason"], status["attempts"]) == ("Completed", "ExitCode", 2)
    assert (status["exitCode"], text_of(status)) == (2, "said by 2\nexit code 2")


async def is_drained(world: World, image: str) -> None:
    await world.tool("drained", job=stateful(image, UNTIL_IT_IS_DRAINED), retries=1)
    task = await world.call("drained")
    await world.status(task, Phase.RUNNING)
    (pod,) = await world.kubelet.pods_of(task)
    name = pod["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await world.kube.request("POST", PODS.path(world.namespace, name, subresource="eviction"), body=eviction)

    status = await world.status(task)

    assert (status["phase"], status["reason"], status["attempts"]) == ("Completed", "Succeeded", 2)
    assert text_of(status).strip() == "attempt 2"


async def run_one_at_a_time(world: World, image: str) -> None:
    container = {"name": "tool", "image": image, "command": ["python3", "-c", "import time; time.sleep(1)"]}
    await world.tool("one", job={"template": {"spec": {"containers": [container]}}}, limits={"running": 1})
    tasks = [await world.call("one") for _ in range(3)]

    ended = [await world.status(task) for task in tasks]

    assert [status["reason"] for status in ended] == ["Succeeded"] * 3
    spans = sorted((status["startedAt"], status["finishedAt"]) for status in ended)
    for (_, over), (begun, _) in itertools.pairwise(spans):
        assert begun >= over[:19]  # the kubelet tells whole seconds


async def test_they_wait_for_their_turn_and_are_tried_again(operated: World, python_image: str) -> None:
    """Side by side, for each of these waits for Kubernetes most of the time."""
    await asyncio.gather(
        fails_twice(operated, python_image),
        fails_for_good(operated, python_image),
        is_drained(operated, python_image),
        run_one_at_a_time(operated, python_image),
    )
