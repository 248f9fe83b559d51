"""How the operator learns that a task's Secret is there without the right to read it, and what it does with that."""

from typing import Any

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, SECRETS, RejectedError, RetryableError
from mcptasks_operator.testing.cluster import Call, Fault
from mcptasks_operator.testing.desk import NAMESPACE, Desk

SECRET = "the-arguments"
LOOK = Call("create", "secrets")
QUESTION = {"message": "Sure?", "requestedSchema": '{"type":"object"}', "when": "beforeStart"}
WAITING: Json = {"phase": "Pending", "containerStatuses": []}


async def begun(desk: Desk, **spec: Any) -> str:
    """A task whose arguments are in a Secret, which nobody has made yet."""
    desk.tool()
    task = desk.task(arguments=None, argumentsFrom={"secretName": SECRET}, **spec)
    await desk.tasks.reconcile(task)
    return task


def make_secret(desk: Desk) -> None:
    desk.cluster.put(SECRETS, NAMESPACE, {"metadata": {"name": SECRET}})


async def after(desk: Desk, task: str, seconds: float) -> Json:
    """The task's status once it was looked at so many seconds later."""
    desk.move(seconds)
    desk.see()
    await desk.tasks.reconcile(task)
    return desk.status(task)


async def test_a_task_without_its_secret_ends_30_seconds_after_it_was_made(desk: Desk) -> None:
    task = await begun(desk)

    assert (await after(desk, task, 29))["phase"] == "Pending"
    assert desk.count(*LOOK) == 0
    status = await after(desk, task, 1)

    assert (status["phase"], status["reason"]) == ("Failed", "ArgumentsLost")
    assert desk.cluster.all(JOBS)[0]["spec"]["activeDeadlineSeconds"] == 1
    assert desk.cluster.all(SECRETS) == ()


async def test_a_task_that_waits_for_an_answer_ends_too(desk: Desk) -> None:
    task = await begun(desk, questions={"sure": QUESTION})

    status = await after(desk, task, 30)

    assert status["reason"] == "ArgumentsLost"
    assert desk.cluster.all(JOBS) == ()


async def test_a_secret_that_is_there_is_looked_for_once_however_long_the_task_waits(desk: Desk) -> None:
    task = await begun(desk, questions={"sure": QUESTION | {"expirySeconds": 86_400}})
    make_secret(desk)

    for _ in range(100):
        assert (await after(desk, task, 60))["phase"] == "InputRequired"

    assert desk.count(*LOOK) == 1


async def test_a_secret_that_somebody_deletes_is_missed_at_the_start_deadline(desk: Desk) -> None:
    task = await begun(desk)
    make_secret(desk)
    desk.pod(task, WAITING)
    assert (await after(desk, task, 60))["phase"] == "Pending"

    await desk.cluster.delete(SECRETS, NAMESPACE, SECRET)
    status = await after(desk, task, 240)

    assert status["reason"] == "ArgumentsLost"


async def test_where_the_api_server_will_not_say_the_start_deadline_decides(desk: Desk) -> None:
    task = await begun(desk)
    desk.pod(task, WAITING)
    refusal = RejectedError("admission webhook x does not support dry run", status=400, reason="BadRequest")
    desk.cluster.faults += [Fault(call=LOOK, error=refusal), Fault(call=LOOK, error=refusal)]

    assert (await after(desk, task, 60))["phase"] == "Pending"
    assert (await after(desk, task, 240))["reason"] == "Unschedulable"  # a pod without a node, here


async def test_an_api_server_that_is_away_is_asked_again(desk: Desk) -> None:
    task = await begun(desk)
    desk.cluster.faults.append(Fault(call=LOOK, error=RetryableError("503", status=503)))

    with pytest.raises(RetryableError):
        await after(desk, task, 30)

    assert (await after(desk, task, 1))["reason"] == "ArgumentsLost"
