"""How open questions are shown, and by which command they are answered. Pure."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mcptasks.forms.fields import Field, Kind, fields_of
from mcptasks.questions import Question

from .dialogue import description_of
from .moments import shown_text

ANSWER_WITH: Final = "mcptasks.dev/answerWith"
"""In the `_meta` of what `--output json` prints: the command that answers, by the question's key."""
ANSWERED_BY: Final = "mcptasks.dev/answeredBy"
EXPIRES_AT: Final = "mcptasks.dev/expiresAt"
"""What the server of this project says beside a question: who may answer it, and until when."""


def lines_of(question: Question, commands: Sequence[str]) -> Iterable[str]:
    """A question for people: its words, its form, and what answers it."""
    first, *more = question.message.splitlines() or [""]
    yield f"{question.key}: {first}"
    yield from (f"    {line}" for line in more)
    for field in fields_of(question.form):
        name = [] if field.title == field.name else [f"  [{field.name}]"]
        head, *rest = description_of(field)
        yield "  " + head + "".join(name)
        yield from ("  " + line for line in rest)
    if ANSWERED_BY in question.meta:
        yield f"    answered by: {question.meta[ANSWERED_BY]}"
    if EXPIRES_AT in question.meta:
        yield f"    until: {shown_text(str(question.meta[EXPIRES_AT]))}"
    yield from (f"  $ {command}" for command in commands)


def answer_words(question: Question) -> list[str]:
    """The assignments that a question asks for at least, each with what it takes.

    Where nothing must be filled in these are its yes-or-no fields: a form as it stands says what they hold, mostly no.
    """
    fields = fields_of(question.form)
    needed = [field for field in fields if field.is_required and not field.has_default]
    asked = needed or [field for field in fields if field.kind is Kind.BOOLEAN]
    return [f"{field.name}={_placeholder(field)}" for field in asked]


def answer_commands(question: Question, task_id: str, *, options: Sequence[str] = ()) -> list[str]:
    """The commands that answer a task's question: yes, and no."""
    before = ["mcptasks", "answer", *options, task_id, question.key]
    accepting = answer_words(question) or ["--accept"]
    return [shlex.join([*before, *accepting]), shlex.join([*before, "--decline"])]


def retry_words(question: Question) -> list[str]:
    """The options by which a call brings the answer to a question that is asked before there is a task."""
    named = [part for word in answer_words(question) for part in ("--answer", f"{question.key}.{word}")]
    accepting = named or ["--answer", f"{question.key}={{}}"]
    return [shlex.join(accepting), shlex.join(["--decline", question.key])]


def document_of(question: Question, commands: Sequence[str]) -> dict[str, Any]:
    """A question for programs."""
    known = {"answeredBy": question.meta.get(ANSWERED_BY), "expiresAt": question.meta.get(EXPIRES_AT)}
    return {
        "message": question.message,
        "requestedSchema": dict(question.form),
        **{name: value for name, value in known.items() if value is not None},
        "answerWith": commands[0],
        "declineWith": commands[1],
    }


def with_commands(document: Mapping[str, Any], commands: Mapping[str, str]) -> dict[str, Any]:
    """A document of the protocol with the commands that answer its questions."""
    meta = document.get("_meta")
    return {**document, "_meta": {**(meta if isinstance(meta, Mapping) else {}), ANSWER_WITH: dict(commands)}}


def _placeholder(field: Field) -> str:
    """What stands for a value until somebody has thought of one."""
    match field.kind:
        case Kind.BOOLEAN:
            return "yes|no"
        case Kind.CHOICE | Kind.CHOICES:
            return "|".join(field.options)
        case Kind.NUMBER | Kind.INTEGER:
            return "<number>"
        case Kind.TEXT:
            return f"<{field.schema.get('format', 'text')}>"
        case Kind.JSON:
            return "<json>"
