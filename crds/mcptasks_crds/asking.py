"""What a task asks at this moment: asked minus answered, by the object alone, so that every replica says the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .questions import QuestionTime
from .task import AnswerRoad, McpTask, Question

CANCELLED: Final = '{"action":"cancel"}'
"""What a pod is told of a question that nobody answered."""


@dataclass(frozen=True, kw_only=True)
class OpenQuestion:
    """A question that waits for its answer."""

    message: str
    """The question, for people."""
    requested_schema: str
    """The form to be filled in, as MCP's elicitation schema, as JSON text."""
    model_may_answer: bool
    """Whether a model may answer by itself."""


def open_questions(task: McpTask) -> dict[str, OpenQuestion]:
    """The questions of a task that wait for an answer, by key; none where it is over, or is being stopped.

    Whether the operator has looked at the task yet plays no part.
    """
    spec, status = task.spec, task.status
    is_over = status.phase is not None and status.phase.is_terminal
    if is_over or is_being_stopped(task):
        return {}
    asked = {
        key: OpenQuestion(
            message=question.message,
            requested_schema=question.requested_schema,
            model_may_answer=question.model_may_answer,
        )
        for key, question in spec.questions.items()
        if question.when is QuestionTime.BEFORE_START
    }
    asked |= {
        key: OpenQuestion(
            message=question.message,
            requested_schema=question.requested_schema,
            model_may_answer=question.model_may_answer,
        )
        for key, question in pod_questions(task).items()
        if key not in status.answers  # its time was over
    }
    return {key: question for key, question in asked.items() if key not in spec.answers}


def pod_questions(task: McpTask) -> Mapping[str, Question]:
    """What the task's pods have asked, by key, be it answered or not."""
    return {} if task.status.report is None else task.status.report.questions


def answer_for(task: McpTask, key: str) -> str | None:
    """What a pod is told about a question that it asked, as JSON text (an `ElicitResult`); None: not known yet.

    It never changes: the API server lets the first answer stand, and the operator says, once, whose time was over.
    Where the task is being stopped, nobody will answer any more, and that counts as a cancelled form.
    """
    seen = task.status.answers.get(key)
    if seen is not None and seen.road is AnswerRoad.EXPIRED:
        return CANCELLED
    answer = task.spec.answers.get(key)
    if answer is not None:
        return answer.response
    return CANCELLED if is_being_stopped(task) else None


def is_being_stopped(task: McpTask) -> bool:
    """Whether the task's end was asked for or begun, so that it asks nothing any more."""
    return task.status.stopping is not None or task.spec.cancel_requested
