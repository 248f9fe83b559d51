"""What somebody with kubectl may do to a task, its Job and its tool while the task lives: it ends right anyway."""

import json
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, RejectedError
from mcptasks_crds.phases import Phase
from mcptasks_operator.testing.kubelet import terminated
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

FORM: Final = {"type": "object", "required": ["sure"], "properties": {"sure": {"type": "boolean"}}}
SURE: Final = {"message": "Sure?", "requestedSchema": json.dumps(FORM), "when": "beforeStart", "expirySeconds": 600}
YES: Final = '{"action": "accept", "content": {"sure": true}}'


async def test_a_task_that_is_relabelled_and_whose_status_is_overwritten_ends_right(operated: World) -> None:
    kube, namespace = operated.kube, operated.namespace
    task = await operated.call()
    pod = await operated.kubelet.run(task)
    before = await operated.status(task, Phase.RUNNING)
    lies = {"phase": "Pending", "message": "nothing runs"}
    stranger = {"metadata": {"labels": {names.TASK_LABEL: "other", names.TOOL_LABEL: None, "mine": "yes"}}}

    await kube.patch(TASKS, namespace, task, {"status": lies}, subresource="status")
    for kind, name in ((TASKS, task), (JOBS, names.job_name(task)), (PODS, pod)):
        await kube.patch(kind, namespace, name, stranger)
    await operated.status(task, Phase.RUNNING)
    with pytest.raises(RejectedError, match="attempts never become fewer"):
        await kube.patch(TASKS, namespace, task, {"status": {"attempts": 0}}, subresource="status")
    with pytest.raises(RejectedError):
        await kube.patch(TASKS, namespace, task, {"spec": {"arguments": '{"text": "other"}'}})
    await operated.kubelet.set(pod, _done())
    after = await operated.status(task)

    assert (after["phase"], after["reason"], after["attempts"]) == ("Completed", "Succeeded", 1)
    assert after["job"]["uid"] == before["job"]["uid"]
    with pytest.raises(RejectedError):
        await kube.patch(TASKS, namespace, task, {"status": {"phase": "Failed"}}, subresource="status")


@pytest.mark.parametrize("what", ["edited", "deleted"])
async def test_tasks_of_a_tool_that_is_gone_or_another_one_run_what_was_called(operated: World, what: str) -> None:
    kube, namespace = operated.kube, operated.namespace
    running, asked = await operated.call(), await operated.call(questions={"sure": SURE})
    pod = await operated.kubelet.run(running)
    await operated.status(running, Phase.RUNNING)
    await operated.status(asked, Phase.INPUT_REQUIRED)
    called = (await operated.job(asked))["spec"]["template"]["spec"]["containers"]

    if what == "deleted":
        await kube.delete(TOOLS, namespace, "echo")
    else:
        other = {"template": {"spec": {"containers": [{"name": "tool", "image": "example.invalid/other:2"}]}}}
        await kube.patch(TOOLS, namespace, "echo", {"spec": {"job": other}})
    await operated.answer(asked, YES)
    await operated.kubelet.set(pod, _done())
    await operated.kubelet.finish(asked, message="done")

    for task in (running, asked):
        assert (await operated.status(task))["reason"] == "Succeeded"
    assert (await operated.job(asked))["spec"]["template"]["spec"]["containers"] == called


def _done() -> dict[str, Any]:
    return terminated(datetime.now(UTC), message="done")
