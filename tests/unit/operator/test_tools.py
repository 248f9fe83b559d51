"""One pass over a tool: its conditions, and how often the API server is asked for its opinion."""

from typing import Any

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TOOLS, ConflictError, RejectedError, RetryableError
from mcptasks_operator.testing.cluster import Call, Fault
from mcptasks_operator.testing.desk import NAMESPACE, Desk

TRIAL = Call("create", "jobs")


def fresh(desk: Desk, resource: str = "echo", /, **spec: Any) -> None:
    """A tool that nobody has judged yet."""
    document = desk.tool(resource, **spec)
    desk.cluster.put(TOOLS, NAMESPACE, {key: value for key, value in document.items() if key != "status"})
    desk.see()


def ready(desk: Desk, name: str = "echo") -> Json:
    """The tool's condition Ready in the cluster."""
    found = next(each for each in desk.cluster.all(TOOLS) if each["metadata"]["name"] == name)
    return next(dict(each) for each in found["status"]["conditions"] if each["type"] == "Ready")


async def test_a_tool_is_tried_once_and_then_left_alone(desk: Desk) -> None:
    fresh(desk)

    assert await desk.tools.reconcile("echo") is None
    assert await desk.tools.reconcile("echo") is None

    assert (ready(desk)["status"], ready(desk)["reason"]) == ("True", "Accepted")
    assert desk.cluster.calls == [TRIAL, Call("patch", "mcptools/status")]


async def test_a_tool_that_changes_is_tried_again(desk: Desk) -> None:
    fresh(desk)
    await desk.tools.reconcile("echo")
    await desk.cluster.patch(TOOLS, NAMESPACE, "echo", {"spec": {"timeoutSeconds": 5}})
    desk.see()

    await desk.tools.reconcile("echo")

    assert desk.count(*TRIAL) == 2
    assert ready(desk)["observedGeneration"] == 2


async def test_a_refused_job_is_tried_again_later_and_the_condition_keeps_its_time(desk: Desk) -> None:
    fresh(desk)
    desk.cluster.refused_jobs = "no such class"

    again = await desk.tools.reconcile("echo")
    first = ready(desk)
    assert again == 300
    desk.move(100)
    await desk.tools.reconcile("echo")
    assert desk.count(*TRIAL) == 1

    desk.move(201)
    await desk.tools.reconcile("echo")
    assert desk.count(*TRIAL) == 2
    assert ready(desk) == first

    desk.cluster.refused_jobs = None
    desk.move(301)
    await desk.tools.reconcile("echo")
    assert ready(desk)["status"] == "True"
    assert ready(desk)["lastTransitionTime"] > first["lastTransitionTime"]


async def test_an_api_server_that_could_not_be_asked_is_no_opinion(desk: Desk) -> None:
    fresh(desk)
    desk.cluster.faults.append(Fault(call=TRIAL, error=RetryableError("503", status=503)))

    with pytest.raises(RetryableError):
        await desk.tools.reconcile("echo")
    assert "status" not in desk.cluster.all(TOOLS)[0]

    await desk.tools.reconcile("echo")
    assert ready(desk)["status"] == "True"


async def test_a_webhook_that_forbids_dry_runs_is_no_fault_of_the_tool(desk: Desk) -> None:
    fresh(desk)
    words = "admission webhook x does not support dry run"
    desk.cluster.faults.append(Fault(call=TRIAL, error=RejectedError(words, status=400)))

    await desk.tools.reconcile("echo")

    assert (ready(desk)["status"], ready(desk)["reason"]) == ("True", "NotTried")
    assert words in ready(desk)["message"]


async def test_a_trials_name_that_is_taken_is_an_acceptance(desk: Desk) -> None:
    fresh(desk)
    desk.cluster.faults.append(Fault(call=TRIAL, error=ConflictError("exists", status=409)))

    await desk.tools.reconcile("echo")

    assert ready(desk)["status"] == "True"


async def test_a_tool_that_is_wrong_in_itself_is_not_tried_and_says_all_that_is_wrong(desk: Desk) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "nonsense"}}}
    fresh(desk, inputSchema=schema, outputSchema={"type": "string"})

    await desk.tools.reconcile("echo")

    assert (ready(desk)["status"], ready(desk)["reason"]) == ("False", "SchemaInvalid")
    assert "inputSchema" in ready(desk)["message"]
    assert "outputSchema" in ready(desk)["message"]
    assert desk.count(*TRIAL) == 0


async def test_the_younger_of_two_tools_with_one_name_waits_for_it(desk: Desk) -> None:
    fresh(desk, "old", name="shared")
    desk.move(60)
    fresh(desk, "young", name="shared")
    await desk.tools.reconcile("old")
    await desk.tools.reconcile("young")
    assert (ready(desk, "young")["status"], ready(desk, "young")["reason"]) == ("False", "NameTaken")
    assert ready(desk, "old")["status"] == "True"

    await desk.cluster.delete(TOOLS, NAMESPACE, "old")
    desk.see()
    await desk.tools.reconcile("young")

    assert ready(desk, "young")["status"] == "True"


async def test_a_tool_that_was_edited_meanwhile_is_judged_anew(desk: Desk) -> None:
    fresh(desk)
    await desk.cluster.patch(TOOLS, NAMESPACE, "echo", {"spec": {"timeoutSeconds": 5}})

    assert await desk.tools.reconcile("echo") == 0.0
    await desk.tools.reconcile("echo")

    assert ready(desk)["observedGeneration"] == 2


async def test_a_tool_that_is_gone_is_let_go(desk: Desk) -> None:
    fresh(desk)
    await desk.cluster.delete(TOOLS, NAMESPACE, "echo")

    assert await desk.tools.reconcile("echo") is None
    assert await desk.tools.reconcile("no-such") is None
