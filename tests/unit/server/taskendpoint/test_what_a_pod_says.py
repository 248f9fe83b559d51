"""What a pod may say of its task and ask of it, and that saying it twice changes nothing."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks_crds import limits
from mcptasks_crds.asking import open_questions
from mcptasks_crds.times import format_time
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.errors import RefusedError, UnavailableError
from mcptasks_server.projection import result_text
from mcptasks_server.tasks import TaskNotFoundError
from mcptasks_server.testing.pods import POD_UID, InMemoryReports, PodClient, running

MakePod = Callable[..., PodClient]
FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
QUESTION = {"message": "Deploy?", "requestedSchema": FORM}
RESULT = '{"content": [{"type": "text", "text": "1.0"}], "structuredContent": {"n": 123456789012345678901234567890}}'
ACCEPT = '{"action":"accept","content":{"sure":true}}'


async def test_a_pod_reads_its_arguments_as_its_client_wrote_them(store: InMemoryReports, pod_of: MakePod) -> None:
    arguments = '{"n": 1.0, "big": 123456789012345678901234567890, "none": null}'
    asked = {"message": "Sure?", "requestedSchema": "{}", "when": "beforeStart"}
    task = store.add(arguments=arguments, questions={"sure": asked}, answers={"sure": {"response": ACCEPT}})

    said = await pod_of(task).get()

    assert said.status == 200
    assert f'"arguments":{arguments}' in said.text
    assert said.body["answers"] == {"sure": {"action": "accept", "content": {"sure": True}}}
    assert (said.body["taskId"], said.body["tool"], said.body["cancelRequested"]) == (task, "train", False)


async def test_arguments_in_a_secret_are_the_pods_own_to_read(store: InMemoryReports, pod_of: MakePod) -> None:
    task = store.add(arguments=None, argumentsFrom={"secretName": "s"})

    said = (await pod_of(task).get()).body

    assert (said["arguments"], said["argumentsFile"]) == (None, "/mcptask/arguments.json")


async def test_a_pod_learns_that_it_is_to_stop(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    store.change(task_id, spec={"cancelRequested": True})

    assert (await pod.get()).body["cancelRequested"] is True
    assert (await pod.put("/progress", {"progress": 1})).body == {"cancelRequested": True}


async def test_progress_is_shown_with_its_numbers_for_people(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    said = await pod.put("/progress", {"progress": 3, "total": 10, "message": "epoch 3"})

    await eventually(_written(store, 1), what="the progress is written")
    assert said.status == 202
    report = store.objects[task_id]["status"]["report"]
    assert report["progress"] == {
        "progress": 3.0,
        "total": 10.0,
        "message": "epoch 3",
        "display": "3/10",
        "podUID": POD_UID,
    }


async def test_of_much_progress_little_is_written_and_the_last_always(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    for number in range(200):
        await pod.put("/progress", {"progress": number})

    async def is_last() -> bool:
        progress = store.task(task_id).status.report
        return progress is not None and progress.progress is not None and progress.progress.progress == 199

    await eventually(is_last, what="the last value is written")
    assert len(store.writes) <= 5


async def test_progress_that_falls_is_passed_over(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    first = await pod.put("/progress", {"progress": 5})
    await eventually(_written(store, 1), what="the progress is written")
    fallen = await pod.put("/progress", {"progress": 4, "message": "late"})
    given = await pod.put("/result", RESULT.encode())

    assert (first.status, fallen.status, given.status) == (202, 202, 204)
    assert store.objects[task_id]["status"]["report"]["progress"]["progress"] == 5.0


async def test_progress_without_a_total_removes_the_one_before(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/progress", {"progress": 5, "total": 9, "message": "m"})
    await eventually(_written(store, 1), what="the progress is written")
    await pod.put("/progress", {"progress": 6})
    await eventually(_written(store, 2), what="the next is written")

    assert store.objects[task_id]["status"]["report"]["progress"] == {
        "progress": 6.0,
        "display": "6",
        "podUID": POD_UID,
    }


async def test_the_result_takes_the_last_progress_along(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    await pod.put("/progress", {"progress": 1})
    await eventually(_written(store, 1), what="the progress is written")
    await pod.put("/progress", {"progress": 2})
    await pod.put("/result", RESULT.encode())

    assert store.objects[task_id]["status"]["report"]["progress"]["progress"] == 2.0


async def test_a_result_brings_the_last_progress_that_this_replica_was_not_told(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    said = await pod.put("/result", RESULT.encode(), **{"Mcptask-Progress": '{"progress": 7, "message": "n\\u00e9"}'})

    assert said.status == 204
    assert len(store.writes) == 1
    progress = store.objects[task_id]["status"]["report"]["progress"]
    assert (progress["progress"], progress["message"], progress["podUID"]) == (7.0, "né", POD_UID)


async def test_what_a_result_brings_does_not_make_progress_fall(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/progress", {"progress": 5})
    await eventually(_written(store, 1), what="the progress is written")
    await pod.put("/progress", {"progress": 6})
    said = await pod.put("/result", RESULT.encode(), **{"Mcptask-Progress": '{"progress": 4}'})

    assert said.status == 204
    assert store.objects[task_id]["status"]["report"]["progress"]["progress"] == 6.0


async def test_the_progress_of_a_result_that_is_too_large_is_kept(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    large = {"content": [{"type": "text", "text": "x" * 1_200_000}]}
    said = await pod.put("/result", large, **{"Mcptask-Progress": '{"progress": 7}'})

    assert said.status == 413
    assert store.objects[task_id]["status"]["report"]["progress"]["progress"] == 7.0


async def test_a_pod_may_wait_until_its_progress_is_written(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    for number in (1, 2):
        said = await pod.put("/progress?wait=20", {"progress": number})
        assert (said.status, said.body) == (200, {"cancelRequested": False})
        assert store.objects[task_id]["status"]["report"]["progress"]["progress"] == number

    assert (await pod.put("/progress?wait=20", {"progress": 1})).status == 200  # passed over


async def test_progress_that_cannot_be_written_yet_is_waited_for_as_long_as_was_said(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    store.failure = UnavailableError("away")

    assert (await pod.put("/progress?wait=0.1", {"progress": 1})).status == 202


@pytest.mark.parametrize(("failure", "status"), [(RefusedError("no right"), 424), (TaskNotFoundError(), 409)])
async def test_who_waits_for_progress_that_never_will_be_written_is_told(
    failure: Exception, status: int, store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    def fail(_: str) -> None:
        if isinstance(failure, TaskNotFoundError):
            store.remove(task_id)
        raise failure

    store.before_write = fail

    assert (await pod.put("/progress?wait=20", {"progress": 1})).status == status


async def test_a_question_is_asked_once_whatever_the_pod_repeats(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    asked = [await pod.put("/questions/deploy", QUESTION) for _ in range(3)]
    other = await pod.put("/questions/deploy", {**QUESTION, "message": "Really?"})

    assert [said.status for said in asked] == [201, 200, 200]
    assert (other.status, other.body["field"]) == (409, "key")
    assert list(open_questions(store.task(task_id))) == ["deploy"]
    assert len(store.writes) == 1


async def test_a_question_says_who_may_answer_and_for_how_long(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/questions/deploy", {**QUESTION, "modelMayAnswer": True, "expirySeconds": 60})
    (question,) = store.task(task_id).status.report.questions.values()  # type: ignore[union-attr]

    assert (question.model_may_answer, question.expiry_seconds) == (True, 60)
    assert open_questions(store.task(task_id))["deploy"].model_may_answer


async def test_an_answer_is_handed_to_the_pod_that_waits_for_it(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/questions/deploy", QUESTION)
    waiting = asyncio.create_task(pod.get("/questions/deploy", wait="60"))
    await eventually(_watched(store, task_id), what="the pod waits")
    store.change(task_id, status={"message": "something else"})
    store.change(task_id, spec={"answers": {"deploy": {"response": ACCEPT}}})

    said = await waiting

    assert said.status == 200
    assert said.body["answer"] == {"action": "accept", "content": {"sure": True}}
    assert (await pod.get("/questions/deploy")).body == said.body


async def test_no_answer_yet_is_no_error(pod: PodClient) -> None:
    await pod.put("/questions/deploy", QUESTION)

    said = await pod.get("/questions/deploy", wait="0.05")

    assert (said.status, said.body) == (202, {"cancelRequested": False})


async def test_a_question_that_was_never_asked_has_no_answer(pod: PodClient) -> None:
    assert (await pod.get("/questions/deploy")).status == 404


async def test_a_question_whose_time_is_over_was_cancelled(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/questions/deploy", QUESTION)
    store.change(task_id, status={"answers": {"deploy": {"at": "2099-12-01T00:00:00Z", "road": "expired"}}})
    before = await pod.get("/questions/deploy")
    store.change(task_id, spec={"answers": {"deploy": {"response": ACCEPT}}})  # too late

    assert before.body["answer"] == {"action": "cancel"}
    assert (await pod.get("/questions/deploy")).body == before.body
    assert open_questions(store.task(task_id)) == {}


async def test_a_pod_that_waits_is_told_when_its_task_is_being_stopped(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/questions/deploy", QUESTION)
    waiting = asyncio.create_task(pod.get("/questions/deploy", wait="60"))
    await eventually(_watched(store, task_id), what="the pod waits")
    store.change(task_id, spec={"cancelRequested": True})

    assert (await waiting).body == {"answer": {"action": "cancel"}, "cancelRequested": True}
    assert (await pod.put("/questions/again", QUESTION)).status == 409


async def test_nobody_waits_for_a_server_that_is_to_end(
    pod: PodClient, stopping: asyncio.Event, store: InMemoryReports, task_id: str
) -> None:
    await pod.put("/questions/deploy", QUESTION)
    waiting = asyncio.create_task(pod.get("/questions/deploy", wait="60"))
    await eventually(_watched(store, task_id), what="the pod waits")
    stopping.set()

    assert (await waiting).status == 202


async def test_the_result_is_kept_as_it_was_written_and_given_once(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    given = [await pod.put("/result", RESULT.encode()) for _ in range(2)]
    reordered = await pod.put(
        "/result",
        b'{"structuredContent":{"n":123456789012345678901234567890},"content":[{"text":"1.0","type":"text"}]}',
    )
    other = await pod.put("/result", {"content": []})
    of_another_type = await pod.put("/result", RESULT.replace("123456789012345678901234567890", "1.5").encode())

    assert [said.status for said in (*given, reordered, other, of_another_type)] == [204, 204, 204, 409, 409]
    assert store.objects[task_id]["status"]["report"]["result"] == RESULT
    assert len(store.writes) == 1


async def test_a_result_counts_until_the_stop_is_written_and_not_after(store: InMemoryReports, pod_of: MakePod) -> None:
    """The acknowledged cancel alone has stopped nothing yet: what was done before it takes effect was done."""
    asked_for, begun = store.add(cancelRequested=True), store.add(cancelRequested=True)
    stopping = {"reason": "Cancelled", "at": format_time(datetime.now(UTC))}
    store.change(begun, status={"phase": "Stopping", "stopping": stopping})

    given = await pod_of(asked_for).put("/result", RESULT.encode())
    late = await pod_of(begun).put("/result", RESULT.encode())

    assert (given.status, late.status) == (204, 409)
    assert "is being stopped" in late.body["detail"]
    assert "report" not in store.objects[begun]["status"]
    store.change(asked_for, status={"phase": "Stopping", "stopping": stopping})
    assert (await pod_of(asked_for).put("/result", RESULT.encode())).status == 204  # the same once more


async def test_a_result_may_be_repeated_after_the_end_of_the_task(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/result", RESULT.encode())
    store.change(task_id, status={"phase": "Completed", "result": {"from": "report"}})

    assert (await pod.put("/result", RESULT.encode())).status == 204
    assert (await pod.put("/result", {"content": []})).status == 409


async def test_parts_are_put_before_those_of_the_result_in_order(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    for key, text in (("a", "one"), ("b", "two"), ("a", "one"), ("b", "two")):
        said = await pod.post("/content", {"content": [_text(text)]}, **{"Idempotency-Key": key})
        assert said.status == 204
    await pod.put("/result", {"content": [_text("three")]})
    store.change(task_id, status={"phase": "Completed", "result": {"from": "report"}})
    again = await pod.post("/content", {"content": [_text("two")]}, **{"Idempotency-Key": "b"})
    late = await pod.post("/content", {"content": [_text("four")]}, **{"Idempotency-Key": "c"})

    result = result_text(store.task(task_id))
    assert result is not None
    assert [part["text"] for part in _parsed(result)["content"]] == ["one", "two", "three"]
    assert (again.status, late.status) == (204, 409)


async def test_the_same_parts_may_be_meant_twice(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    for _ in range(2):
        await pod.post("/content", {"content": [_text("beep")]})

    assert store.objects[task_id]["status"]["report"]["content"].count("beep") == 2


async def test_a_client_without_put_may_post(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    said = [
        await pod.post("/progress", {"progress": 1}),
        await pod.post("/questions/deploy", QUESTION),
        await pod.post("/result", RESULT.encode()),
    ]

    assert [each.status for each in said] == [202, 201, 204]


async def test_a_write_that_others_overtook_is_made_anew(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    def come_between(_: str) -> None:
        store.before_write = lambda _: None
        store.change(task_id, status={"message": "the operator was here"})

    store.before_write = come_between

    assert (await pod.put("/result", RESULT.encode())).status == 204


async def test_a_cancel_that_came_first_wins_over_a_result(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    def cancel(_: str) -> None:
        store.before_write = lambda _: None
        store.change(task_id, status={"phase": "Cancelled"})

    store.before_write = cancel

    assert (await pod.put("/result", RESULT.encode())).status == 409
    assert "report" not in store.objects[task_id]["status"]


async def test_a_pod_that_is_not_recorded_yet_is_asked_to_try_again(store: InMemoryReports, pod_of: MakePod) -> None:
    task = store.add(status=running(None))
    pod = pod_of(task)

    said = [await pod.put("/progress", {"progress": 1}), await pod.put("/result", RESULT.encode()), await pod.get()]

    assert [(each.status, each.headers["Retry-After"]) for each in said] == [(503, "1")] * 3
    store.change(task, status=running())
    assert (await pod.put("/result", RESULT.encode())).status == 204


async def test_while_the_api_server_is_away_a_pod_is_asked_to_try_again(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    store.failure = UnavailableError("away")
    taken = await pod.put("/progress", {"progress": 1})
    refused = await pod.put("/result", RESULT.encode())
    store.failure = None

    assert taken.status == 202
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert refused.headers["Content-Type"].startswith("application/problem+json")
    assert (await pod.put("/result", RESULT.encode())).status == 204
    assert store.objects[task_id]["status"]["report"]["progress"]["progress"] == 1.0


async def test_after_the_end_nothing_is_taken(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    store.change(task_id, status={"phase": "Cancelled"})
    said = [
        await pod.get(),
        await pod.put("/progress", {"progress": 1}),
        await pod.put("/questions/deploy", QUESTION),
        await pod.post("/content", {"content": [_text("x")]}),
        await pod.put("/result", RESULT.encode()),
    ]
    store.remove(task_id)
    said.append(await pod.put("/result", RESULT.encode()))

    assert {each.status for each in said} == {409}
    assert store.writes == []


async def test_after_the_result_nothing_more_is_taken(store: InMemoryReports, pod: PodClient, task_id: str) -> None:
    await pod.put("/result", RESULT.encode())
    said = [
        await pod.put("/progress", {"progress": 1}),
        await pod.put("/questions/deploy", QUESTION),
        await pod.post("/content", {"content": [_text("x")]}),
    ]

    assert {each.status for each in said} == {409}


async def test_a_task_asks_so_many_questions_and_no_more(store: InMemoryReports, pod: PodClient) -> None:
    for number in range(limits.MAX_QUESTIONS):
        assert (await pod.put(f"/questions/q{number}", QUESTION)).status == 201
    said = await pod.put("/questions/more", QUESTION)

    assert said.status == 413
    assert str(limits.MAX_QUESTIONS) in said.body["detail"]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _parsed(text: str) -> Any:
    return json.loads(text)


def _written(store: InMemoryReports, count: int) -> Any:
    async def probe() -> bool:
        return len(store.writes) >= count

    return probe


def _watched(store: InMemoryReports, task_id: str) -> Any:
    async def probe() -> bool:
        return store.is_watched(task_id)

    return probe


async def test_another_attempt_asks_anew_what_the_one_before_left_behind(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/questions/deploy", QUESTION)
    left_behind = {"at": format_time(datetime.now(UTC)), "road": "expired"}
    store.change(task_id, status={"answers": {"deploy": left_behind}})
    before = await pod.get("/questions/deploy")

    again = await pod.put("/questions/deploy", QUESTION)
    twice = await pod.put("/questions/deploy", QUESTION)
    store.change(task_id, spec={"answers": {"deploy-2": {"response": ACCEPT}}})
    after = await pod.get("/questions/deploy")

    assert "answer" not in before.body
    assert (again.status, twice.status) == (201, 200)
    assert sorted(store.objects[task_id]["status"]["report"]["questions"]) == ["deploy", "deploy-2"]
    assert after.body["answer"] == json.loads(ACCEPT)


async def test_another_attempt_is_told_what_the_one_before_was_answered(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    await pod.put("/questions/deploy", QUESTION)
    store.change(task_id, spec={"answers": {"deploy": {"response": ACCEPT}}})

    again = await pod.put("/questions/deploy", QUESTION)

    assert again.status == 200
    assert (await pod.get("/questions/deploy")).body["answer"] == json.loads(ACCEPT)
