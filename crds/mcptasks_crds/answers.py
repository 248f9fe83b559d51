"""Whether an answer counts: given by somebody who was asked, and what the question asks for. Pure.

The server looks before it stores an answer, and the admission policy looks at who writes one. This looks once more at
what stands in the object: somebody with kubectl may have written it, in a cluster without the policy.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from . import limits
from .forms import violation_of_answer
from .questions import AnsweredBy, TaskQuestion
from .task import Answer, AnswerRoad, Question, Rejection

_LONGEST_REASKED: Final = limits.QUESTION_KEY_LENGTH - len("-99")


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why an answer does not count."""

    rejection: Rejection
    words: str
    """The same for people."""


def road_of(question: TaskQuestion | Question, answer: Answer) -> AnswerRoad:
    """By which road an answer came: the server says so of its callers'; one that says nothing is an approver's."""
    if answer.road is not None:
        return answer.road
    return AnswerRoad.APPROVER if _answered_by(question).is_for_approvers else AnswerRoad.CALLER


def refusal_of(question: TaskQuestion | Question, answer: Answer) -> Refusal | None:
    """Why an answer does not count; None where it does."""
    if road_of(question, answer) is AnswerRoad.APPROVER:
        words = _no_approver(question, answer.by)
    else:
        words = "" if _answered_by(question).is_for_caller else "it is for approvers to answer"
    if words:
        return Refusal(rejection=Rejection.NOT_ASKED, words=words)
    violation = violation_of_answer(question.requested_schema, answer.response)
    return None if violation is None else Refusal(rejection=Rejection.INVALID, words=violation)


def next_key(key: str, *, taken: Collection[str]) -> str | None:
    """The key under which a question is asked again, which nothing else has; None where it was asked often enough.

    `key` is the question's own.

    >>> next_key("sure", taken={"sure", "sure-2"}), next_key("sure", taken={f"sure-{n}" for n in range(9)})
    ('sure-3', None)
    """
    return next((each for each in keys_again(key) if each not in taken), None)


def keys_again(key: str) -> tuple[str, ...]:
    """The keys under which a question may be asked again, in order."""
    if len(key) > _LONGEST_REASKED:
        return ()
    return tuple(f"{key}-{number}" for number in range(2, limits.MAX_ASKINGS + 1))


def _answered_by(question: TaskQuestion | Question) -> AnsweredBy:
    return question.answered_by if isinstance(question, TaskQuestion) else AnsweredBy.CALLER


def _no_approver(question: TaskQuestion | Question, name: str | None) -> str:
    """Why somebody is no approver of a question, as far as a name tells: groups are known to the API server alone."""
    approvers = question.approvers if isinstance(question, TaskQuestion) else None
    if approvers is None or not _answered_by(question).is_for_approvers:
        return "it is for the tool's caller to answer"
    if name is None:
        return "it does not say who answers"
    if not approvers.groups and name not in approvers.users:
        return f"{name} is not among its approvers"
    return ""
