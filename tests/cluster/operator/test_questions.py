"""Questions before the start, with real pods: asked, answered by a patch, seen by the pod; or never run at all."""

import asyncio
import json
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import JOBS, PODS
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.proxy import Fault
from mcptasks_operator.testing.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}
SURE: Final = {"message": "Sure?", "requestedSchema": json.dumps(FORM), "when": "beforeStart", "expirySeconds": 600}
YES: Final = '{"action": "accept", "content": {"sure": true, "note": "a \\"quote\\", 1.0 and $(ARG_TEXT)", "n": 1.0}}'
PROGRAM: Final = """
import json, os
with open(os.environ["MCPTASK_ANSWERS"]) as file:
    text = file.read()
json.loads(text)
with open(os.environ["MCPTASK_RESULT"], "w") as file:
    file.write(text)
"""


async def version(world: World) -> str:
    found = await world.kube.list(PODS, world.namespace, limit="1")
    return str(found["metadata"]["resourceVersion"])


@pytest.fixture
async def asking(operated: World, python_image: str) -> World:
    """A namespace where the tool `echo` gives back the answers that its pod was given."""
    await operated.tool("echo", job=job(python_image))
    return operated


def job(image: str) -> dict[str, Any]:
    container = {"name": "tool", "image": image, "command": ["python3", "-c", PROGRAM]}
    return {"template": {"spec": {"containers": [container]}}}


async def asked(world: World, **question: Any) -> str:
    task = await world.call(questions={"sure": SURE | question})
    await world.status(task, Phase.INPUT_REQUIRED)
    return task


def text_of(status: dict[str, Any]) -> str:
    return str(json.loads(status["result"]["inline"])["content"][0]["text"])


async def test_the_pod_starts_with_the_answer_and_finds_it_as_it_was_given(asking: World) -> None:
    before = await version(asking)
    task = await asked(asking)
    assert await asking.pods_since(before) == []

    await asking.answer(task, YES)
    status = await asking.status(task)

    assert (status["phase"], status["reason"]) == ("Completed", "Succeeded")
    assert text_of(status) == f'{{"sure":{YES}}}'
    assert len(await asking.pods_since(before)) == 1


async def test_what_was_answered_before_the_task_is_there_too_and_nothing_is_an_empty_object(asking: World) -> None:
    answers = {"sure": {"response": YES, "by": "alice"}}
    early = await asking.call(questions={"sure": SURE | {"when": "beforeTask"}}, answers=answers)
    plain = await asking.call()

    assert text_of(await asking.status(early)) == f'{{"sure":{YES}}}'
    assert text_of(await asking.status(plain)) == "{}"


async def test_what_is_declined_expires_or_is_cancelled_never_has_a_pod(asking: World) -> None:
    before = await version(asking)
    declined, cancelled = await asked(asking), await asked(asking)
    expired = await asking.call(questions={"sure": SURE | {"expirySeconds": 2}})

    await asking.answer(declined, '{"action":"decline"}')
    await asking.cancel(cancelled)
    tasks = (declined, expired, cancelled)
    statuses = await asyncio.gather(*(asking.status(task) for task in tasks))
    await asyncio.gather(*(asking.gone(JOBS, names.job_name(task)) for task in tasks))

    assert [status["reason"] for status in statuses] == ["Declined", "QuestionExpired", "Cancelled"]
    assert await asking.pods_since(before) == []


async def test_an_operator_killed_between_the_answer_and_the_start_leaves_one_pod(
    idle: World, python_image: str
) -> None:
    before = await version(idle)
    async with idle.process() as doomed:
        await idle.tool("echo", job=job(python_image))
        task = await asked(idle)
        held = idle.proxy.add(Fault(method="PATCH", path=r"/jobs/[^/]+$", hold_answer=True))
        await idle.answer(task, YES)
        await held.reached.wait()
        doomed.kill()
        await doomed.wait()
        await idle.bury()
    held.release.set()

    async with idle.operator():
        status = await idle.status(task)

    assert (status["phase"], text_of(status)) == ("Completed", f'{{"sure":{YES}}}')
    assert len(await idle.pods_since(before)) == 1
