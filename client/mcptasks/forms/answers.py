"""Answers to a form, as MCP has them (ElicitResult), and how they are written in one line: `field=value`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .checks import violation
from .fields import Field, fields_of
from .texts import NotUnderstoodError, json_value, value_of_all

Answer = dict[str, Any]
"""MCP's ElicitResult: `action`, and the `content` of one that accepts."""


class FormError(ValueError):
    """Something is not what the form asks for; the message names the field."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """`name=text`, or `name:=json`."""

    name: str
    text: str
    is_json: bool


def accept(form: Mapping[str, Any], content: Mapping[str, Any]) -> Answer:
    """The answer that accepts.

    Raises:
        FormError: the content is not what the form asks for.
    """
    found = violation(form, content)
    if found is not None:
        raise FormError(found.removeprefix("/"))
    return {"action": "accept", "content": dict(content)}


def decline() -> Answer:
    """The answer that says no."""
    return {"action": "decline"}


def cancel() -> Answer:
    """The answer that says neither yes nor no: the form was put away."""
    return {"action": "cancel"}


def parse_assignment(text: str) -> Assignment:
    """The two sides of an assignment.

    Raises:
        FormError: it is none.

    >>> parse_assignment("n:=[1]")
    Assignment(name='n', text='[1]', is_json=True)
    """
    name, equals, value = text.partition("=")
    if not equals or not name.removesuffix(":"):
        raise FormError(f"{text!r} is neither FIELD=VALUE nor FIELD:=JSON")
    return Assignment(name=name.removesuffix(":"), text=value, is_json=name.endswith(":"))


def content_from(form: Mapping[str, Any], assignments: Iterable[Assignment]) -> dict[str, Any]:
    """What a form holds once it is filled in; a field that nobody has filled in holds its default.

    Raises:
        FormError: a field is not there, or takes another value, or must not be left out.

    >>> form = {"properties": {"sure": {"type": "boolean"}, "n": {"type": "integer", "default": 3}}}
    >>> content_from(form, [parse_assignment("sure=yes")])
    {'n': 3, 'sure': True}
    """
    fields = {field.name: field for field in fields_of(form)}
    content = {field.name: field.default for field in fields.values() if field.has_default}
    for name, given in _by_name(assignments).items():
        if name not in fields:
            raise FormError(f"{name}: there is no such field; there is {', '.join(fields) or 'none'}")
        try:
            content[name] = _value(fields[name], given)
        except NotUnderstoodError as error:
            raise FormError(f"{name}: {error}") from error
    return dict(accept(form, content)["content"])


def _by_name(assignments: Iterable[Assignment]) -> dict[str, list[Assignment]]:
    found: dict[str, list[Assignment]] = {}
    for assignment in assignments:
        found.setdefault(assignment.name, []).append(assignment)
    return found


def _value(field: Field, given: list[Assignment]) -> Any:
    if any(each.is_json for each in given):
        if len(given) > 1:
            raise NotUnderstoodError("is given more than once")
        return json_value(given[0].text)
    return value_of_all([each.text for each in given], field)
