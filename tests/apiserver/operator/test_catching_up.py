"""What happens while no operator lives: the next one finds it all, from the cluster's state alone."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, TASKS, TOOLS
from mcptasks_crds.phases import Phase
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}
SURE: Final = {"message": "Sure?", "requestedSchema": json.dumps(FORM), "when": "beforeStart", "expirySeconds": 600}
YES: Final = '{"action": "accept", "content": {"sure": true}}'
NO: Final = '{"action":"decline"}'
IMAGE_OF_THEN: Final = "example.invalid/echo:1"


async def running(world: World, **spec: Any) -> str:
    task = await world.call(**spec)
    await world.kubelet.run(task)
    await world.status(task, Phase.RUNNING)
    return task


async def asked(world: World, tool: str = "echo", *, seconds: int = 600) -> str:
    task = await world.call(tool, questions={"sure": SURE | {"expirySeconds": seconds}})
    await world.status(task, Phase.INPUT_REQUIRED)
    return task


async def queued(world: World) -> str:
    task = await world.call()
    await world.job(task)
    return task


async def over(world: World) -> str:
    task = await running(world, retentionSeconds=1)
    await world.kubelet.finish(task, message="done")
    await world.status(task)
    return task


async def all_of(**made: Awaitable[str]) -> dict[str, str]:
    """Tasks by what is to happen to them."""
    return dict(zip(made, await asyncio.gather(*made.values()), strict=True))


async def edit(world: World, tool: str) -> None:
    container = {"name": "tool", "image": "example.invalid/echo:2"}
    await world.kube.patch(
        TOOLS, world.namespace, tool, {"spec": {"job": {"template": {"spec": {"containers": [container]}}}}}
    )


async def test_a_new_operator_catches_up_with_all_that_happened_while_there_was_none(world: World) -> None:
    async with world.operator():
        await asyncio.gather(
            world.tool(), world.tool("brief", timeoutSeconds=2), world.tool("edited"), world.tool("deleted")
        )
        tasks = await all_of(
            finished=running(world),
            failed=running(world),
            ran_too_long=running(world, tool="brief"),
            job_deleted=running(world),
            pod_deleted=running(world),
            task_deleted=running(world),
            cancelled=queued(world),
            answered=asked(world),
            declined=asked(world),
            nobody_answered=asked(world, seconds=2),
            answered_after_an_edit=asked(world, "edited"),
            answered_after_its_tool_was_deleted=asked(world, "deleted"),
            expired=over(world),
        )

    kubelet = world.kubelet
    await kubelet.finish(tasks["finished"], message="done")
    await kubelet.finish(tasks["failed"], exit_code=3)
    await world.kube.delete(JOBS, world.namespace, names.job_name(tasks["job_deleted"]))
    await kubelet.let_go(await kubelet.pod_of(tasks["pod_deleted"]))
    await world.kube.delete(TASKS, world.namespace, tasks["task_deleted"])
    await world.cancel(tasks["cancelled"])
    await edit(world, "edited")
    await world.kube.delete(TOOLS, world.namespace, "deleted")
    for name in ("answered", "answered_after_an_edit", "answered_after_its_tool_was_deleted"):
        await world.answer(tasks[name], YES)
    await world.answer(tasks["declined"], NO)
    tasks |= await all_of(
        created=world.call(),
        created_of_the_edited_tool=world.call("edited"),
        created_of_the_deleted_tool=world.call("deleted"),
        created_and_cancelled=world.call(),
        created_and_deleted=world.call(),
    )
    await world.cancel(tasks["created_and_cancelled"])
    await world.kube.delete(TASKS, world.namespace, tasks["created_and_deleted"])
    await world.gone(JOBS, names.job_name(tasks["task_deleted"]))

    async with world.operator():
        starts = [
            name for name in tasks if name.startswith("answered") or name in ("created", "created_of_the_edited_tool")
        ]
        await asyncio.gather(*(finish(world, tasks[name]) for name in starts))
        gone = ("task_deleted", "created_and_deleted", "expired")
        await asyncio.gather(*(world.gone(TASKS, tasks[name]) for name in gone))
        ends = {name: await world.status(task) for name, task in tasks.items() if name not in gone}
        images = {name: await image_of(world, tasks[name]) for name in starts}

    assert {name: (end["phase"], end["reason"]) for name, end in ends.items()} == {
        "finished": ("Completed", "Succeeded"),
        "failed": ("Completed", "ExitCode"),
        "ran_too_long": ("Completed", "RunLimit"),
        "job_deleted": ("Failed", "JobDeleted"),
        "pod_deleted": ("Failed", "PodDeleted"),
        "cancelled": ("Cancelled", "Cancelled"),
        "answered": ("Completed", "Succeeded"),
        "declined": ("Completed", "Declined"),
        "nobody_answered": ("Completed", "QuestionExpired"),
        "answered_after_an_edit": ("Completed", "Succeeded"),
        "answered_after_its_tool_was_deleted": ("Completed", "Succeeded"),
        "created": ("Completed", "Succeeded"),
        "created_of_the_edited_tool": ("Completed", "Succeeded"),
        "created_of_the_deleted_tool": ("Failed", "ToolNotFound"),
        "created_and_cancelled": ("Cancelled", "Cancelled"),
    }
    assert [name for name, image in images.items() if image != IMAGE_OF_THEN] == ["created_of_the_edited_tool"]
    assert not await world.exists(JOBS, names.job_name(tasks["created_and_deleted"]))


async def finish(world: World, task: str) -> None:
    await world.kubelet.finish(task, message="done")
    await world.status(task)


async def image_of(world: World, task: str) -> str:
    job: Json = await world.job(task)
    return str(job["spec"]["template"]["spec"]["containers"][0]["image"])
