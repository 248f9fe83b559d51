"""What a pod says is written without a look at its task where that is known, however old: the task as it is decides."""

from collections.abc import Callable
from typing import Any

import pytest

from mcptasks_crds.base import Json
from mcptasks_server.testing.pods import InMemoryReports, PodClient, running

MakePod = Callable[..., PodClient]
RESULT: Json = {"content": [{"type": "text", "text": "done"}]}
OTHER: Json = {"content": []}
QUESTION: Json = {"message": "Deploy?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "number"}}}}
PARTS: Json = {"content": [{"type": "text", "text": "first"}]}


async def test_what_is_new_is_written_without_a_look(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    said = [
        await pod.put("/questions/deploy", QUESTION),
        await pod.post("/content", PARTS),
        await pod.put("/result", RESULT),
    ]

    assert [each.status for each in said] == [201, 204, 204]
    assert (store.looks, len(store.writes)) == ([], 3)
    assert store.task(task_id).status.report is not None


async def test_what_was_said_before_is_looked_up(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    await pod.put("/result", RESULT)

    said = [await pod.put("/result", RESULT), await pod.put("/result", OTHER)]

    assert [each.status for each in said] == [204, 409]
    assert (store.looks, len(store.writes)) == ([task_id, task_id], 1)


@pytest.mark.parametrize(
    ("meanwhile", "status"),
    [
        ({"message": "still at it"}, 204),
        ({"report": {"result": '{"content":[{"type":"text","text":"done"}]}'}}, 204),
        ({"report": {"result": '{"content":[]}'}}, 409),
        ({"phase": "Cancelled"}, 409),
        ({"stopping": {"reason": "Cancelled", "at": "2026-01-01T00:00:00Z"}}, 409),
        ({"job": {"podUID": "pod-2"}}, 403),
        ({"job": {"podUID": None}}, 403),
    ],
    ids=["told more", "given the same", "given another", "over", "being stopped", "at the next attempt", "between two"],
)
async def test_a_result_is_judged_by_what_the_replica_has_not_seen(
    *, store: InMemoryReports, pod: PodClient, task_id: str, meanwhile: Json, status: int
) -> None:
    store.fall_behind(task_id)
    store.change(task_id, status=meanwhile)
    before = store.task(task_id).status

    assert (await pod.put("/result", RESULT)).status == status
    if "message" in meanwhile:
        assert store.task(task_id).status.report is not None
    else:
        assert store.task(task_id).status == before


@pytest.mark.parametrize("seen", [running(None), running("pod-0")], ids=["no pod", "the pod before"])
async def test_a_pod_that_the_replica_has_not_seen_yet_is_heard(
    store: InMemoryReports, pod_of: MakePod, seen: Json
) -> None:
    task = store.add(status=seen)
    store.fall_behind(task)
    store.change(task, status=running())

    said: list[Any] = [await pod_of(task).put("/questions/deploy", QUESTION), await pod_of(task).put("/result", RESULT)]

    assert [each.status for each in said] == [201, 204]


async def test_a_question_that_another_replica_was_asked_is_asked_once(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    store.fall_behind(task_id)
    said = [
        await pod.put("/questions/deploy", QUESTION),
        await pod.put("/questions/deploy", QUESTION),
        await pod.put("/questions/deploy", {**QUESTION, "message": "Really?"}),
    ]

    assert [each.status for each in said] == [201, 200, 409]
    assert len(store.writes) == 1


async def test_parts_that_another_replica_was_given_are_added_once(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    store.fall_behind(task_id)
    said = [await pod.post("/content", PARTS, **{"Idempotency-Key": "a"}) for _ in range(2)]

    assert [each.status for each in said] == [204, 204]
    assert len(store.writes) == 1


async def test_a_task_that_the_replica_has_not_seen_go_is_over(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    store.fall_behind(task_id)
    store.remove(task_id)

    assert (await pod.put("/result", RESULT)).status == 409


async def test_a_task_of_which_a_part_is_not_kept_is_looked_at(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    store.is_kept_whole = False

    assert (await pod.put("/result", RESULT)).status == 204
    assert store.looks == [task_id]
