"""How tasks end: a real API server and Job controller, the kubelet's part played by the test."""

import json

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import EVENTS, JOBS, PODS, SECRETS, TASKS
from mcptasks_crds.phases import Phase
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver


async def test_a_termination_message_becomes_the_result_and_the_log_is_not_read(operated: World) -> None:
    task = await operated.call()
    await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)
    await operated.kubelet.finish(task, message="done well")

    status = await operated.status(task)

    assert (status["phase"], status["reason"], status["exitCode"]) == ("Completed", "Succeeded", 0)
    assert json.loads(status["result"]["inline"])["content"] == [{"type": "text", "text": "done well"}]
    assert not [request for request in operated.proxy.requests if request.path.endswith("/log")]


async def test_an_exit_code_is_a_tool_error(operated: World) -> None:
    task = await operated.call()
    await operated.kubelet.run(task)
    await operated.kubelet.finish(task, exit_code=3, message="no such branch")

    status = await operated.status(task)

    assert (status["phase"], status["reason"], status["exitCode"]) == ("Completed", "ExitCode", 3)
    result = json.loads(status["result"]["inline"])
    assert result["isError"] is True
    assert "no such branch" in result["content"][0]["text"]


async def test_a_cancelled_task_is_cancelled_once_its_pod_is_gone(operated: World) -> None:
    task = await operated.call()
    pod = await operated.kubelet.pod_of(task)
    await operated.kubelet.bind(pod)
    await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)

    await operated.cancel(task)
    stopping = await operated.status(task, Phase.STOPPING)
    await operated.until(PODS, pod, lambda seen: "deletionTimestamp" in seen["metadata"])
    await operated.kubelet.let_go(pod)
    status = await operated.status(task)

    assert stopping["reason"] == "Cancelled"
    assert (status["phase"], status["reason"]) == ("Cancelled", "Cancelled")
    assert "result" not in status
    assert await operated.exists(JOBS, names.job_name(task))


async def test_a_job_deleted_from_outside_fails_the_task_and_is_not_made_again(operated: World) -> None:
    task = await operated.call()
    await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)

    await operated.kube.delete(JOBS, operated.namespace, names.job_name(task))
    status = await operated.status(task)

    assert (status["phase"], status["reason"], status["error"]["code"]) == ("Failed", "JobDeleted", -32603)
    assert operated.job_posts() == 1


async def test_a_pod_deleted_from_outside_fails_the_task(operated: World) -> None:
    task = await operated.call()
    pod = await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)

    await operated.kubelet.let_go(pod)
    status = await operated.status(task)

    assert (status["phase"], status["reason"]) == ("Failed", "PodDeleted")
    assert operated.job_posts() == 1


async def test_a_task_of_a_tool_that_does_not_exist_fails_with_its_name(operated: World) -> None:
    task = await operated.call("no-such-tool")

    status = await operated.status(task)

    assert (status["phase"], status["reason"]) == ("Failed", "ToolNotFound")
    assert "no-such-tool" in status["message"]
    assert operated.job_posts() == 0


async def test_arguments_that_break_the_schema_fail_a_task_that_was_written_by_hand(operated: World) -> None:
    task = await operated.call(arguments='{"text": 3}')

    status = await operated.status(task)

    assert (status["phase"], status["reason"]) == ("Failed", "ArgumentsInvalid")
    assert "/text" in status["message"]
    assert operated.job_posts() == 0


async def test_anothers_job_of_the_same_name_fails_the_task_and_is_left_alone(world: World) -> None:
    async with world.operator():
        await world.tool()
        task = await world.call()
        made = await world.job(task)
        await world.status(task, Phase.PENDING)
    other = names.new_task_id()
    foreign = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": names.job_name(other)},
        "spec": {"suspend": True, "template": made["spec"]["template"] | {"metadata": {}}},
    }
    await world.kube.create(JOBS, world.namespace, foreign)

    async with world.operator():
        manifest = await world.kube.get(TASKS, world.namespace, task)
        copy = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": {"name": other}}
        await world.kube.create(TASKS, world.namespace, copy | {"spec": manifest["spec"]})
        status = await world.status(other)

    assert (status["phase"], status["reason"]) == ("Failed", "JobNameTaken")
    left = await world.kube.get(JOBS, world.namespace, names.job_name(other))
    assert "ownerReferences" not in left["metadata"]
    assert left["spec"].get("ttlSecondsAfterFinished") is None


async def test_an_end_is_told_by_one_event(operated: World) -> None:
    task = await operated.call()
    await operated.kubelet.finish(task, exit_code=3)
    await operated.status(task)

    event = await operated.until(EVENTS, names.event_name(task, "ExitCode"), lambda _: True)

    assert event["regarding"]["name"] == task
    assert event["reason"] == "ExitCode"


@pytest.mark.requirement("failures/f1-22")
async def test_a_task_whose_time_is_over_is_deleted_with_all_that_it_owns(operated: World) -> None:
    task = names.new_task_id()
    secret = names.arguments_secret_name(task)
    reference = {"apiVersion": names.API_VERSION, "kind": names.TASK_KIND}
    spec = {"tool": {"name": "echo"}, "argumentsFrom": {"secretName": secret}, "retentionSeconds": 1}
    made = await operated.kube.create(TASKS, operated.namespace, reference | {"metadata": {"name": task}, "spec": spec})
    owner = reference | {"name": task, "uid": made["metadata"]["uid"]}
    metadata = {"name": secret, "ownerReferences": [owner], "labels": {names.MANAGED_BY_LABEL: names.MANAGED_BY}}
    arguments = {"arguments.json": '{"text": "hi"}'}
    await operated.kube.create(
        SECRETS, operated.namespace, {"metadata": metadata, "immutable": True, "stringData": arguments}
    )

    pod = await operated.kubelet.run(task)
    await operated.kubelet.finish(task, message="done")

    for kind, name in ((TASKS, task), (JOBS, names.job_name(task)), (PODS, pod), (SECRETS, secret)):
        await operated.gone(kind, name)


async def test_tools_run_side_by_side(operated: World) -> None:
    await operated.tool("shout")
    tasks = {tool: await operated.call(tool) for tool in ("echo", "shout")}
    for tool, task in tasks.items():
        await operated.kubelet.finish(task, message=tool)

    for tool, task in tasks.items():
        status = await operated.status(task)
        assert tool in status["result"]["inline"]
        assert status["tool"]["resource"] == tool


@pytest.mark.requirement("failures/f1-18")
async def test_nothing_of_ours_holds_an_object_or_is_written_into_its_annotations(operated: World) -> None:
    task = await operated.call()
    pod = await operated.kubelet.run(task)
    await operated.status(task, Phase.RUNNING)

    for kind, name in ((TASKS, task), (JOBS, names.job_name(task)), (PODS, pod)):
        metadata = (await operated.kube.get(kind, operated.namespace, name))["metadata"]
        finalizers, annotations = metadata.get("finalizers", ()), metadata.get("annotations", {})
        assert [word for word in (*finalizers, *annotations) if "kopf" in word] == []
        assert [word for word in finalizers if names.GROUP in word] == []
