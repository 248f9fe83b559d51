"""Questions that a tool asks before its pod starts: an approval, a confirmation, a choice.

A McpTool says them in YAML, for people write them. A task keeps them as they were when it was called, with the form's
schema as JSON text, so that nobody approves one thing and gets another.
"""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field

from . import limits
from .base import Resource, enforced

DEFAULT_EXPIRY_SECONDS: Final = 604_800
"""Seven days."""

_FORM: Final = {
    "properties": {"type": {"type": "string", "enum": ["object"], "description": "A form is an object."}},
    "required": ["type"],
}
MAX_EXPIRY_SECONDS: Final = 2_592_000
"""Thirty days."""
ExpirySeconds = Annotated[int, Field(ge=1, le=MAX_EXPIRY_SECONDS)]
"""How long an answer is waited for, in seconds."""


class QuestionTime(StrEnum):
    """When a question is asked."""

    BEFORE_TASK = "beforeTask"
    """Before there is a task: it is created with the answer."""
    BEFORE_START = "beforeStart"
    """Once there is a task, whose pod starts only when the answer is there."""


class AnsweredBy(StrEnum):
    """Who may answer a question."""

    CALLER = "caller"
    """Whoever called the tool, by the MCP client."""
    APPROVERS = "approvers"
    """People who are named, by the Kubernetes API. The client is not asked: it is told that they are waited for."""
    EITHER = "either"
    """Both: the first answer counts."""

    @property
    def is_for_caller(self) -> bool:
        """Whether the call's own client may answer."""
        return self is not AnsweredBy.APPROVERS

    @property
    def is_for_approvers(self) -> bool:
        """Whether approvers may answer."""
        return self is not AnsweredBy.CALLER


_Approvers = Annotated[
    tuple[Annotated[str, enforced(minLength=1, maxLength=limits.APPROVER_LENGTH)], ...],
    enforced(**{"maxItems": limits.MAX_APPROVERS, "x-kubernetes-list-type": "set"}),
]


class Approvers(Resource):
    """Who may answer by the Kubernetes API, by the names that it knows them by."""

    users: _Approvers = ()
    """Users, such as `alice@example.com` or `system:serviceaccount:NAMESPACE:NAME`."""
    groups: _Approvers = ()
    """Groups, each of whose members may answer."""

    def __str__(self) -> str:
        """Whom people are waiting for: the groups, then the users."""
        return ", ".join((*self.groups, *self.users))


class ToolQuestion(Resource):
    """What a tool asks before its pod starts."""

    key: Annotated[str, Field(pattern=limits.QUESTION_KEY_PATTERN)]
    """The question's name: answers are given by it."""
    message: Annotated[str, Field(min_length=1, max_length=limits.QUESTION_MESSAGE_STORED_BYTES)]
    """The question, for people."""
    requested_schema: Annotated[Mapping[str, Any], enforced(**_FORM)]
    """The form to be filled in: MCP's elicitation schema, an object of plain fields."""
    when: QuestionTime
    """`beforeTask`: the call becomes a task only with the answer. `beforeStart`: the task waits for it."""
    answered_by: AnsweredBy = AnsweredBy.CALLER
    """Who may answer: the tool's `caller`, `approvers` by the Kubernetes API, or `either` of them."""
    approvers: Approvers | None = None
    """Which users and groups may answer, where `answeredBy` is `approvers` or `either`."""
    model_may_answer: bool = False
    """Whether a model may answer by itself (`task_answer`). An approval is for a person."""
    expiry_seconds: ExpirySeconds = DEFAULT_EXPIRY_SECONDS
    """How long after the call an answer is waited for, in seconds. Afterwards the task ends as a tool error."""


class TaskQuestion(Resource):
    """A tool's question, as it was when the tool was called."""

    message: Annotated[str, enforced(maxLength=limits.QUESTION_MESSAGE_STORED_BYTES)]
    """The question, for people."""
    requested_schema: Annotated[str, enforced(minLength=2, maxLength=limits.QUESTION_SCHEMA_STORED_BYTES)]
    """The form to be filled in, as MCP's elicitation schema, as JSON text."""
    when: QuestionTime
    """When it is asked. The answer to a `beforeTask` question is there from the task's first moment."""
    answered_by: AnsweredBy = AnsweredBy.CALLER
    """Who may answer."""
    approvers: Approvers | None = None
    """Which users and groups may answer by the Kubernetes API, as they were when the tool was called."""
    model_may_answer: bool = False
    """Whether a model may answer by itself."""
    expiry_seconds: ExpirySeconds = DEFAULT_EXPIRY_SECONDS
    """How long after the task's creation an answer is waited for, in seconds."""


def as_asked(questions: Iterable[ToolQuestion]) -> dict[str, TaskQuestion]:
    """A tool's questions by their keys, as a task keeps them (`spec.questions`)."""
    return {
        question.key: TaskQuestion(
            message=question.message,
            requested_schema=json.dumps(question.requested_schema, ensure_ascii=False, separators=(",", ":")),
            when=question.when,
            answered_by=question.answered_by,
            approvers=question.approvers,
            model_may_answer=question.model_may_answer,
            expiry_seconds=question.expiry_seconds,
        )
        for question in questions
    }
