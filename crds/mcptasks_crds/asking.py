"""What a task asks at this moment: asked minus answered, by the object alone, so that every replica says the same."""

from dataclasses import dataclass

from .questions import QuestionTime
from .task import McpTask


@dataclass(frozen=True, kw_only=True)
class OpenQuestion:
    """A question that waits for its answer."""

    message: str
    """The question, for people."""
    requested_schema: str
    """The form to be filled in, as MCP's elicitation schema, as JSON text."""
    model_may_answer: bool
    """Whether a model may answer by itself. What a pod asks is for a person."""


def open_questions(task: McpTask) -> dict[str, OpenQuestion]:
    """The questions of a task that wait for an answer, by key; none where it is over, or is being stopped.

    Whether the operator has looked at the task yet plays no part.
    """
    spec, status = task.spec, task.status
    is_over = status.phase is not None and status.phase.is_terminal
    if is_over or status.stopping is not None or spec.cancel_requested:
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
    by_pod = {} if status.report is None else status.report.questions
    asked |= {
        key: OpenQuestion(message=question.message, requested_schema=question.requested_schema, model_may_answer=False)
        for key, question in by_pod.items()
    }
    return {key: question for key, question in asked.items() if key not in spec.answers}
