"""A tool's questions as a task keeps them, what a task asks at a moment, and who may call a tool."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks_crds.asking import open_questions
from mcptasks_crds.metadata import Metadata
from mcptasks_crds.phases import Phase
from mcptasks_crds.policy import Access
from mcptasks_crds.questions import QuestionTime, TaskQuestion, ToolQuestion, as_asked
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, McpTask, Question, Report, Stopping, TaskSpec, TaskStatus, ToolReference
from mcptasks_crds.tool import ToolSpec

NOW = datetime(2026, 12, 1, tzinfo=UTC)
FORM = {"type": "object", "properties": {"sure": {"type": "boolean", "title": "Wirklich? ✓"}}}
BEFORE_TASK = TaskQuestion(message="Who?", requested_schema="{}", when=QuestionTime.BEFORE_TASK)
BEFORE_START = TaskQuestion(
    message="Sure?", requested_schema='{"type":"object"}', when=QuestionTime.BEFORE_START, model_may_answer=True
)
BY_POD = Question(message="Go on?", requested_schema="{}", asked_at=NOW)
YES = Answer(response='{"action":"accept","content":{}}')


def task(*, status: TaskStatus | None = None, **spec: Any) -> McpTask:
    questions = {"who": BEFORE_TASK, "sure": BEFORE_START}
    fields = {"answers": {"who": YES}, **spec}
    return McpTask(
        metadata=Metadata(name="mt-a"),
        spec=TaskSpec(tool=ToolReference(name="deploy"), arguments="{}", questions=questions, **fields),
        status=status or TaskStatus(report=Report(questions={"on": BY_POD})),
    )


def tool(**spec: Any) -> ToolSpec:
    return ToolSpec.model_validate(
        {"description": "d", "job": {"template": {"spec": {"containers": [{"name": "tool"}]}}}, **spec}
    )


def test_a_tools_questions_are_kept_with_their_forms_as_text() -> None:
    question = ToolQuestion.model_validate(
        {"key": "sure", "message": "Sure?", "requestedSchema": FORM, "when": "beforeStart", "expirySeconds": 60}
    )
    (kept,) = as_asked([question]).items()
    assert kept[0] == "sure"
    assert json.loads(kept[1].requested_schema) == FORM
    assert "✓" in kept[1].requested_schema
    assert kept[1].manifest() == {
        "message": "Sure?",
        "requestedSchema": kept[1].requested_schema,
        "when": "beforeStart",
        "answeredBy": "caller",
        "modelMayAnswer": False,
        "expirySeconds": 60,
    }


def test_a_task_asks_what_is_asked_before_its_start_and_by_its_pod_and_not_answered() -> None:
    assert {key: question.message for key, question in open_questions(task()).items()} == {
        "sure": "Sure?",
        "on": "Go on?",
    }
    assert list(open_questions(task(answers={"who": YES, "sure": YES}))) == ["on"]
    assert open_questions(task(answers={"on": YES, "sure": YES})) == {}


def test_a_question_asked_before_there_is_a_task_is_never_asked_by_it() -> None:
    assert "who" not in open_questions(task(answers={}))


def test_only_a_question_that_says_so_may_be_answered_by_a_model() -> None:
    assert {key: question.model_may_answer for key, question in open_questions(task()).items()} == {
        "sure": True,
        "on": False,
    }


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase.is_terminal])
def test_a_task_that_is_over_asks_nothing(phase: Phase) -> None:
    assert open_questions(task(status=TaskStatus(phase=phase))) == {}


def test_a_task_that_is_being_stopped_asks_nothing() -> None:
    stopping = Stopping(reason=Reason.RUN_LIMIT, at=NOW)
    assert open_questions(task(status=TaskStatus(phase=Phase.STOPPING, stopping=stopping))) == {}
    assert open_questions(task(cancel_requested=True)) == {}


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ({}, 45),
        ({"withoutTasks": "handle"}, 45),
        ({"holdSeconds": 7}, 7),
        ({"withoutTasks": "hold"}, None),
        ({"taskSupport": "required"}, None),
        ({"taskSupport": "forbidden"}, None),
    ],
)
def test_a_call_is_held_for_a_while_only_where_a_handle_may_follow(spec: dict[str, Any], seconds: int | None) -> None:
    assert tool(**spec).held_seconds == seconds


@pytest.mark.parametrize(
    ("access", "admitted"),
    [
        (Access(), False),
        (Access(callers=("alice",)), True),
        (Access(callers=("bob",)), False),
        (Access(groups=("ops",)), True),
        (Access(groups=("dev",), callers=("alice",)), True),
        (Access(groups=("dev", "alice")), False),
    ],
)
def test_a_tool_is_for_its_callers_and_for_the_members_of_its_groups(access: Access, admitted: bool) -> None:
    assert access.admits("alice", ["ops"]) is admitted
