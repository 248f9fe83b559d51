"""Questions on the way of a call: before there is a task, and by a task whose call is held."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.wire import WITH_FORMS, WITH_TASKS, Wire

from .conftest import question

FORMS: Final[Mapping[str, Any]] = {"elicitation": {}}
YES: Final = {"action": "accept", "content": {"sure": True}}
NO: Final = {"action": "decline"}
WRONG: Final = {"action": "accept", "content": {"sure": "perhaps"}}


def now(store: InMemoryTaskStore) -> McpTask:
    """The one task as it is now."""
    [document] = store.objects.values()
    return McpTask.model_validate(document)


def retry(result: Mapping[str, Any], **responses: Any) -> dict[str, Any]:
    """What the retry of a call that was answered by questions adds to it."""
    return {"inputResponses": responses, "requestState": result["requestState"]}


@pytest.mark.requirement("ext-tasks/mrtr-before-task", "mrtr/asks-by-result")
async def test_a_question_before_the_task_is_asked_first_and_its_answer_is_there_from_birth(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    asked = (await wire.call("tools/call", {"name": "asksfirst"}, capabilities=WITH_FORMS)).result
    assert store.objects == {}
    made = await wire.call("tools/call", {"name": "asksfirst"} | retry(asked, first=YES), capabilities=WITH_FORMS)

    assert (asked["resultType"], set(asked["inputRequests"])) == ("input_required", {"first"})
    assert made.result["resultType"] == "task"
    task = now(store)
    assert set(task.spec.questions) == {"first", "start"}
    assert {key: json.loads(answer.response) for key, answer in task.spec.answers.items()} == {"first": YES}


@pytest.mark.requirement("mrtr/state-once")
async def test_an_answer_that_is_sent_twice_makes_one_task(wire: Wire, store: InMemoryTaskStore) -> None:
    asked = (await wire.call("tools/call", {"name": "asksfirst"}, capabilities=WITH_FORMS)).result
    params = {"name": "asksfirst"} | retry(asked, first=YES)

    made = await asyncio.gather(*(wire.call("tools/call", params, capabilities=WITH_FORMS) for _ in range(4)))
    other = (await wire.call("tools/call", {"name": "asksfirst"}, capabilities=WITH_FORMS)).result
    more = await wire.call("tools/call", {"name": "asksfirst"} | retry(other, first=YES), capabilities=WITH_FORMS)

    assert len({answer.result["taskId"] for answer in made}) == 1
    assert more.result["taskId"] != made[0].result["taskId"]
    assert len(store.created) == 2


async def test_an_answer_to_what_another_version_of_the_tool_asked_is_none_to_this_one(
    wire: Wire, store: InMemoryTaskStore, catalogue: FixedCatalogue
) -> None:
    def offer(message: str, generation: int) -> None:
        asks = question("first", "beforeTask") | {"message": message}
        catalogue.offer(replace(ready_tool("asksfirst", questions=[asks]), generation=generation))

    offer("Delete the test data?", 1)
    asked = (await wire.call("tools/call", {"name": "asksfirst"}, capabilities=WITH_FORMS)).result
    offer("Delete all data?", 2)
    again = await wire.call("tools/call", {"name": "asksfirst"} | retry(asked, first=YES), capabilities=WITH_FORMS)
    assert again.result["inputRequests"]["first"]["params"]["message"] == "Delete all data?"
    assert store.objects == {}

    made = await wire.call(
        "tools/call", {"name": "asksfirst"} | retry(again.result, first=YES), capabilities=WITH_FORMS
    )
    assert now(store).metadata.name == made.result["taskId"]
    assert now(store).spec.questions["first"].message == "Delete all data?"


async def test_an_answer_to_what_was_not_asked_yet_is_none(wire: Wire, store: InMemoryTaskStore) -> None:
    params = {"name": "asksfirst", "inputResponses": {"first": YES}}

    answer = await wire.call("tools/call", params, capabilities=WITH_FORMS)

    assert set(answer.result["inputRequests"]) == {"first"}
    assert store.objects == {}


@pytest.mark.requirement("elicitation/declined")
async def test_a_declined_question_before_the_task_starts_nothing(wire: Wire, store: InMemoryTaskStore) -> None:
    asked = (await wire.call("tools/call", {"name": "asksfirst"}, capabilities=WITH_FORMS)).result

    answer = await wire.call("tools/call", {"name": "asksfirst"} | retry(asked, first=NO), capabilities=WITH_FORMS)

    assert answer.result["isError"] is True
    assert "`first`" in answer.result["content"][0]["text"]
    assert store.objects == {}


@pytest.mark.requirement("mrtr/asks-again", "elicitation/answers-validated")
async def test_a_wrong_answer_before_the_task_is_asked_for_again(wire: Wire, store: InMemoryTaskStore) -> None:
    asked = (await wire.call("tools/call", {"name": "asksfirst"}, capabilities=WITH_FORMS)).result

    again = await wire.call("tools/call", {"name": "asksfirst"} | retry(asked, first=WRONG), capabilities=WITH_FORMS)

    assert (again.result["resultType"], set(again.result["inputRequests"])) == ("input_required", {"first"})
    assert store.objects == {}


@pytest.mark.requirement("mrtr/declared-only")
@pytest.mark.parametrize("tool", ["asks", "asksfirst", "waits"])
@pytest.mark.parametrize("capabilities", [{}, WITH_TASKS])
async def test_a_client_that_cannot_ask_a_person_is_told_so_and_nothing_is_created(
    wire: Wire, store: InMemoryTaskStore, tool: str, capabilities: Mapping[str, Any]
) -> None:
    answer = await wire.call("tools/call", {"name": tool}, capabilities=capabilities)

    assert answer.error == (400, -32021)
    assert answer.body["error"]["data"]["requiredCapabilities"] == {"elicitation": {}}
    assert store.objects == {}


async def test_what_a_model_may_answer_is_handed_out_at_once_to_a_client_that_cannot_ask_a_person(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    result = (await wire.call("tools/call", {"name": "asksmodel"}, capabilities={})).result

    task = now(store)
    assert task.spec.detached
    assert result["structuredContent"]["status"] == "input_required"
    text = result["content"][0]["text"]
    assert "task_answer" in text
    assert f'"taskId": "{task.metadata.name}", "key": "first"' in text
    assert json.dumps({"sure": {"type": "boolean"}}, separators=(",", ":")) in text


@pytest.mark.requirement("mrtr/asks-again", "mrtr/unknown-keys", "mrtr/state-once")
async def test_a_question_in_the_middle_is_asked_and_each_retry_goes_on_with_the_same_task(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    asked = (await wire.call("tools/call", {"name": "waits"}, capabilities=FORMS)).result
    again = (
        await wire.call("tools/call", {"name": "waits"} | retry(asked, start=WRONG, other=YES), capabilities=FORMS)
    ).result
    assert now(store).spec.answers == {}

    async def finish() -> None:
        async def is_answered() -> bool:
            return "start" in now(store).spec.answers

        await eventually(is_answered, what="the question is answered")
        await store.write_status(now(store).metadata.name, over())

    answer, _ = await asyncio.gather(
        wire.call("tools/call", {"name": "waits"} | retry(asked, start=YES), capabilities=FORMS), finish()
    )

    assert [set(each["inputRequests"]) for each in (asked, again)] == [{"start"}, {"start"}]
    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]
    assert len(store.created) == 1
    assert not now(store).spec.cancel_requested
    for _ in range(2):  # any number of times
        late = await wire.call("tools/call", {"name": "waits"} | retry(again, start=NO), capabilities=FORMS)
        assert late.result["content"] == answer.result["content"]
    assert len(store.created) == 1


@pytest.mark.parametrize("capabilities", [FORMS, WITH_FORMS])
async def test_a_retry_goes_on_with_its_task_whatever_has_become_of_the_tool(
    wire: Wire, store: InMemoryTaskStore, catalogue: FixedCatalogue, capabilities: Mapping[str, Any]
) -> None:
    asked = (await wire.call("tools/call", {"name": "waits"}, capabilities=FORMS)).result
    task_id = now(store).metadata.name
    await store.write_status(task_id, over())
    params = {"name": "waits"} | retry(asked, start=YES)

    catalogue.offer()
    gone = (await wire.call("tools/call", params, capabilities=capabilities)).result
    catalogue.offer(ready_tool("waits", input_schema={"type": "object", "required": ["new"]}))
    edited = (await wire.call("tools/call", params, capabilities=capabilities)).result

    for result in (gone, edited):
        if capabilities is FORMS:
            assert result["content"] == [{"type": "text", "text": "1.0"}]
        else:
            assert result["taskId"] == task_id


async def test_a_retry_whose_task_is_gone_is_told_so(wire: Wire, store: InMemoryTaskStore) -> None:
    asked = (await wire.call("tools/call", {"name": "waits"}, capabilities=FORMS)).result
    store.delete(now(store).metadata.name)

    answer = await wire.call("tools/call", {"name": "waits"} | retry(asked, start=YES), capabilities=FORMS)

    assert answer.error[1] == -32602
    assert store.objects == {}


async def test_a_retry_that_is_cut_cancels_the_task(wire: Wire, store: InMemoryTaskStore) -> None:
    asked = (await wire.call("tools/call", {"name": "waits"}, capabilities=FORMS)).result
    params = {"name": "waits"} | retry(asked, start=YES)

    async with wire.stream("tools/call", params, capabilities=FORMS, meta={"progressToken": 1}) as stream:
        await stream.until("notifications/progress")

    async def is_cancelled() -> bool:
        return now(store).spec.cancel_requested

    await eventually(is_cancelled, what="the task is cancelled")


async def test_a_retry_by_a_client_that_takes_tasks_by_now_gets_the_handle(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    asked = (await wire.call("tools/call", {"name": "waits"}, capabilities=FORMS)).result

    handle = await wire.call("tools/call", {"name": "waits"} | retry(asked, start=YES), capabilities=WITH_FORMS)

    assert handle.result["taskId"] == now(store).metadata.name
    assert now(store).spec.detached
    assert set(now(store).spec.answers) == {"start"}


@pytest.mark.requirement("elicitation/answers-validated")
async def test_an_answer_that_its_form_does_not_take_is_refused_and_nothing_is_stored(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    task_id = (await wire.call("tools/call", {"name": "waits"}, capabilities=WITH_FORMS)).result["taskId"]
    shown = (await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result

    answer = await wire.call(
        "tasks/update", {"taskId": task_id, "inputResponses": {"start": WRONG, "unknown": YES}}, capabilities=WITH_FORMS
    )

    assert set(shown["inputRequests"]) == {"start"}  # at once, whatever the operator has written by then
    assert answer.error[1] == -32602
    assert '"start"' in answer.message
    assert "/content/sure" in answer.message
    assert now(store).spec.answers == {}
