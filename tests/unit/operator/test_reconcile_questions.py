"""Passes over a task that asks before its start: what is asked of the API server, and what its errors come to."""

import json
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, JOBS, TASKS, RejectedError, RetryableError
from mcptasks_operator.errors import NotLeadingError
from mcptasks_operator.testing.cluster import Call, Fault
from mcptasks_operator.testing.desk import NAMESPACE, Desk

POST_JOB: Final = Call("create", "jobs")
PATCH_JOB: Final = Call("patch", "jobs")
DELETE_JOB: Final = Call("delete", "jobs")
POST_EVENT: Final = Call("create", "events")
PATCH_STATUS: Final = Call("patch", "mcptasks/status")
SURE: Final = {
    "message": "Sure?",
    "requestedSchema": '{"type":"object","required":["sure"]}',
    "when": "beforeStart",
    "expirySeconds": 60,
}
YES: Final = '{"action": "accept", "content": {"sure": 1.0}}'
NO: Final = '{"action":"decline"}'


class Deposed:
    """Leads until it is told otherwise."""

    is_leading = True

    transitions = 0

    async def run(self) -> None: ...

    async def acquired(self) -> None: ...

    async def give_up(self) -> None: ...

    def holds(self) -> bool:
        return self.is_leading


async def held_back(desk: Desk, **spec: Any) -> str:
    """A task that waits for an answer."""
    desk.tool()
    task = desk.task(**{"questions": {"sure": SURE}} | spec)
    await desk.tasks.reconcile(task)
    assert desk.status(task)["phase"] == "InputRequired"
    desk.see()
    return task


async def answer(desk: Desk, task: str, response: str, key: str = "sure") -> None:
    patch = {"spec": {"answers": {key: {"response": response, "by": "alice"}}}}
    await desk.cluster.patch(TASKS, NAMESPACE, task, patch)
    desk.cluster.calls.pop()
    desk.see()


def the_job(desk: Desk) -> Json:
    (job,) = desk.cluster.all(JOBS)
    return job


async def test_a_task_that_asks_has_a_suspended_job_at_first_sight(desk: Desk) -> None:
    task = await held_back(desk)

    job = the_job(desk)
    assert job["spec"]["suspend"] is True
    assert job["spec"]["template"]["metadata"]["annotations"][names.ANSWERS_ANNOTATION] == "{}"
    assert desk.status(task)["job"]["uid"] == job["metadata"]["uid"]
    assert desk.cluster.calls == [POST_JOB, PATCH_STATUS]


async def test_an_answer_lets_the_job_start_with_it_in_one_patch(desk: Desk) -> None:
    task = await held_back(desk)
    await answer(desk, task, YES)

    await desk.tasks.reconcile(task)

    job = the_job(desk)
    assert job["spec"]["suspend"] is False
    assert job["metadata"]["annotations"][names.RELEASED_ANNOTATION] == "2026-11-30T00:00:00.000Z"
    assert job["spec"]["template"]["metadata"]["annotations"][names.ANSWERS_ANNOTATION] == f'{{"sure":{YES}}}'
    assert desk.status(task)["phase"] == "Pending"
    assert desk.cluster.calls == [POST_JOB, PATCH_STATUS, PATCH_JOB, PATCH_STATUS, POST_EVENT]


async def test_a_job_that_was_let_start_is_not_let_start_again_before_the_watch_tells(desk: Desk) -> None:
    task = await held_back(desk)
    await answer(desk, task, YES)

    for _ in range(3):
        await desk.tasks.reconcile(task)

    assert desk.cluster.calls.count(PATCH_JOB) == 1


async def test_an_answer_before_anybody_looked_needs_no_suspended_job(desk: Desk) -> None:
    desk.tool()
    task = desk.task(questions={"sure": SURE}, answers={"sure": {"response": YES}})

    await desk.tasks.reconcile(task)

    job = the_job(desk)
    assert "suspend" not in job["spec"]
    assert names.RELEASED_ANNOTATION not in job["metadata"]["annotations"]
    annotations = job["spec"]["template"]["metadata"]["annotations"]
    assert json.loads(annotations[names.ANSWERS_ANNOTATION]) == {"sure": json.loads(YES)}
    assert desk.cluster.calls == [POST_JOB, PATCH_STATUS, POST_EVENT]


async def test_a_declined_task_ends_before_its_job_is_deleted(desk: Desk) -> None:
    task = await held_back(desk)
    await answer(desk, task, NO)
    desk.cluster.calls.clear()

    await desk.tasks.reconcile(task)

    assert desk.status(task)["reason"] == "Declined"
    assert json.loads(desk.status(task)["result"]["inline"]) == {
        "content": [{"type": "text", "text": "declined by alice (sure)"}],
        "isError": True,
    }
    assert desk.cluster.all(JOBS) == ()
    assert desk.cluster.calls == [PATCH_STATUS, DELETE_JOB, POST_EVENT, POST_EVENT]
    assert sorted(event["reason"] for event in desk.cluster.all(EVENTS)) == ["Answered", "Declined"]


async def test_a_task_that_nobody_answers_ends_when_its_question_expires(desk: Desk) -> None:
    task = await held_back(desk)

    seconds = await desk.tasks.reconcile(task)
    assert seconds == 60
    desk.move(60)
    await desk.tasks.reconcile(task)

    assert desk.status(task)["reason"] == "QuestionExpired"
    assert desk.cluster.all(JOBS) == ()


async def test_a_cancelled_task_is_over_once_its_job_is_known_to_be_gone(desk: Desk) -> None:
    task = await held_back(desk)
    await desk.cluster.patch(TASKS, NAMESPACE, task, {"spec": {"cancelRequested": True}})
    desk.see()

    await desk.tasks.reconcile(task)
    assert desk.status(task)["phase"] == "Stopping"
    assert desk.cluster.all(JOBS) == ()
    desk.see()
    await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Cancelled"
    assert desk.cluster.calls.count(POST_JOB) == 1


async def test_what_becomes_of_the_tool_meanwhile_changes_nothing(desk: Desk) -> None:
    task = await held_back(desk)
    before = the_job(desk)
    desk.tool(description="Does another thing.", questions=[])
    desk.see()
    await answer(desk, task, YES)

    await desk.tasks.reconcile(task)

    after = the_job(desk)
    assert after["spec"]["template"]["spec"] == before["spec"]["template"]["spec"]
    assert after["spec"]["suspend"] is False


@pytest.mark.parametrize("is_done", [False, True], ids=["refused", "answer lost"])
async def test_a_start_that_fails_is_tried_again(desk: Desk, is_done: bool) -> None:
    task = await held_back(desk)
    await answer(desk, task, YES)
    desk.cluster.faults.append(Fault(call=PATCH_JOB, error=RetryableError("500", status=500), is_done=is_done))

    with pytest.raises(RetryableError):
        await desk.tasks.reconcile(task)
    assert desk.status(task)["phase"] == "InputRequired"
    await desk.tasks.reconcile(task)

    assert the_job(desk)["spec"]["suspend"] is False
    assert desk.status(task)["phase"] == "Pending"


async def test_a_start_that_the_api_server_refuses_fails_the_task_in_its_words(desk: Desk) -> None:
    task = await held_back(desk)
    await answer(desk, task, YES)
    desk.cluster.faults.append(Fault(call=PATCH_JOB, error=RejectedError("a webhook says no", status=403)))

    await desk.tasks.reconcile(task)

    assert desk.status(task)["reason"] == "JobRejected"
    assert "a webhook says no" in desk.status(task)["message"]
    assert desk.cluster.all(JOBS) == ()


async def test_a_job_that_is_gone_when_it_is_to_start_is_missed(desk: Desk) -> None:
    task = await held_back(desk)
    await answer(desk, task, YES)
    await desk.cluster.delete(JOBS, NAMESPACE, names.job_name(task))

    await desk.tasks.reconcile(task)

    assert desk.status(task)["reason"] == "JobDeleted"


async def test_another_job_in_its_place_is_not_let_start(desk: Desk) -> None:
    task = await held_back(desk)
    await answer(desk, task, YES)
    await desk.cluster.delete(JOBS, NAMESPACE, names.job_name(task))
    other = {"metadata": {"name": names.job_name(task)}, "spec": {"suspend": True}}
    await desk.cluster.create(JOBS, NAMESPACE, other)

    await desk.tasks.reconcile(task)

    assert desk.status(task)["reason"] == "JobDeleted"
    assert the_job(desk)["spec"] == {"suspend": True}


async def test_a_deletion_that_fails_is_done_by_the_next_pass(desk: Desk) -> None:
    task = await held_back(desk)
    await answer(desk, task, NO)
    desk.cluster.faults.append(Fault(call=DELETE_JOB, error=RetryableError("500", status=500)))

    with pytest.raises(RetryableError):
        await desk.tasks.reconcile(task)
    assert desk.status(task)["reason"] == "Declined"
    await desk.tasks.reconcile(task)

    assert desk.cluster.all(JOBS) == ()


async def test_who_does_not_lead_lets_nothing_start() -> None:
    leadership = Deposed()
    desk = Desk(leadership=leadership)
    task = await held_back(desk)
    await answer(desk, task, YES)
    leadership.is_leading = False

    with pytest.raises(NotLeadingError):
        await desk.tasks.reconcile(task)

    assert the_job(desk)["spec"]["suspend"] is True
