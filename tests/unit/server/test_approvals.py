"""What a client sees of questions for approvers, and where approvers stand in for a client that can ask nobody."""

import dataclasses
from typing import Any

import pytest

from mcptasks_crds.metadata import Metadata
from mcptasks_crds.questions import AnsweredBy, Approvers, QuestionTime, TaskQuestion
from mcptasks_crds.task import McpTask, TaskSpec, TaskStatus, ToolReference
from mcptasks_server.answering import new_answers
from mcptasks_server.doors import Handle
from mcptasks_server.exchange import Abilities
from mcptasks_server.projection import detailed_task
from mcptasks_server.questions import NobodyToAskError, plan_of
from mcptasks_server.tools import JobTool

ACCEPT = '{"action":"accept","content":{}}'


def question(answered_by: AnsweredBy, when: QuestionTime = QuestionTime.BEFORE_START) -> TaskQuestion:
    return TaskQuestion(
        message="Deploy?",
        requested_schema='{"type":"object","properties":{}}',
        when=when,
        answered_by=answered_by,
        approvers=None if answered_by is AnsweredBy.CALLER else Approvers(users=("carol",), groups=("deployers",)),
    )


def task(**questions: TaskQuestion) -> McpTask:
    spec = TaskSpec(tool=ToolReference(name="deploy"), arguments="{}", questions=questions)
    return McpTask(metadata=Metadata(name="mt-a"), spec=spec, status=TaskStatus())


def tool(asked: TaskQuestion) -> Any:
    """Of a tool, a plan looks at its questions alone."""
    blank = {field.name: None for field in dataclasses.fields(JobTool)}
    return JobTool(**blank | {"questions": {"go": asked}})  # type: ignore[arg-type]


def test_what_approvers_alone_may_answer_is_waited_for_and_not_asked_of_the_client() -> None:
    shown = detailed_task(task(go=question(AnsweredBy.APPROVERS)))

    assert (shown.status, shown.status_message) == ("working", "waiting for approval by deployers, carol")


def test_what_either_may_answer_is_asked_of_a_client_that_can_ask() -> None:
    asking = task(go=question(AnsweredBy.EITHER))

    assert detailed_task(asking).status == "input_required"
    assert detailed_task(asking, elicitation=False).status == "working"


def test_only_what_the_client_may_answer_is_among_its_requests() -> None:
    shown = detailed_task(task(mine=question(AnsweredBy.CALLER), theirs=question(AnsweredBy.APPROVERS)))

    assert list(shown.members()["inputRequests"]) == ["mine"]


def test_a_clients_answer_to_what_is_for_approvers_is_passed_over() -> None:
    asking = task(mine=question(AnsweredBy.CALLER), theirs=question(AnsweredBy.APPROVERS))

    assert new_answers(asking, {"mine": ACCEPT, "theirs": ACCEPT}) == {"mine": ACCEPT}


@pytest.mark.parametrize("when", QuestionTime)
def test_where_a_client_can_ask_nobody_approvers_are_asked_by_the_task(when: QuestionTime) -> None:
    plan = plan_of(tool(question(AnsweredBy.EITHER, when)), Handle(), Abilities(takes_task=True))

    assert plan.first == {}
    assert [each.when for each in plan.by_task.values()] == [QuestionTime.BEFORE_START]


def test_without_approvers_such_a_call_is_refused() -> None:
    with pytest.raises(NobodyToAskError):
        plan_of(tool(question(AnsweredBy.CALLER)), Handle(), Abilities(takes_task=True))
