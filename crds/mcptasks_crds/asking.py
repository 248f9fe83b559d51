"""What a task asks at this moment: asked minus answered, by the object alone, so that every replica says the same.

An answer that does not count (see `answers`) leaves its question open under a new key, which the operator chooses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .answers import keys_again, refusal_of
from .questions import AnsweredBy, Approvers, QuestionTime, TaskQuestion
from .task import AnswerRoad, AnswerSeen, McpTask, Question

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
    answered_by: AnsweredBy = AnsweredBy.CALLER
    """Who may answer."""
    approvers: Approvers | None = None
    """Which users and groups may answer by the Kubernetes API."""
    expires_at: datetime | None = None
    """When an answer comes too late; None of a task that is not stored yet."""


def open_questions(task: McpTask) -> dict[str, OpenQuestion]:
    """The questions of a task that wait for an answer, by key; none where it is over, or is being stopped.

    Whether the operator has looked at the task yet plays no part.
    """
    spec, status = task.spec, task.status
    is_over = status.phase is not None and status.phase.is_terminal
    if is_over or is_being_stopped(task):
        return {}
    asked = {current_key(key, status.answers): question for key, question in asked_of_people(task).items()}
    return {
        key: _as_open(question, task)
        for key, question in asked.items()
        if key not in status.answers and key not in spec.answers
    }


def open_for_caller(task: McpTask) -> dict[str, OpenQuestion]:
    """Those of the open questions that the call's own client may answer."""
    return {key: question for key, question in open_questions(task).items() if question.answered_by.is_for_caller}


def asked_of_people(task: McpTask) -> dict[str, TaskQuestion | Question]:
    """All that is asked once there is a task, by the tool and by its pods, by key, be it answered or not."""
    own = {key: each for key, each in task.spec.questions.items() if each.when is QuestionTime.BEFORE_START}
    return {**own, **pod_questions(task)}


def pod_questions(task: McpTask) -> Mapping[str, Question]:
    """What the task's pods have asked, by key, be it answered or not."""
    return {} if task.status.report is None else task.status.report.questions


def current_key(key: str, seen: Mapping[str, AnswerSeen]) -> str:
    """The key under which a question is asked by now: another one for each answer that did not count.

    `seen`: `status.answers`, as it is or as it is to be.
    """
    passed = {key}
    while (answer := seen.get(key)) is not None and answer.asked_again_as not in (None, *passed):
        assert answer.asked_again_as is not None
        key = answer.asked_again_as
        passed.add(key)
    return key


def is_left_behind(task: McpTask, key: str) -> bool:
    """Whether a pod's question was closed before its time: the pod is over, and another attempt may ask it anew."""
    question = pod_questions(task).get(key)
    seen = task.status.answers.get(current_key(key, task.status.answers))
    return (
        question is not None and seen is not None and seen.road is AnswerRoad.EXPIRED and seen.at < question.expires_at
    )


def asked_by_now(task: McpTask, key: str) -> str:
    """The key under which a pod's question stands: another attempt asks under a new one what was left behind."""
    asked, now_asked = pod_questions(task), key
    for again in keys_again(key):
        if not is_left_behind(task, now_asked):
            break
        closed_at = task.status.answers[current_key(now_asked, task.status.answers)].at
        if again in asked and asked[again].asked_at >= closed_at:
            now_asked = again
    return now_asked


def answer_for(task: McpTask, key: str) -> str | None:
    """What a pod is told about a question that it asked, as JSON text (an `ElicitResult`); None: not known yet.

    It never changes: the API server lets the first answer stand, and the operator says, once, whose time was over.
    Where the task is being stopped, nobody will answer any more, and that counts as a cancelled form.
    """
    key = asked_by_now(task, key)
    if is_left_behind(task, key):
        return None
    asked: TaskQuestion | Question | None = pod_questions(task).get(key) or task.spec.questions.get(key)
    key = current_key(key, task.status.answers)
    seen = task.status.answers.get(key)
    if seen is not None and (seen.road is AnswerRoad.EXPIRED or seen.rejected is not None):
        return CANCELLED
    answer = task.spec.answers.get(key)
    if answer is not None and asked is not None and refusal_of(asked, answer) is None:
        return answer.response
    return CANCELLED if is_being_stopped(task) else None


def is_being_stopped(task: McpTask) -> bool:
    """Whether the task's end was asked for or begun, so that it asks nothing any more."""
    return task.status.stopping is not None or task.spec.cancel_requested


def _as_open(question: TaskQuestion | Question, task: McpTask) -> OpenQuestion:
    who = question if isinstance(question, TaskQuestion) else None
    return OpenQuestion(
        message=question.message,
        requested_schema=question.requested_schema,
        model_may_answer=question.model_may_answer,
        answered_by=AnsweredBy.CALLER if who is None else who.answered_by,
        approvers=None if who is None else who.approvers,
        expires_at=_expiry(question, task),
    )


def _expiry(question: TaskQuestion | Question, task: McpTask) -> datetime | None:
    if isinstance(question, Question):
        return question.expires_at
    created = task.metadata.creation_timestamp
    return None if created is None else created + timedelta(seconds=question.expiry_seconds)
