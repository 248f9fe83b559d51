"""A task as the modern wire shows it, held against the extension's own JSON Schema."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcptasks_crds.asking import open_questions
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask
from mcptasks_crds.times import format_time
from mcptasks_server.projection import (
    STATUS_OF,
    complete_result,
    created_task,
    detailed_task,
    is_expired,
)

_MOMENT = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}
_MILLISECONDS = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
_TASK = {
    "taskId": {"type": "string", "minLength": 1},
    "statusMessage": {"type": "string"},
    "createdAt": _MOMENT,
    "lastUpdatedAt": _MOMENT,
    "ttlMs": _MILLISECONDS,
    "pollIntervalMs": _MILLISECONDS,
}
_ASKED = {
    "type": "object",
    "required": ["method", "params"],
    "properties": {
        "method": {"const": "elicitation/create"},
        "params": {
            "type": "object",
            "required": ["message", "requestedSchema"],
            "properties": {"message": {"type": "string"}, "requestedSchema": {"type": "object"}},
        },
    },
}
_ERROR = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
}


def _shape(result_type: str, status: str, **members: Any) -> dict[str, Any]:
    """A task's answer, and nothing else in it. Source: ext-tasks, specification/draft/tasks.md."""
    properties = {"resultType": {"const": result_type}, "status": {"const": status}, **_TASK, **members}
    required = [name for name in properties if name != "statusMessage"]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


DETAILED = {
    "working": _shape("complete", "working"),
    "input_required": _shape("complete", "input_required", inputRequests={"additionalProperties": _ASKED}),
    "completed": _shape("complete", "completed", result={"type": "object", "required": ["content", "resultType"]}),
    "failed": _shape("complete", "failed", error=_ERROR),
    "cancelled": _shape("complete", "cancelled"),
}
HANDLES = {status: _shape("task", status) for status in DETAILED}
CREATED = datetime(2026, 11, 29, 12, tzinfo=UTC)


def conforms(shapes: dict[str, dict[str, Any]], shape: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(orjson.dumps(shape.members()))
    Draft202012Validator(shapes[document["status"]]).validate(document)
    return document


def task(*, spec: dict[str, Any] | None = None, **status: Any) -> McpTask:
    return McpTask.model_validate(
        {
            "metadata": {"name": "mt-" + "a" * 32, "creationTimestamp": format_time(CREATED)},
            "spec": {"tool": {"name": "add"}, "arguments": "{}", **(spec or {})},
            "status": status,
        }
    )


_NAIVE = CREATED.replace(tzinfo=None)  # what hypothesis takes as bounds
_moments = st.datetimes(_NAIVE - timedelta(days=1), _NAIVE + timedelta(days=30)).map(
    lambda each: format_time(each.replace(tzinfo=UTC))
)
_asked = st.fixed_dictionaries(
    {
        "message": st.text(max_size=20),
        "requestedSchema": st.just('{"type":"object","properties":{"a":{"type":"string"}}}'),
        "askedAt": _moments,
    }
)
_keys = st.sampled_from(["one", "two", "three"])
_statuses = st.fixed_dictionaries(
    {},
    optional={
        "phase": st.sampled_from(Phase),
        "reason": st.sampled_from(Reason),
        "message": st.text(max_size=20),
        "lastUpdatedAt": _moments,
        "expiresAt": _moments,
        "result": st.sampled_from([{"inline": '{"content":[]}'}, {"from": "report"}, {"inline": "nonsense"}, {}]),
        "error": st.just({"code": -32603, "message": "no"}),
        "job": st.just({"name": "j", "uid": "u", "podUID": "p"}),
        "report": st.fixed_dictionaries(
            {},
            optional={
                "questions": st.dictionaries(_keys, _asked),
                "result": st.sampled_from(['{"content":[],"isError":true}', "[]"]),
                "progress": st.just({"progress": 1.5, "podUID": "p"}),
            },
        ),
    },
)
_specs = st.fixed_dictionaries(
    {"retentionSeconds": st.integers(1, 31_536_000), "cancelRequested": st.booleans()},
    optional={"answers": st.dictionaries(_keys, st.just({"response": '{"action":"decline"}'}))},
)
_tasks = st.builds(lambda spec, status: task(spec=spec, **status), _specs, _statuses)


@pytest.mark.requirement("ext-tasks/get-cancelled", "ext-tasks/get-complete", "ext-tasks/failed-is-protocol")
@given(_tasks)
def test_every_task_there_can_be_has_a_valid_answer(each: McpTask) -> None:
    shown = conforms(DETAILED, detailed_task(each))

    assert shown["resultType"] == "complete"
    assert shown["createdAt"] <= shown["lastUpdatedAt"]
    assert (shown["status"] == "input_required") == ("inputRequests" in shown)
    assert (shown["status"] == "completed") == ("result" in shown)
    assert (shown["status"] == "failed") == ("error" in shown)
    assert not set(shown.get("inputRequests", ())) & set(each.spec.answers)


@pytest.mark.requirement("ext-tasks/handle-shape")
@given(_tasks)
def test_every_task_there_can_be_has_a_valid_handle(each: McpTask) -> None:
    shown = conforms(HANDLES, created_task(each))

    assert shown["resultType"] == "task"
    assert not {"result", "error", "inputRequests", "requestState", "task", "ttl", "pollInterval"} & set(shown)


@given(_tasks, _moments)
def test_a_tasks_time_never_ends_before_its_retention_or_its_lease(each: McpTask, later: str) -> None:
    status = each.status.model_copy(
        update={"expires_at": max(datetime.fromisoformat(later), each.status.expires_at or CREATED)}
    )
    renewed = each.model_copy(update={"status": status})

    assert detailed_task(each).ttl_ms >= each.spec.retention_seconds * 1000
    assert detailed_task(renewed).ttl_ms >= detailed_task(each).ttl_ms


def test_each_phase_has_a_status() -> None:
    assert set(STATUS_OF) == {None, *Phase}


def test_a_task_that_asks_nothing_more_is_working() -> None:
    asked = {"q": {"message": "?", "requestedSchema": "{}", "askedAt": format_time(CREATED)}}
    each = task(spec={"answers": {"q": {"response": "{}"}}}, phase="InputRequired", report={"questions": asked})

    assert open_questions(each) == {}
    assert detailed_task(each).status == "working"


def test_a_completed_task_without_a_result_has_failed() -> None:
    for status in (
        {},
        {"result": {"from": "report"}},
        {"result": {"inline": "not json"}},
        {"result": {"inline": "[]"}},
    ):
        shown = conforms(DETAILED, detailed_task(task(phase="Completed", message="completed", **status)))

        assert shown["error"]["data"] == {"reason": "ResultLost"}
        assert shown["statusMessage"] == shown["error"]["message"]


@pytest.mark.requirement("ext-tasks/kept-until-ttl")
def test_only_a_task_that_is_over_expires() -> None:
    at = CREATED + timedelta(hours=1)
    over = task(phase="Cancelled", expiresAt=format_time(at))

    assert not is_expired(task(phase="Running", expiresAt=format_time(at)), now=at + timedelta(days=1))
    assert not is_expired(over, now=at - timedelta(milliseconds=1))
    assert is_expired(over, now=at)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{}", '{"resultType":"complete"}'),
        (' {"a" : 1.0}', '{"resultType":"complete","a" : 1.0}'),
        ('{"resultType":"complete","n":1e2}', '{"resultType":"complete","n":1e2}'),
        ('{"n":1E2,"resultType":"input_required"}', '{"n":1E2,"resultType":"complete"}'),
        ('{"nested":{"resultType":"x"}}', '{"resultType":"complete","nested":{"resultType":"x"}}'),
        ("", None),
        ("[]", None),
        ('{"a":1', None),
    ],
)
def test_a_result_is_marked_complete_and_otherwise_left_as_it_is(text: str, shown: str | None) -> None:
    assert complete_result(text) == shown


@given(
    st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()),
    st.booleans(),
)
def test_a_marked_result_holds_the_tools_own_text(members: dict[str, Any], is_ascii: bool) -> None:
    members.pop("resultType", None)
    text = json.dumps(members, ensure_ascii=is_ascii, indent=2)

    marked = complete_result(text)

    assert marked is not None
    assert marked.endswith(text[1:])
    assert json.loads(marked) == {"resultType": "complete", **members}
