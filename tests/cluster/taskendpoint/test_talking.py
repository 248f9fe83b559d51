"""Pods on a real kubelet that talk to the task endpoint of a release, and what their clients see of it."""

import asyncio
import json
from typing import Any

import pytest

from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.releases import Release
from mcptasks_server.testing.wire import WITH_FORMS, WITH_TASKS, Wire

from .conftest import client_of, offer

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(300)]

ACCEPT = {"action": "accept", "content": {"go": True}}


async def begin(wire: Wire, tool: str, **arguments: Any) -> str:
    """Call a tool as a task."""
    params = {"name": tool, "arguments": arguments}
    answer = await wire.call("tools/call", params, capabilities=WITH_FORMS)
    task_id: str = answer.result["taskId"]
    return task_id


async def get(wire: Wire, task_id: str) -> dict[str, Any]:
    """The task as it is shown."""
    return (await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result


async def until(wire: Wire, task_id: str, *statuses: str) -> dict[str, Any]:
    """The task once it has one of these statuses."""

    async def probe() -> dict[str, Any] | None:
        seen = await get(wire, task_id)
        return seen if seen["status"] in statuses else None

    return await eventually(probe, what=f"{task_id} is {statuses}", timeout_seconds=90)


def texts(task: dict[str, Any]) -> list[str]:
    """The texts of a task's result."""
    return [part["text"] for part in task["result"]["content"]]


async def test_a_pods_progress_question_and_result_reach_the_client(wire: Wire, release: Release) -> None:
    offer(release, "work", job="work")
    task_id = await begin(wire, "work", steps=6)
    messages: list[str] = []

    async def asks() -> dict[str, Any] | None:
        seen = await get(wire, task_id)
        messages.append(seen.get("statusMessage", ""))
        return seen if seen["status"] == "input_required" else None

    asking = await eventually(asks, what="the pod asks", timeout_seconds=90)
    (phase,) = {item["status"]["phase"] for item in release.objects("mcptasks") if item["metadata"]["name"] == task_id}
    answers = {"taskId": task_id, "inputResponses": {"go": ACCEPT}}
    await wire.call("tasks/update", answers, capabilities=WITH_FORMS)
    done = await until(wire, task_id, "completed", "failed")

    assert any(message.startswith(("1/6: step 1", "2/6: step 2", "3/6: step 3")) for message in messages), messages
    assert list(asking["inputRequests"]) == ["go"]
    assert phase in ("InputRequired", "Running")
    assert [texts(done)[0], json.loads(texts(done)[1])] == ["first", ACCEPT]
    assert done["result"]["structuredContent"] == {"n": 1.0}


async def test_a_held_call_is_told_its_pods_progress(wire: Wire, release: Release) -> None:
    offer(release, "held-flood", job="flood", taskSupport="forbidden")

    params = {"name": "held-flood", "arguments": {}}
    answer = await wire.call("tools/call", params, capabilities={}, meta={"progressToken": "p"})

    told = [each["progress"] for each in answer.told("notifications/progress")]
    assert told == sorted(told)
    assert len({value for value in told if value > 1}) >= 2
    assert int(answer.result["content"][0]["text"]) >= 20


async def test_a_listening_client_is_pushed_progress_and_result(wire: Wire, release: Release) -> None:
    offer(release, "pushed", job="flood")
    task_id = await begin(wire, "pushed")
    asked = {"notifications": {"taskIds": [task_id]}}
    seen: list[dict[str, Any]] = []
    async with wire.stream("subscriptions/listen", asked, capabilities=WITH_TASKS) as stream:
        while not seen or seen[-1]["status"] == "working":
            seen.append((await stream.until("notifications/tasks", within=60))["params"])

    assert seen[-1]["status"] == "completed"
    assert any(each.get("statusMessage", "").isdigit() for each in seen)


async def test_a_pod_reads_its_task(wire: Wire, release: Release) -> None:
    offer(release, "read", job="read")
    done = await until(wire, task_id := await begin(wire, "read", steps=7), "completed", "failed")

    said = json.loads(texts(done)[0])
    assert said["taskId"] == task_id
    assert (said["tool"], said["arguments"], said["cancelRequested"]) == ("read", {"steps": 7}, False)


async def test_a_result_ends_the_pod_that_would_go_on(wire: Wire, release: Release) -> None:
    offer(release, "linger", job="linger")
    done = await until(wire, task_id := await begin(wire, "linger"), "completed", "failed")

    assert texts(done) == ["given"]

    async def is_gone() -> bool:
        pods = release.objects("pods", "--selector", f"mcptasks.dev/task={task_id}")
        return all(pod["status"]["phase"] in ("Succeeded", "Failed") for pod in pods)

    await eventually(is_gone, what="the pod has ended", timeout_seconds=60)


async def test_a_question_that_nobody_answers_is_cancelled_for_the_pod(wire: Wire, release: Release) -> None:
    offer(release, "expire", job="expire")
    done = await until(wire, await begin(wire, "expire"), "completed", "failed")

    assert json.loads(texts(done)[0])["answer"] == {"action": "cancel"}


async def test_the_run_limit_stands_still_while_a_pod_waits_for_its_answer(wire: Wire, release: Release) -> None:
    offer(release, "limited", job="work", timeoutSeconds=8)
    task_id = await begin(wire, "limited", steps=1)
    await until(wire, task_id, "input_required")
    await asyncio.sleep(10)  # longer than the limit: time is what is tried here
    (job,) = release.objects("jobs", "--selector", f"mcptasks.dev/task={task_id}")

    assert (await get(wire, task_id))["status"] == "input_required"
    answers = {"taskId": task_id, "inputResponses": {"go": ACCEPT}}
    await wire.call("tasks/update", answers, capabilities=WITH_FORMS)
    done = await until(wire, task_id, "completed", "failed")
    assert json.loads(texts(done)[1]) == ACCEPT
    assert job["spec"]["activeDeadlineSeconds"] > 600_000  # seven days, in which somebody may answer


async def test_a_pod_cannot_speak_for_another_task_and_has_no_rights(wire: Wire, release: Release) -> None:
    offer(release, "lie", job="lie")
    done = await until(wire, await begin(wire, "lie"), "completed", "failed")

    assert json.loads(texts(done)[0]) == [[403, 403], False]


async def test_parts_come_before_a_result_that_is_a_file(wire: Wire, release: Release) -> None:
    offer(release, "level-one", job="level_one")
    done = await until(wire, await begin(wire, "level-one"), "completed", "failed")

    assert texts(done) == ["first", "second"]


async def test_a_large_result_comes_whole_and_one_that_is_too_large_leaves_both_its_ends(
    wire: Wire, release: Release
) -> None:
    offer(release, "large", job="large")
    offer(release, "careless", job="careless")
    offer(release, "typed", job="large", outputSchema={"type": "object", "properties": {"size": {"maximum": 1}}})
    ids = [
        await begin(wire, tool, steps=size)
        for tool, size in (("large", 700_000), ("typed", 700_000), ("large", 1_200_000), ("careless", 1_200_000))
    ]
    given, typed, failed, careless = [await until(wire, task_id, "completed", "failed") for task_id in ids]
    secrets = [release.objects("secrets", "--selector", f"mcptasks.dev/task={task_id}") for task_id in ids]
    objects = {item["metadata"]["name"]: item["status"] for item in release.objects("mcptasks")}

    assert texts(given) == ["begin" + "x" * 700_000 + "end"]
    assert given["result"]["structuredContent"] == {"size": 700_000}
    assert [len(found) for found in secrets] == [1, 1, 0, 0]
    assert typed["result"]["isError"] is True
    assert "breaks its outputSchema: /size: " in texts(typed)[0]
    assert objects[ids[1]]["logTail"] == "on it\n"
    assert failed["result"]["isError"] is True
    (words,) = texts(failed)
    assert all(each in words for each in ("on it", "exit code 22", "1048576", "beginxxx", "xxxend"))
    assert (careless["status"], careless["error"]["data"]) == ("failed", {"reason": "ResultTooLarge"})
    assert all(each in careless["error"]["message"] for each in ("1048576", "beginxxx", "xxxend"))
    release.kubectl("delete", "mcptask", ids[0])

    async def is_gone() -> bool:
        return not release.objects("secrets", "--selector", f"mcptasks.dev/task={ids[0]}")

    await eventually(is_gone, what="the Secret has gone with its task", timeout_seconds=60)


async def test_servers_that_are_killed_in_the_middle_lose_nothing(release: Release, wire: Wire) -> None:
    offer(release, "survive", job="work")
    task_id = await begin(wire, "survive", steps=20)
    await until(wire, task_id, "working")
    before = release.servers()
    release.kubectl("delete", "pods", *before, "--grace-period=0", "--force")

    async def is_back() -> bool:
        return len(set(release.servers()) - set(before)) >= 2

    await eventually(is_back, what="new servers are ready", timeout_seconds=120)

    def task() -> Any:
        (found,) = (item for item in release.objects("mcptasks") if item["metadata"]["name"] == task_id)
        return found

    async def asks() -> bool:
        return "go" in task()["status"].get("report", {}).get("questions", {})

    await eventually(asks, what="the pod asks", timeout_seconds=90)
    answers = {"taskId": task_id, "inputResponses": {"go": ACCEPT}}
    async with client_of(release) as client:  # the one before has lost its server
        assert (await client.call("tasks/update", answers, capabilities=WITH_FORMS)).status == 200

    async def is_over() -> bool:
        return bool(task()["status"]["phase"] == "Completed")

    await eventually(is_over, what="the task is over", timeout_seconds=90)
    report = task()["status"]["report"]
    assert report["progress"]["progress"] == 19
    assert json.loads(report["content"]) == [{"type": "text", "text": "first"}]
