"""The fields of a form: what a tool may ask for. Pure. Source: MCP's specification, "Elicitation", requested schema.

Each function makes one field; its `title` and `description` are for the person who answers, and its `default` is what
the form shows first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")
Format = Literal["email", "uri", "date", "date-time"]


@dataclass(frozen=True, kw_only=True)
class Field(Generic[T]):
    """One field of a form, whose answer is a `T`."""

    schema: Mapping[str, Any]
    """As MCP has it."""
    is_required: bool = True


def text(
    title: str | None = None,
    *,
    description: str | None = None,
    default: str | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    format: Format | None = None,  # noqa: A002  # the schema's own word
) -> Field[str]:
    """A line of text."""
    return _field("string", title, description, default, minLength=min_length, maxLength=max_length, format=format)


def number(
    title: str | None = None,
    *,
    description: str | None = None,
    default: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Field[float]:
    """A number."""
    return _field("number", title, description, default, minimum=minimum, maximum=maximum)


def integer(
    title: str | None = None,
    *,
    description: str | None = None,
    default: int | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
) -> Field[int]:
    """A whole number."""
    return _field("integer", title, description, default, minimum=minimum, maximum=maximum)


def boolean(title: str | None = None, *, description: str | None = None, default: bool | None = None) -> Field[bool]:
    """A box to be ticked, or not."""
    return _field("boolean", title, description, default)


def choice(
    options: Sequence[str] | Mapping[str, str],
    title: str | None = None,
    *,
    description: str | None = None,
    default: str | None = None,
) -> Field[str]:
    """One of some values; a mapping gives each value the words that people see."""
    titled: dict[str, Any] = {"oneOf": _titled(options)} if isinstance(options, Mapping) else {"enum": list(options)}
    return _field("string", title, description, default, **titled)


def choices(
    options: Sequence[str] | Mapping[str, str],
    title: str | None = None,
    *,
    description: str | None = None,
    default: Sequence[str] | None = None,
    min_items: int | None = None,
    max_items: int | None = None,
) -> Field[list[str]]:
    """Several of some values; a mapping gives each value the words that people see."""
    items: dict[str, Any] = (
        {"anyOf": _titled(options)} if isinstance(options, Mapping) else {"type": "string", "enum": list(options)}
    )
    chosen = None if default is None else list(default)
    return _field("array", title, description, chosen, items=items, minItems=min_items, maxItems=max_items)


def optional(field: Field[T]) -> Field[T | None]:
    """The same field, which may be left out: its answer is then None, or the default where it has one."""
    return replace(field, is_required=False)  # type: ignore[return-value]  # only what is promised differs


def form_of(fields: Mapping[str, Field[Any]]) -> dict[str, Any]:
    """The fields as one form.

    >>> form_of({"sure": boolean("Really?")})
    {'type': 'object', 'properties': {'sure': {'type': 'boolean', 'title': 'Really?'}}, 'required': ['sure']}
    """
    required = [name for name, field in fields.items() if field.is_required]
    form: dict[str, Any] = {"type": "object", "properties": {name: dict(f.schema) for name, f in fields.items()}}
    return {**form, "required": required} if required else form


def answers_of(fields: Mapping[str, Field[Any]], content: Mapping[str, Any]) -> dict[str, Any]:
    """What was answered, field by field; what was left out is the field's default, or None.

    The endpoint has checked the content against the form.

    >>> answers_of({"n": optional(integer(default=3)), "ratio": number()}, {"ratio": 1})
    {'n': 3, 'ratio': 1.0}
    """
    return {name: _read(field, content.get(name, field.schema.get("default"))) for name, field in fields.items()}


def _read(field: Field[Any], value: Any) -> Any:
    kind = field.schema["type"]
    if kind == "integer" and isinstance(value, float):
        return int(value)  # JSON knows no difference between 3 and 3.0
    if kind == "number" and isinstance(value, int):
        return float(value)
    return value


def _field(kind: str, title: str | None, description: str | None, default: Any, **more: Any) -> Field[Any]:
    members = {"type": kind, "title": title, "description": description, **more, "default": default}
    return Field(schema={name: value for name, value in members.items() if value is not None})


def _titled(options: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": words} for value, words in options.items()]
