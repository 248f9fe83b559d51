"""Asks a person a question: field by field, then whether to send it.

What is asked comes from the server and from the tool's author: it is shown indented and without control characters, so
that it cannot look like the dialogue's own words.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from mcptasks.forms.answers import Answer, FormError, accept, cancel, decline
from mcptasks.forms.fields import Field, Kind, fields_of
from mcptasks.forms.texts import NotUnderstoodError, check, value_of
from mcptasks.questions import Question

CHOICES: Final = ("accept", "decline", "cancel", "edit")


class Lines(Protocol):
    """Where a person is asked."""

    async def read(self, prompt: str) -> str:
        """The next line that is typed.

        Raises:
            EOFError: the person has nothing more to say.
        """

    def show(self, text: str) -> None:
        """A line to be read."""

    def forget_typed(self) -> None:
        """Throw away what was typed before anybody has asked."""


async def ask(question: Question, lines: Lines, *, server: str, refusal: str | None = None) -> Answer | None:
    """The answer to a question, which its form takes; None where the person leaves it open.

    Args:
        question: what to ask.
        lines: where.
        server: who asks, for people.
        refusal: why an answer that was given before is asked for again.
    """
    lines.forget_typed()
    fields = fields_of(question.form)
    lines.show(f"\n{server} asks ({question.key}):")
    for line in question.message.splitlines():
        lines.show(f"    {line}")
    if refusal is not None:
        lines.show(f"The last answer was refused: {refusal}")
    if fields:
        lines.show("Ctrl-D: no more fields.")
    content: dict[str, Any] | None = None
    while True:
        content = await _filled_in(fields, content or {}, lines)
        try:
            match await _chosen(lines, can_accept=content is not None, can_edit=bool(fields)):
                case "accept":
                    return accept(question.form, content or {})
                case "decline":
                    return decline()
                case "cancel":
                    return cancel()
                case _:
                    continue
        except FormError as error:  # only a form that asks for what it has no field for
            lines.show(f"  {error}")
        except EOFError:
            return None


async def _filled_in(fields: tuple[Field, ...], content: Mapping[str, Any], lines: Lines) -> dict[str, Any] | None:
    """The fields' values; None where the person did not fill in all of them."""
    found: dict[str, Any] = {}
    try:
        for field in fields:
            value = await _field_value(field.holding(content[field.name]) if field.name in content else field, lines)
            if value is not None:
                found[field.name] = value
    except EOFError:
        return None
    return found


async def _field_value(field: Field, lines: Lines) -> Any:
    """A value that the field takes; None where it is left out."""
    for line in description_of(field):
        lines.show(line)
    while True:
        line = await lines.read("  > ")
        try:
            if line.strip():
                return _typed(line, field)
            if field.has_default:
                check(field.default, field)
                return field.default
        except NotUnderstoodError as error:
            lines.show(f"  {error}")
            continue
        if not field.is_required:
            return None
        lines.show("  is required")


async def _chosen(lines: Lines, *, can_accept: bool, can_edit: bool) -> str:
    """What is to be done with the answer."""
    offered = [word for word in CHOICES if (can_accept or word != "accept") and (can_edit or word != "edit")]
    while True:
        said = (await lines.read(f"{', '.join(offered)}? ")).strip().lower()
        found = [word for word in offered if said and word.startswith(said)]
        if len(found) == 1:
            return found[0]
        lines.show(f"Type one of these words, or its first letter: {', '.join(offered)}. Ctrl-D leaves it open.")


def description_of(field: Field) -> list[str]:
    """The lines that show a field; the values of a choice are numbered."""
    lines = [f"  {field.title} ({field.hint()})"]
    lines += [f"    {line}" for line in field.description.splitlines()]
    for number, (value, words) in enumerate(field.options.items(), 1):
        lines.append(f"    {number}) {value}" + (f": {words}" if words != value else ""))
    return [line.replace("\n", " ") for line in lines]


def _typed(line: str, field: Field) -> Any:
    """The value that was typed; one of a choice may be named by its number. A value that is a number comes first."""
    match field.kind:
        case Kind.TEXT:
            return value_of(line, field)
        case Kind.CHOICE:
            return value_of(_option(line.strip(), field), field)
        case Kind.CHOICES if line.strip() not in field.options:
            values = [_option(each.strip(), field) for each in line.split(",") if each.strip()]
            check(values, field)
            return values
        case _:
            return value_of(line.strip(), field)


def _option(text: str, field: Field) -> str:
    values = list(field.options)
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
    return values[number - 1] if text not in field.options and 0 < number <= len(values) else text
