"""A task that somebody deletes takes all with it that was its own, whichever way it is deleted, and nobody holds it."""

import asyncio
import json
from dataclasses import replace
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, SECRETS, TASKS, Kind, NotFoundError
from mcptasks_crds.phases import Phase
from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_operator.testing.kubelet import FakeKubelet
from mcptasks_operator.testing.world import World
from mcptasks_server.cluster.manifests import result_secret

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(180)]

NAMESPACES: Final = "/api/v1/namespaces"
MODES: Final = ["Background", "Foreground", "Orphan"]


async def delete(world: World, task: str, mode: str) -> None:
    path = TASKS.path(world.namespace, task)
    await world.kube.request("DELETE", path, body={"propagationPolicy": mode})


async def running(world: World, **spec: Any) -> tuple[str, str]:
    """A task whose program runs, and its pod."""
    task = await world.call(**spec)
    pod = await world.kubelet.run(task)
    await world.status(task, Phase.RUNNING)
    return task, pod


async def all_are_gone(world: World, task: str, pod: str) -> None:
    for kind, name in ((TASKS, task), (JOBS, names.job_name(task)), (PODS, pod)):
        await is_gone(world, kind, name)


async def is_gone(world: World, kind: Kind, name: str) -> None:
    async def gone() -> bool:
        return not await world.exists(kind, name)

    # A garbage collector that has just been started does not know of our kinds for half a minute.
    await eventually(gone, what=f"{kind.plural}/{name} is gone", timeout_seconds=120)


@pytest.mark.requirement("failures/f1-03")
@pytest.mark.parametrize("mode", MODES)
async def test_a_running_tasks_job_and_pod_go_with_it(operated: World, mode: str) -> None:
    task, pod = await running(operated)

    await delete(operated, task, mode)

    await all_are_gone(operated, task, pod)


@pytest.mark.requirement("failures/f1-03")
@pytest.mark.parametrize("mode", MODES)
async def test_a_task_that_is_held_goes_with_its_suspended_job_which_never_starts(operated: World, mode: str) -> None:
    await operated.tool("one", limits={"running": 1})
    await operated.tool("gpus", queueName="gpus")
    runs, _ = await running(operated, tool="one")
    held = [await operated.call("one"), await operated.call("gpus")]
    for task in held:
        await operated.until(TASKS, task, lambda seen: seen.get("status", {}).get("message", "").startswith("queued"))
        assert (await operated.job(task))["spec"]["suspend"] is True
    version = (await operated.kube.list(PODS, operated.namespace))["metadata"]["resourceVersion"]

    for task in held:
        await delete(operated, task, mode)

    for task in held:
        await is_gone(operated, TASKS, task)
        await is_gone(operated, JOBS, names.job_name(task))
    assert await operated.pods_since(version) == []
    assert (await operated.status(runs, Phase.RUNNING))["phase"] == Phase.RUNNING


async def test_what_was_orphaned_while_no_operator_was_there_is_removed_by_the_next(world: World) -> None:
    async with world.operator():
        await world.tool()
        task, pod = await running(world)
    await delete(world, task, "Orphan")
    await is_gone(world, TASKS, task)
    await world.until(JOBS, names.job_name(task), lambda seen: "ownerReferences" not in seen["metadata"])

    async with world.operator():
        await all_are_gone(world, task, pod)


async def test_the_arguments_of_an_orphan_go_too(operated: World) -> None:
    task = names.new_task_id()
    manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": task},
        "spec": {"tool": {"name": "echo"}, "argumentsFrom": {"secretName": names.arguments_secret_name(task)}},
    }
    made = await operated.kube.create(TASKS, operated.namespace, manifest)
    owner = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "name": task,
        "uid": made["metadata"]["uid"],
    }
    metadata = {"name": names.arguments_secret_name(task), "ownerReferences": [owner]}
    await operated.kube.create(
        SECRETS, operated.namespace, {"metadata": metadata, "stringData": {"arguments.json": "{}"}}
    )
    pod = await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)

    await delete(operated, task, "Orphan")

    await all_are_gone(operated, task, pod)
    await is_gone(operated, SECRETS, names.arguments_secret_name(task))


async def with_a_large_result(world: World) -> tuple[str, str, str]:
    """A task whose program runs and has given a result in a Secret, as the server keeps it; its pod, and the Secret."""
    task, pod = await running(world)
    name = names.result_secret_name(task, "a result")
    seen = McpTask.model_validate(await world.kube.get(TASKS, world.namespace, task))
    await world.kube.create(SECRETS, world.namespace, result_secret(name, "a result", task=seen))
    return task, pod, name


async def test_a_large_result_of_an_orphan_goes_with_its_job(operated: World) -> None:
    task, pod, secret = await with_a_large_result(operated)

    await delete(operated, task, "Orphan")

    await all_are_gone(operated, task, pod)
    await is_gone(operated, SECRETS, secret)


async def test_a_large_result_stays_with_its_task_when_the_job_goes(operated: World) -> None:
    task, pod, secret = await with_a_large_result(operated)

    await operated.kube.delete(JOBS, operated.namespace, names.job_name(task))
    await is_gone(operated, JOBS, names.job_name(task))
    await is_gone(operated, PODS, pod)

    def is_the_tasks_alone(seen: Json) -> bool:
        return [owner["kind"] for owner in seen["metadata"]["ownerReferences"]] == [names.TASK_KIND]

    await operated.until(SECRETS, secret, is_the_tasks_alone)


async def test_a_job_of_somebody_elses_with_our_labels_is_left_alone(operated: World) -> None:
    task, pod = await running(operated)
    mine = await operated.job(task)
    metadata = {"name": "theirs", "labels": mine["metadata"]["labels"] | {names.TASK_LABEL: "theirs"}}
    container = {"name": "tool", "image": "example.invalid/echo:1"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    await operated.kube.create(JOBS, operated.namespace, {"metadata": metadata, "spec": {"template": template}})

    # By the time that this orphan is gone, the operator has looked at that Job long since.
    await delete(operated, task, "Orphan")
    await all_are_gone(operated, task, pod)

    assert await operated.exists(JOBS, "theirs")
    await operated.kube.delete(JOBS, operated.namespace, "theirs")


async def test_tasks_of_a_namespace_that_is_deleted_go_without_an_operator(world: World) -> None:
    """Nothing of ours holds a namespace back: there is no finalizer, and nobody has to be there."""
    made = await world.kube.request("POST", NAMESPACES, body={"metadata": {"generateName": "doomed-"}})
    namespace = json.loads(made)["metadata"]["name"]
    doomed = replace(world, namespace=namespace, kubelet=FakeKubelet(kube=world.kube, namespace=namespace))
    async with doomed.operator():
        await doomed.tool()
        tasks = [await running(doomed) for _ in range(3)]
        ended = await doomed.call()
        await doomed.kubelet.finish(ended, message="done")
        await doomed.status(ended)

    await world.kube.request("DELETE", f"{NAMESPACES}/{namespace}")

    await asyncio.gather(*(all_are_gone(doomed, task, pod) for task, pod in tasks))
    await is_gone(doomed, TASKS, ended)

    async def namespace_is_gone() -> bool:
        try:
            await world.kube.request("GET", f"{NAMESPACES}/{namespace}")
        except NotFoundError:
            return True
        return False

    await eventually(namespace_is_gone, what="the namespace is gone", timeout_seconds=120)
