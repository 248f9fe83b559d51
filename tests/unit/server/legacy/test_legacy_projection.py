"""A task as the legacy wire shows it, beside the modern view of the very same task."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import _v2025_11_25 as dated

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask
from mcptasks_crds.times import format_time
from mcptasks_server.legacy.projection import (
    STOPPING_SECONDS,
    call_result,
    cancelled_members,
    created_members,
    is_cancelled,
    task_members,
)
from mcptasks_server.projection import detailed_task

CREATED = datetime(2026, 11, 29, 12, tzinfo=UTC)
NOW = CREATED + timedelta(minutes=5)
TASK_ID = "mt-" + "a" * 32
QUESTION = {"message": "Sure?", "requestedSchema": '{"type":"object","properties":{}}', "askedAt": format_time(CREATED)}


def task(*, spec: dict[str, Any] | None = None, **status: Any) -> McpTask:
    """A task as the API server has it."""
    return McpTask.model_validate(
        {
            "apiVersion": "mcptasks.dev/v1alpha1",
            "kind": "McpTask",
            "metadata": {"name": TASK_ID, "creationTimestamp": format_time(CREATED)},
            "spec": {"tool": {"name": "add"}, "retentionSeconds": 600, "pollIntervalMs": 700, **(spec or {})},
            "status": status,
        }
    )


def ended(phase: Phase, **status: Any) -> McpTask:
    return task(phase=phase, finishedAt=format_time(NOW), lastUpdatedAt=format_time(NOW), **status)


def completed(result: str) -> McpTask:
    return ended(Phase.COMPLETED, result={"inline": result})


OK = completed('{"content": [{"type": "text", "text": "3"}]}')
TOOL_ERROR = completed('{"content": [{"type": "text", "text": "no such file"}], "isError": true}')
STOPPING: dict[str, Any] = {"phase": Phase.STOPPING, "stopping": {"reason": "Cancelled", "at": format_time(CREATED)}}
ASKING = task(phase=Phase.RUNNING, report={"questions": {"q": QUESTION}})


@pytest.mark.requirement(
    "legacy-tasks/tool-error-fails", "legacy-tasks/times", "legacy-tasks/ttl", "ext-tasks/tool-error-completes"
)
@pytest.mark.parametrize(
    ("resource", "modern", "legacy"),
    [
        (task(), "working", "working"),
        (task(phase=Phase.PENDING), "working", "working"),
        (task(phase=Phase.RUNNING), "working", "working"),
        (ASKING, "input_required", "input_required"),
        (OK, "completed", "completed"),
        (TOOL_ERROR, "completed", "failed"),
        (ended(Phase.COMPLETED), "failed", "failed"),
        (ended(Phase.FAILED, error={"code": -32603, "message": "no image"}), "failed", "failed"),
        (ended(Phase.CANCELLED), "cancelled", "cancelled"),
        (task(phase=Phase.STOPPING), "working", "working"),
        (task(**STOPPING), "working", "cancelled"),
    ],
)
def test_the_eras_differ_in_what_a_tool_error_and_a_long_stop_are(resource: McpTask, modern: str, legacy: str) -> None:
    shown = task_members(resource, elicitation=True, now=NOW)

    assert detailed_task(resource).status == modern
    assert shown["status"] == legacy
    dated.Task.model_validate(json.loads(orjson.dumps(shown)))
    assert shown.keys() <= {
        "taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"
    }  # fmt: skip
    assert (shown["taskId"], shown["createdAt"]) == (TASK_ID, "2026-11-29T12:00:00.000Z")
    assert shown["ttl"] >= 600_000


def test_a_task_that_failed_says_why() -> None:
    assert task_members(TOOL_ERROR, elicitation=True, now=NOW)["statusMessage"] == "no such file"


@pytest.mark.parametrize("content", ["[]", '"x"', '[{"type":"image","data":"","mimeType":"x/y"}]', "[null,1]"])
def test_a_tool_error_without_words_is_one_all_the_same(content: str) -> None:
    shown = task_members(completed('{"content":' + content + ',"isError":true}'), elicitation=True, now=NOW)

    assert (shown["status"], shown["statusMessage"]) == ("failed", "the tool failed")


def test_a_client_that_cannot_be_asked_is_not_told_to_answer() -> None:
    shown = task_members(ASKING, elicitation=False, now=NOW)

    assert (shown["status"], shown["statusMessage"]) == ("working", "waiting for an answer: q")


@pytest.mark.requirement("legacy-tasks/begins-working", "ext-tasks/begins-working")
@pytest.mark.parametrize("resource", [task(), ASKING, OK])
def test_a_created_task_begins_as_working(resource: McpTask) -> None:
    assert created_members(resource)["status"] == "working"


@pytest.mark.requirement("legacy-tasks/cancelled-stays")
@given(seconds=st.integers(min_value=0, max_value=200), later=st.integers(min_value=0, max_value=200))
def test_what_was_shown_as_cancelled_stays_so_whatever_still_ends(seconds: int, later: int) -> None:
    at = CREATED + timedelta(seconds=seconds)
    stopping = task(**STOPPING)
    result = {"inline": '{"content":[]}'}
    over = task(**{**STOPPING, "phase": Phase.COMPLETED, "result": result, "finishedAt": format_time(at)})

    was_cancelled = is_cancelled(stopping, now=at)

    assert was_cancelled == (seconds >= STOPPING_SECONDS)
    assert is_cancelled(over, now=at + timedelta(seconds=later)) == was_cancelled
    assert task_members(over, elicitation=True, now=at)["status"] == ("cancelled" if was_cancelled else "completed")


def test_a_stop_at_the_run_limit_is_no_cancel() -> None:
    limit: dict[str, Any] = {
        "phase": Phase.STOPPING,
        "stopping": {"reason": Reason.RUN_LIMIT, "at": format_time(CREATED)},
    }

    assert not is_cancelled(task(**limit), now=NOW)


def test_the_answer_to_a_cancel_is_a_cancelled_task() -> None:
    shown = cancelled_members(task(spec={"cancelRequested": True}))

    assert (shown["status"], shown["statusMessage"]) == ("cancelled", "cancelling")


@pytest.mark.requirement("legacy-tasks/result-exact")
def test_a_result_is_handed_on_as_the_tool_wrote_it() -> None:
    text = '{"resultType": "complete", "content": [], "structuredContent": {"n": 12345678901234567890123, "x": 1.0}}'

    written = orjson.dumps(call_result(text)).decode()

    assert written == '{"content":[],"structuredContent":{"n": 12345678901234567890123, "x": 1.0}}'


@pytest.mark.requirement("legacy-tasks/related-task")
@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("", {}),
        (',"_meta":{"a":1.0,"io.modelcontextprotocol/related-task":{"taskId":"another"}}', {"a": 1.0}),
        (',"_meta":null', {}),
    ],
)
def test_a_result_that_is_fetched_names_its_task(own: str, expected: dict[str, Any]) -> None:
    result = json.loads(orjson.dumps(call_result('{"content":[]' + own + "}", task_id=TASK_ID)))

    assert result["_meta"] == {**expected, "io.modelcontextprotocol/related-task": {"taskId": TASK_ID}}
    dated.CallToolResult.model_validate(result)
