"""Answers that stand on the command line: `--answer KEY=JSON`, `--answer KEY.FIELD=VALUE`, `--decline KEY`. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mcptasks.errors import ArgumentsError
from mcptasks.forms.answers import Answer, Assignment, FormError, accept, content_from, decline, parse_assignment
from mcptasks.forms.fields import fields_of
from mcptasks.forms.texts import NotUnderstoodError, json_value
from mcptasks.questions import Question


@dataclass(frozen=True, kw_only=True)
class Given:
    """The answers of a command line."""

    assignments: tuple[Assignment, ...] = ()
    declined: frozenset[str] = frozenset()
    used: set[str] = field(default_factory=set)
    """The keys of the questions that were found to have one."""

    def answer_to(self, question: Question) -> Answer | None:
        """The answer to a question; None where the command line has none.

        Raises:
            FormError: it has one that the question's form does not take.
        """
        if question.key in self.declined:
            self.used.add(question.key)
            return decline()
        whole = [each for each in self.assignments if each.name == question.key]
        parts = [each for each in self.assignments if each.name.startswith(f"{question.key}.")]
        if not whole and not parts:
            return None
        self.used.add(question.key)
        if len(whole) > 1 or (whole and parts):
            raise FormError(f"{question.key} is answered more than once")
        return _whole(question, whole[0]) if whole else accept(question.form, _content(question, parts))

    def unused(self) -> list[str]:
        """What names no question that was asked."""
        named = [each.name for each in self.assignments]
        names = [*named, *sorted(self.declined)]
        return [name for name in names if not any(name == key or name.startswith(f"{key}.") for key in self.used)]


def given_from(assignments: Iterable[str], declined: Iterable[str]) -> Given:
    """The answers of a command line.

    Raises:
        ArgumentsError: one of them is none; or something is answered and declined.
    """
    try:
        given = Given(assignments=tuple(map(parse_assignment, assignments)), declined=frozenset(declined))
    except FormError as error:
        raise ArgumentsError(f"--answer: {error}".replace("FIELD", "KEY.FIELD")) from error
    for key in given.declined:
        if any(each.name == key or each.name.startswith(f"{key}.") for each in given.assignments):
            raise ArgumentsError(f"{key} is answered (--answer) and declined (--decline)")
    return given


def _content(question: Question, parts: Sequence[Assignment]) -> dict[str, object]:
    skipped = len(question.key) + 1
    named = [Assignment(name=each.name[skipped:], text=each.text, is_json=each.is_json) for each in parts]
    return content_from(question.form, named)


def _whole(question: Question, assignment: Assignment) -> Answer:
    """The answer that is the form's content as JSON, or the value of the form's only field."""
    fields = fields_of(question.form)
    try:
        value = json_value(assignment.text)
    except NotUnderstoodError as error:
        if len(fields) != 1:
            raise FormError(f"{error} (KEY.FIELD=VALUE answers one field)") from error
        value = None
    if isinstance(value, dict):
        return accept(question.form, value)
    if len(fields) != 1:
        raise FormError(f"the form has the fields {', '.join(each.name for each in fields)}: give a JSON object")
    only = Assignment(name=fields[0].name, text=assignment.text, is_json=assignment.is_json)
    return accept(question.form, content_from(question.form, [only]))
