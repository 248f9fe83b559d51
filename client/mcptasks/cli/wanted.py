"""What `mcptasks answer` is told to answer: which question, and with what. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcptasks.errors import ArgumentsError, McptasksError
from mcptasks.forms.answers import (
    Answer,
    Assignment,
    FormError,
    accept,
    cancel,
    content_from,
    decline,
    parse_assignment,
)
from mcptasks.questions import Question


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The words of the command line."""

    key: str | None = None
    """The question; None: the only one."""
    assignments: tuple[Assignment, ...] = ()
    accepts: bool = False
    """Whether it accepts, with the form's defaults where nothing is assigned."""
    declines: bool = False
    cancels: bool = False

    @property
    def is_said(self) -> bool:
        """Whether the command line answers; else a person is asked."""
        return self.accepts or self.declines or self.cancels or bool(self.assignments)

    def answer_to(self, question: Question) -> Answer:
        """The answer.

        Raises:
            ArgumentsError: the question's form does not take it.
        """
        if self.declines:
            return decline()
        if self.cancels:
            return cancel()
        try:
            return accept(question.form, content_from(question.form, self.assignments))
        except FormError as error:
            raise ArgumentsError(f"{question.key}: {error}") from error

    def chosen(self, questions: Mapping[str, Question]) -> list[Question]:
        """The questions that are meant: the named one, else the only one; all of them where a person is asked.

        Raises:
            ArgumentsError: there are several, and it is not said which.
            NotAskedError: the named one is not asked.
        """
        if self.key is not None:
            if self.key not in questions:
                others = f": it asks {', '.join(questions)}" if questions else ""
                raise NotAskedError(f"{self.key} is not asked, or not any more{others}")
            return [questions[self.key]]
        if self.is_said and len(questions) > 1:
            raise ArgumentsError(f"which question? {', '.join(questions)}")
        return list(questions.values())


class NotAskedError(McptasksError):
    """What is to be answered is not asked, or not any more."""


def wanted_from(words: Sequence[str], *, accepts: bool, declines: bool, cancels: bool) -> Wanted:
    """What the command line wants: `[KEY] [FIELD=VALUE ...]`.

    Raises:
        ArgumentsError: that is none, or contradicts itself.
    """
    rest = list(words)
    key = rest.pop(0) if rest and "=" not in rest[0] else None
    try:
        assignments = tuple(map(parse_assignment, rest))
    except FormError as error:
        raise ArgumentsError(str(error)) from error
    if (accepts or bool(assignments)) + declines + cancels > 1:
        raise ArgumentsError("one of: FIELD=VALUE and --accept, --decline, --cancel")
    return Wanted(key=key, assignments=assignments, accepts=accepts, declines=declines, cancels=cancels)
