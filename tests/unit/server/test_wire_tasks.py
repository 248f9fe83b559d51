"""`tasks/get`, `tasks/update`, `tasks/cancel` (the tasks extension)."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.times import format_time, parse_time
from mcptasks_server.errors import UnavailableError
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import ACCEPT, RESULT, over, questions
from mcptasks_server.testing.wire import WITH_FORMS, Answer, Wire

UNKNOWN = "mt-" + "a" * 32
STOPPING = {"phase": "Stopping", "stopping": {"reason": "Cancelled", "at": format_time(datetime.now(UTC))}}
EVERYTHING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tasks/get", {}),
    ("tasks/update", {"inputResponses": {}}),
    ("tasks/cancel", {}),
)


@pytest.fixture
async def task_id(wire: Wire) -> str:
    """A task that was just made."""
    return str((await wire.call("tools/call", {"name": "echo"})).result["taskId"])


async def get(wire: Wire, task_id: str) -> Json:
    return (await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result


async def update(wire: Wire, task_id: str, responses: Any) -> Answer:
    return await wire.call("tasks/update", {"taskId": task_id, "inputResponses": responses})


@pytest.mark.requirement(
    "ext-tasks/status-machine",
    "ext-tasks/get-working",
    "ext-tasks/get-input-required",
    "ext-tasks/get-completed",
    "ext-tasks/get-complete",
    "ext-tasks/no-related-task",
)
async def test_a_tasks_status_goes_its_way_and_every_answer_is_complete(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    seen = [await get(wire, task_id)]
    for status in ({"phase": "Running"}, questions("q"), {"phase": "Running"}, STOPPING, over()):
        await store.write_status(task_id, status)
        seen.append(await get(wire, task_id))

    statuses = [each["status"] for each in seen]
    # What asks is a question without an answer, whatever the operator has written by then.
    assert statuses == ["working", "working", "input_required", "input_required", "working", "completed"]
    assert {each["resultType"] for each in seen} == {"complete"}
    assert {each["taskId"] for each in seen} == {task_id}
    for each in seen:
        assert not {"ttl", "pollInterval", "requestState", "task"} & set(each)


@pytest.mark.requirement("ext-tasks/get-completed", "ext-tasks/no-related-task")
async def test_the_result_is_inlined_as_the_tool_wrote_it(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, over())

    answer = await wire.call("tasks/get", {"taskId": task_id})

    assert answer.result["status"] == "completed"
    assert answer.result["result"]["resultType"] == "complete"
    assert RESULT[1:] in answer.text  # to the digit
    assert "related-task" not in answer.text


@pytest.mark.requirement("ext-tasks/failed-is-protocol")
async def test_a_tool_error_is_a_completed_task(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    failed = '{"content":[{"type":"text","text":"no"}],"isError":true}'
    await store.write_status(task_id, over() | {"result": {"inline": failed}, "reason": "ExitCode"})

    shown = await get(wire, task_id)

    assert (shown["status"], shown["result"]["isError"]) == ("completed", True)
    assert "error" not in shown


@pytest.mark.requirement("ext-tasks/get-failed", "ext-tasks/failed-status-message")
async def test_what_the_platform_could_not_run_is_a_failed_task_with_a_reason(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    failure = {"phase": "Failed", "reason": "ImageInvalid", "error": {"code": -32603, "message": "no such image"}}
    await store.write_status(task_id, failure)

    shown = await get(wire, task_id)

    assert shown["status"] == "failed"
    assert shown["error"] == {"code": -32603, "message": "no such image", "data": {"reason": "ImageInvalid"}}
    assert shown["statusMessage"] == "no such image"
    assert "result" not in shown


@pytest.mark.requirement(
    "ext-tasks/get-input-required",
    "ext-tasks/update-empty",
    "ext-tasks/update-complete",
    "ext-tasks/update-partial",
    "ext-tasks/keys-not-reused",
    "elicitation/form",
)
async def test_a_question_is_asked_until_it_is_answered_and_never_again(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    await store.write_status(task_id, questions("one", "two"))
    asked = await get(wire, task_id)

    await update(wire, task_id, {"one": json.loads(ACCEPT)})
    half = await get(wire, task_id)
    acknowledged = (await update(wire, task_id, {"two": {"action": "decline"}})).result
    done = await get(wire, task_id)

    asked_at = store.objects[task_id]["status"]["report"]["questions"]["one"]["askedAt"]
    expires_at = format_time(parse_time(asked_at) + timedelta(days=7))
    assert (asked["status"], set(asked["inputRequests"])) == ("input_required", {"one", "two"})
    assert asked["inputRequests"]["one"] == {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Sure?",
            "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}},
            "_meta": {"mcptasks.dev/answeredBy": "the caller", "mcptasks.dev/expiresAt": expires_at},
        },
    }
    assert asked["pollIntervalMs"] == 5000
    assert (half["status"], set(half["inputRequests"])) == ("input_required", {"two"})
    assert set(acknowledged) == {"resultType", "_meta"}
    assert (done["status"], "inputRequests" in done) == ("working", False)


@pytest.mark.requirement("ours/text-kept")
async def test_an_answer_is_kept_as_the_client_wrote_it(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, questions("q"))

    await update(wire, task_id, {"q": {"content": {"n": 12345678901234567890123}, "action": "accept"}})

    response = store.objects[task_id]["spec"]["answers"]["q"]["response"]
    assert response == '{"content": {"n": 12345678901234567890123}, "action": "accept"}'


@pytest.mark.requirement("ext-tasks/update-ignores")
async def test_keys_that_are_not_asked_are_passed_over(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    for response in ({"action": "accept"}, {"of": "any form"}, 7, None, "x" * 100_000):
        answer = await update(wire, task_id, {"unknown-key": response})

        assert answer.result["resultType"] == "complete"
    assert "answers" not in store.objects[task_id]["spec"] or store.objects[task_id]["spec"]["answers"] == {}


@pytest.mark.requirement("elicitation/answers-validated", "ours/answers-all-or-none")
@pytest.mark.parametrize(
    "responses",
    [
        None,
        [],
        "x",
        {"q": None},
        {"q": 12345},
        {"q": {}},
        {"q": {"action": "maybe"}},
        {"q": {"action": "accept", "content": 1}},
    ],
)
async def test_malformed_answers_are_invalid_params_and_nothing_is_answered(
    wire: Wire, store: InMemoryTaskStore, task_id: str, responses: Any
) -> None:
    await store.write_status(task_id, questions("q"))

    assert (await update(wire, task_id, responses)).error == (200, -32602)
    assert set((await get(wire, task_id))["inputRequests"]) == {"q"}


@pytest.mark.requirement("ours/limits-in-words")
async def test_an_answer_over_the_limit_is_refused_by_name(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, questions("q"))

    answer = await update(wire, task_id, {"q": {"action": "accept", "content": {"text": "x" * 17_000}}})

    assert answer.error == (200, -32602)
    assert '"q"' in answer.body["error"]["message"]
    assert "16 KiB" in answer.body["error"]["message"]


@pytest.mark.requirement("ext-tasks/cancel-empty", "ext-tasks/cancel-complete")
async def test_a_cancel_is_acknowledged_and_shown_as_wanted(wire: Wire, task_id: str) -> None:
    acknowledged = (await wire.call("tasks/cancel", {"taskId": task_id})).result
    shown = await get(wire, task_id)

    assert set(acknowledged) == {"resultType", "_meta"}
    assert acknowledged["resultType"] == "complete"
    assert (shown["status"], shown["statusMessage"]) == ("working", "cancelling")


@pytest.mark.requirement("ext-tasks/cancel-cooperative", "cancel/races")
async def test_a_cancel_of_a_task_that_is_over_is_acknowledged_and_changes_nothing(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    await store.write_status(task_id, over())
    before = await get(wire, task_id)

    acknowledged = (await wire.call("tasks/cancel", {"taskId": task_id})).result

    assert set(acknowledged) == {"resultType", "_meta"}
    assert await get(wire, task_id) == before


@pytest.mark.requirement("ext-tasks/no-cancelled-notification", "cancel/invalid-ignored")
async def test_a_cancelled_notification_cancels_no_task(wire: Wire, task_id: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})

    await wire.post(body, headers=wire.headers_for("notifications/cancelled", None))

    assert "statusMessage" not in await get(wire, task_id)


@pytest.mark.requirement(
    "ext-tasks/get-unknown", "ext-tasks/update-unknown", "ext-tasks/cancel-unknown", "ext-tasks/informative-errors"
)
@pytest.mark.parametrize(("method", "more"), EVERYTHING)
@pytest.mark.parametrize("task_id", [UNKNOWN, "app=mcptasks", "mt-x", "../x", "A" * 300])
async def test_what_is_no_task_is_invalid_params(wire: Wire, method: str, more: dict[str, Any], task_id: str) -> None:
    answer = await wire.call(method, {"taskId": task_id, **more})

    assert answer.error == (200, -32602)
    assert answer.body["error"]["message"] == "Failed to retrieve task: Task not found"


@pytest.mark.requirement("ext-tasks/get-unknown")
@pytest.mark.parametrize(("method", "more"), EVERYTHING)
@pytest.mark.parametrize("params", [{}, {"taskId": 7}, {"taskId": None}, {"taskId": ["x"]}])
async def test_a_task_id_that_is_no_text_is_invalid_params(
    wire: Wire, method: str, more: dict[str, Any], params: dict[str, Any]
) -> None:
    assert (await wire.call(method, {**params, **more})).error == (200, -32602)


@pytest.mark.requirement("ext-tasks/methods-undeclared", "failures/f3-01")
@pytest.mark.parametrize(("method", "more"), EVERYTHING)
async def test_a_client_without_the_extension_is_told_so_before_anything_else(
    wire: Wire, method: str, more: dict[str, Any]
) -> None:
    for params in ({"taskId": UNKNOWN, **more}, {"taskId": 7}):
        answer = await wire.call(method, params, capabilities={})

        assert answer.error == (400, -32021)
        required = answer.body["error"]["data"]["requiredCapabilities"]
        assert required == {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.mark.requirement("ext-tasks/expired-is-unknown", "failures/f3-11")
async def test_a_task_whose_time_is_over_is_not_found(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, over(kept_for=timedelta(seconds=-1)))

    for method, more in EVERYTHING:
        assert (await wire.call(method, {"taskId": task_id, **more})).error == (200, -32602)


@pytest.mark.requirement("ext-tasks/kept-until-ttl", "failures/f3-11")
async def test_a_tasks_time_grows_and_never_shrinks(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    now = datetime.now(UTC)
    first = await get(wire, task_id)
    shown = [first["ttlMs"]]
    for minutes in (30, 90, 120):
        await store.write_status(task_id, {"expiresAt": format_time(now + timedelta(minutes=minutes))})
        shown.append((await get(wire, task_id))["ttlMs"])

    assert shown == sorted(shown)
    assert shown[0] == shown[1] == 3_600_000
    assert shown[3] >= 7_200_000


@pytest.mark.requirement("ours/progress-in-words")
async def test_progress_is_told_in_words(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    progress = {"progress": 3, "total": 10, "message": "converting", "display": "3/10", "podUID": "now"}
    status = {"phase": "Running", "message": "running", "report": {"progress": progress}}
    await store.write_status(task_id, status | {"job": {"name": "j", "uid": "u", "podUID": "now"}})
    current = (await get(wire, task_id))["statusMessage"]
    await store.write_status(task_id, {"job": {"podUID": "another"}})
    stale = (await get(wire, task_id))["statusMessage"]

    assert current == "3/10: converting"
    assert stale == "running"


@pytest.mark.requirement("ext-tasks/internal-error", "ext-tasks/informative-errors")
async def test_a_store_that_cannot_be_reached_is_an_internal_error_in_words(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    store.failure = UnavailableError("The cluster's API server cannot be reached at the moment; please try again")

    calls = [(method, {"taskId": task_id, **more}) for method, more in EVERYTHING]
    for method, params in [*calls, ("tools/call", {"name": "echo"})]:
        answer = await wire.call(method, params)

        assert answer.error == (200, -32603)
        assert "try again" in answer.body["error"]["message"]


@pytest.mark.requirement("cancel/disconnect", "http/close-stops-work")
async def test_a_client_that_goes_away_ends_its_request(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    store.gate.clear()
    store.arrived.clear()
    pending = asyncio.create_task(wire.call("tools/call", {"name": "echo"}))
    await store.arrived.wait()

    pending.cancel()

    async with asyncio.timeout(5):
        await store.given_up.wait()
    assert len(store.created) == 1
