"""Questions before the start: a real API server and Job controller; nothing runs before its answer is there."""

import asyncio
import json
from functools import partial
from typing import Any, Final

import pytest

from mcptasks_crds import limits, names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.proxy import Fault
from mcptasks_operator.testing.world import World, condition

pytestmark = pytest.mark.apiserver

FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}
SURE: Final = {"message": "Sure?", "requestedSchema": json.dumps(FORM), "when": "beforeStart", "expirySeconds": 600}
YES: Final = '{"action": "accept", "content": {"sure": true, "note": "\\u003c1.0\\u003e"}}'
NO: Final = '{"action":"decline"}'


async def asked(world: World, *keys: str, **spec: Any) -> str:
    """A task that waits for an answer to these questions."""
    task = await world.call(questions=dict.fromkeys(keys or ("sure",), SURE), **spec)
    await world.status(task, Phase.INPUT_REQUIRED)
    return task


async def version(world: World) -> str:
    found = await world.kube.list(PODS, world.namespace, limit="1")
    return str(found["metadata"]["resourceVersion"])


async def test_a_task_that_asks_waits_with_its_job_suspended(operated: World) -> None:
    task = await asked(operated)

    status = await operated.status(task, Phase.INPUT_REQUIRED)
    job = await operated.until(JOBS, names.job_name(task), lambda seen: "conditions" in seen.get("status", {}))

    assert status["message"] == "waiting for an answer: sure"
    assert status["job"]["uid"] == job["metadata"]["uid"]
    assert job["spec"]["suspend"] is True
    assert job["status"]["conditions"][0]["type"] == "Suspended"


async def test_an_answer_lets_the_pod_start_with_the_answer_in_its_file(operated: World) -> None:
    task = await asked(operated)
    job = await operated.job(task)

    await operated.answer(task, YES)
    pod = await operated.kube.get(PODS, operated.namespace, await operated.kubelet.run(task))
    await operated.status(task, Phase.RUNNING)
    await operated.kubelet.finish(task, message="done")
    status = await operated.status(task)

    assert pod["metadata"]["annotations"][names.ANSWERS_ANNOTATION] == f'{{"sure":{YES}}}'
    assert (status["phase"], status["reason"]) == ("Completed", "Succeeded")
    assert status["job"]["uid"] == job["metadata"]["uid"]


async def test_every_question_must_be_answered(operated: World) -> None:
    before = await version(operated)
    task = await asked(operated, "first", "second")

    await operated.answer(task, YES, key="second")
    await operated.until(TASKS, task, lambda seen: seen["status"]["message"] == "waiting for an answer: first")
    assert await operated.pods_since(before) == []
    await operated.answer(task, YES, key="first")
    await operated.kubelet.run(task)

    await operated.status(task, Phase.RUNNING)


async def test_an_answer_that_was_there_first_holds_nothing_up(operated: World) -> None:
    answers = {"sure": {"response": YES, "by": "alice"}}

    task = await operated.call(questions={"sure": SURE}, answers=answers)
    pod = await operated.kube.get(PODS, operated.namespace, await operated.kubelet.run(task))

    assert "suspend" not in (await operated.job(task))["spec"] or not (await operated.job(task))["spec"]["suspend"]
    assert json.loads(pod["metadata"]["annotations"][names.ANSWERS_ANNOTATION])["sure"]["action"] == "accept"


async def test_an_answer_from_before_the_task_is_given_to_the_pod(operated: World) -> None:
    answers = {"sure": {"response": YES, "by": "alice"}}

    task = await operated.call(questions={"sure": SURE | {"when": "beforeTask"}}, answers=answers)
    pod = await operated.kube.get(PODS, operated.namespace, await operated.kubelet.run(task))

    assert pod["metadata"]["annotations"][names.ANSWERS_ANNOTATION] == f'{{"sure":{YES}}}'


@pytest.mark.parametrize("response", [NO, '{"action":"cancel"}'])
async def test_a_decline_ends_the_task_and_its_job(operated: World, response: str) -> None:
    before = await version(operated)
    task = await asked(operated)

    await operated.answer(task, response, by="bob")
    status = await operated.status(task)
    await operated.gone(JOBS, names.job_name(task))

    assert (status["phase"], status["reason"], status["message"]) == ("Completed", "Declined", "declined by bob (sure)")
    assert json.loads(status["result"]["inline"])["isError"] is True
    assert await operated.pods_since(before) == []


def waits_for(key: str, task: Json) -> bool:
    """Whether a task waits for an answer under that key."""
    return bool(task["status"]["message"] == f"waiting for an answer: {key}")


async def test_a_question_is_asked_again_for_each_answer_that_breaks_its_form_but_not_for_ever(operated: World) -> None:
    before = await version(operated)
    task = await asked(operated)

    for key in ("sure", *(f"sure-{number}" for number in range(2, limits.MAX_ASKINGS + 1))):
        await operated.until(TASKS, task, partial(waits_for, key))
        await operated.answer(task, '{"action":"accept","content":{"sure":"yes"}}', key=key)
    status = await operated.status(task)
    await operated.gone(JOBS, names.job_name(task))

    assert (status["phase"], status["reason"]) == ("Completed", "AnswerInvalid")
    assert "the answer to sure does not count: /content/sure: " in status["message"]
    assert await operated.pods_since(before) == []


async def test_a_question_that_nobody_answers_ends_the_task(operated: World) -> None:
    before = await version(operated)

    task = await operated.call(questions={"sure": SURE | {"expirySeconds": 2}})
    status = await operated.status(task)
    await operated.gone(JOBS, names.job_name(task))

    assert (status["phase"], status["reason"]) == ("Completed", "QuestionExpired")
    assert status["message"] == "nobody answered sure within 2 s"
    assert await operated.pods_since(before) == []


async def test_a_task_cancelled_while_it_waits_never_has_a_pod(operated: World) -> None:
    before = await version(operated)
    task = await asked(operated)

    await operated.cancel(task)
    status = await operated.status(task)
    await operated.answer(task, YES)  # too late
    await operated.gone(JOBS, names.job_name(task))

    assert (status["phase"], status["reason"]) == ("Cancelled", "Cancelled")
    assert await operated.pods_since(before) == []
    assert operated.job_posts() == 1


async def test_what_becomes_of_the_tool_meanwhile_changes_nothing(operated: World) -> None:
    edited, orphaned = await asked(operated), await asked(operated)
    before = await operated.job(edited)
    container = {"name": "tool", "image": "example.invalid/another:2"}
    changed = {"spec": {"startDeadlineSeconds": 1, "job": {"template": {"spec": {"containers": [container]}}}}}
    await operated.kube.patch(TOOLS, operated.namespace, "echo", changed)
    await operated.judged("echo")
    await operated.answer(edited, YES)
    await operated.kubelet.run(edited)
    await operated.kube.delete(TOOLS, operated.namespace, "echo")
    await operated.answer(orphaned, YES)
    await operated.kubelet.run(orphaned)

    await asyncio.gather(*(operated.status(task, Phase.RUNNING) for task in (edited, orphaned)))
    after = await operated.job(edited)
    assert after["spec"]["template"]["spec"] == before["spec"]["template"]["spec"]


async def test_a_job_deleted_while_it_waits_fails_the_task(operated: World) -> None:
    task = await asked(operated)

    await operated.kube.delete(JOBS, operated.namespace, names.job_name(task))

    assert (await operated.status(task))["reason"] == "JobDeleted"
    assert operated.job_posts() == 1


async def test_the_start_deadline_begins_with_the_answer(world: World) -> None:
    async with world.operator():
        await world.tool(startDeadlineSeconds=2)
        task = await asked(world)
        late = await asked(world, "late")
        job = await world.job(task)
        # The deadline of a Job that did not wait would be over by the time at which this one's question expires.
        expired = await world.call(questions={"sure": SURE | {"expirySeconds": 3}})
        await world.status(expired)

        await world.answer(task, YES)
        await world.answer(late, YES, key="late")
        await world.kubelet.run(task)
        await world.status(task, Phase.RUNNING)
        status = await world.status(late)

    assert status["reason"] == "Unschedulable"  # no node takes pods here
    assert status["message"].startswith("not started within 2 s")
    assert job["metadata"]["annotations"][names.RELEASED_ANNOTATION] == ""


@pytest.mark.requirement("failures/f3-10")
async def test_an_answer_while_no_operator_is_at_work_is_acted_on_later(world: World) -> None:
    async with world.operator():
        await world.tool()
        answered, declined = await asked(world), await asked(world)
    await world.answer(answered, YES)
    await world.answer(declined, NO)

    async with world.operator():
        await world.kubelet.run(answered)
        await world.status(answered, Phase.RUNNING)
        assert (await world.status(declined))["reason"] == "Declined"


MOMENTS = {
    "the Job was made suspended": ("POST", r"/jobs$"),
    "the Job was let start": ("PATCH", r"/jobs/[^/]+$"),
}


@pytest.mark.parametrize("moment", list(MOMENTS))
async def test_an_operator_killed_between_the_answer_and_the_start_leaves_one_pod(world: World, moment: str) -> None:
    method, path = MOMENTS[moment]
    before = await version(world)
    async with world.process() as doomed:
        await world.tool()
        held = world.proxy.add(Fault(method=method, path=path, hold_answer=True))
        task = await world.call(questions={"sure": SURE})
        job = await world.job(task)
        await world.answer(task, YES)
        await held.reached.wait()
        doomed.kill()
        await doomed.wait()
        await world.bury()
    held.release.set()

    async with world.operator():
        await world.kubelet.run(task)
        await world.status(task, Phase.RUNNING)
        await world.kubelet.finish(task, message="done")
        status = await world.status(task)

    assert (status["phase"], status["job"]["uid"]) == ("Completed", job["metadata"]["uid"])
    assert len(await world.pods_since(before)) == 1


@pytest.mark.parametrize("status", [429, 500, None], ids=["429", "500", "a lost answer"])
async def test_a_start_or_a_deletion_that_fails_once_is_made_up_for(operated: World, status: int | None) -> None:
    for method in ("PATCH", "DELETE"):
        lose = status is None
        operated.proxy.add(Fault(method=method, path=r"/jobs/[^/]+$", status=status, lose_answer=lose))
    answered, declined = await asked(operated), await asked(operated)

    await operated.answer(answered, YES)
    await operated.answer(declined, NO)
    await operated.kubelet.run(answered)

    await operated.status(answered, Phase.RUNNING)
    await operated.gone(JOBS, names.job_name(declined))
    assert (await operated.status(declined))["reason"] == "Declined"


async def test_a_task_that_passed_by_a_question_of_its_tool_does_not_run(operated: World) -> None:
    before = await version(operated)
    question = {"key": "sure", "message": "Sure?", "requestedSchema": FORM, "when": "beforeStart"}
    await operated.tool("guarded", questions=[question])

    task = await operated.call("guarded")
    status = await operated.status(task)

    assert (status["phase"], status["reason"]) == ("Failed", "ToolInvalid")
    assert "the tool asks sure before it starts" in status["message"]
    assert await operated.pods_since(before) == []


async def test_a_tool_whose_question_no_client_could_show_is_not_ready(operated: World) -> None:
    form = {"type": "object", "properties": {"branch": {"type": "string", "pattern": "^release/"}}}
    question = {"key": "which", "message": "Which?", "requestedSchema": form, "when": "beforeStart"}

    tool = await operated.tool("asking", questions=[question])

    ready = condition(tool, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "QuestionInvalid")
    assert "questions[which].requestedSchema: /properties/branch: " in ready["message"]


async def test_a_task_that_asks_costs_a_few_requests_more(operated: World) -> None:
    task = await asked(operated, retentionSeconds=2)
    await operated.answer(task, YES)
    await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)
    await operated.kubelet.finish(task, message="done")
    await operated.gone(TASKS, task)

    about = [each for each in operated.proxy.requests if task in each.path and not each.is_watch]
    patches = [each.path for each in about if each.method == "PATCH"]
    assert sum(path.endswith(f"/jobs/{task}") for path in patches) == 1
    assert sum(path.endswith("/status") for path in patches) <= 4  # waits; starts; runs; ended
    assert [each.method for each in about if each.method != "PATCH"] == ["DELETE"]
