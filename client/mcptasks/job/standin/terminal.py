"""Asks a tool's questions on the terminal."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from .checks import field_violation, options_of
from .desk import Question

DECLINE: Final = {"action": "decline"}
_YES: Final = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


class NotUnderstoodError(ValueError):
    """What was typed is no answer to the field."""


def ask(question: Question, *, read: Callable[[str], str], show: Callable[[str], None]) -> dict[str, Any]:
    """Ask field by field. The end of the input declines.

    `read` prompts for a line and raises EOFError at the end of the input.
    """
    show(f"\n? {question.message}    (Ctrl-D declines)")
    content: dict[str, Any] = {}
    required = question.form.get("required", ())
    try:
        for name, field in question.form["properties"].items():
            value = _ask_field(name, field, required=name in required, read=read, show=show)
            if value is not None:
                content[name] = value
    except EOFError:
        show("declined")
        return DECLINE
    return {"action": "accept", "content": content}


def _ask_field(
    name: str, field: Mapping[str, Any], *, required: bool, read: Callable[[str], str], show: Callable[[str], None]
) -> Any:
    for line in description_of(name, field):
        show(line)
    while True:
        line = read("  > ").strip()
        if not line and "default" in field:
            return field["default"]
        if not line and not required:
            return None
        try:
            value = value_of(line, field)
        except NotUnderstoodError as error:
            show(f"  {error}")
            continue
        found = field_violation(field, value)
        if found is None:
            return value
        show(f"  {found}")


def description_of(name: str, field: Mapping[str, Any]) -> list[str]:
    """The lines that show a field."""
    several = field["type"] == "array"
    kind = {"array": "several of these, with commas between", "boolean": "yes or no"}.get(field["type"], field["type"])
    default = f", else {_shown(field['default'])}" if "default" in field else ""
    lines = [f"  {field.get('title', name)} ({kind}{default})"]
    if "description" in field:
        lines.append(f"  {field['description']}")
    options = options_of(field["items"] if several else field) or {}
    return lines + [f"    {value}" + (f": {words}" if words != value else "") for value, words in options.items()]


def value_of(line: str, field: Mapping[str, Any]) -> Any:
    """What a line means for a field.

    >>> value_of("yes", {"type": "boolean"}), value_of("3", {"type": "integer"}), value_of("a, b", {"type": "array"})
    (True, 3, ['a', 'b'])
    """
    match field["type"]:
        case "boolean":
            if line.lower() not in _YES:
                raise NotUnderstoodError("yes or no?")
            return _YES[line.lower()]
        case "integer" | "number":
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise NotUnderstoodError("a number?")
            return value
        case "array":
            return [each.strip() for each in line.split(",") if each.strip()]
        case _:
            return line


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
