"""Asks a tool's questions on the terminal."""

from collections.abc import Callable
from typing import Any, Final

from mcptasks.forms.fields import Field, fields_of
from mcptasks.forms.texts import NotUnderstoodError, value_of

from .desk import Question

DECLINE: Final = {"action": "decline"}


def ask(
    question: Question, *, read: Callable[[str], str], show: Callable[[str], None], is_typed: bool = True
) -> dict[str, Any]:
    """Ask field by field. The end of the input declines.

    `read` prompts for a line and raises EOFError at the end of the input. `is_typed`: whether somebody types the lines.
    """
    show(f"\n? {question.message}" + ("    (Ctrl-D declines)" if is_typed else ""))
    content: dict[str, Any] = {}
    try:
        for field in fields_of(question.form):
            value = _ask_field(field, read=read, show=show)
            if value is not None:
                content[field.name] = value
    except EOFError:
        show("declined")
        return DECLINE
    return {"action": "accept", "content": content}


def _ask_field(field: Field, *, read: Callable[[str], str], show: Callable[[str], None]) -> Any:
    for line in description_of(field):
        show(line)
    while True:
        line = read("  > ").strip()
        if not line and field.has_default:
            return field.default
        if not line and not field.is_required:
            return None
        try:
            return value_of(line, field)
        except NotUnderstoodError as error:
            show(f"  {error}")


def description_of(field: Field) -> list[str]:
    """The lines that show a field."""
    lines = [f"  {field.title} ({field.hint()})"]
    if field.description:
        lines.append(f"  {field.description}")
    options = field.options.items()
    return lines + [f"    {value}" + (f": {words}" if words != value else "") for value, words in options]
