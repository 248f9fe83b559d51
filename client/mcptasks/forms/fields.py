"""The fields of a form, as people see them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Final

from .checks import options_of

NO_DEFAULT: Final = object()


class Kind(Enum):
    """How a field is filled in."""

    TEXT = auto()
    NUMBER = auto()
    INTEGER = auto()
    BOOLEAN = auto()
    CHOICE = auto()
    """One of some values."""
    CHOICES = auto()
    """Several of some values."""
    JSON = auto()
    """A field that MCP does not know: it is filled in as JSON."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a form."""

    name: str
    schema: Mapping[str, Any]
    kind: Kind
    is_required: bool
    title: str
    """What people call it."""
    description: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """The values of a choice, each with the words for people."""
    default: Any = NO_DEFAULT

    @property
    def has_default(self) -> bool:
        """Whether something stands in it before anybody has filled it in."""
        return self.default is not NO_DEFAULT

    def holding(self, value: Any) -> "Field":
        """The field with a value that stands in it already."""
        return replace(self, default=value)

    def hint(self) -> str:
        """What it takes, in a few words.

        >>> fields_of({"properties": {"n": {"type": "integer", "minimum": 1, "default": 3}}})[0].hint()
        'whole number, at least 1, else 3'
        """
        words = [_KIND_WORDS[self.kind]]
        words += [template.format(self.schema[name]) for name, template in _BOUNDS.items() if name in self.schema]
        words += ["required"] if self.is_required and not self.has_default else []
        words += [f"else {shown(self.default)}"] if self.has_default else []
        return ", ".join(words)


_KIND_WORDS: Final[Mapping[Kind, str]] = {
    Kind.TEXT: "text",
    Kind.NUMBER: "number",
    Kind.INTEGER: "whole number",
    Kind.BOOLEAN: "yes or no",
    Kind.CHOICE: "one of these",
    Kind.CHOICES: "several of these, with commas between",
    Kind.JSON: "JSON",
}
_BOUNDS: Final[Mapping[str, str]] = {
    "format": "{}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}


def fields_of(form: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of a form: those that must be filled in, then the others, each in the form's order.

    A form that has been in a Kubernetes object has its properties in the order of their names.
    """
    properties = form.get("properties")
    required = form.get("required")
    names = required if isinstance(required, list | tuple) else ()
    if not isinstance(properties, Mapping):
        return ()
    fields = (
        _field(name, schema, is_required=name in names)
        for name, schema in properties.items()
        if isinstance(schema, Mapping)
    )
    return tuple(sorted(fields, key=lambda field: not field.is_required))


def shown(value: Any) -> str:
    """A value as it would be typed.

    >>> shown(True), shown(["a", "b"]), shown(1.5)
    ('yes', 'a, b', '1.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _field(name: str, schema: Mapping[str, Any], *, is_required: bool) -> Field:
    kind, options = _kind_of(schema)
    return Field(
        name=name,
        schema=schema,
        kind=kind,
        is_required=is_required,
        title=str(schema.get("title", name)),
        description=str(schema.get("description", "")),
        options=options,
        default=schema.get("default", NO_DEFAULT),
    )


def _kind_of(schema: Mapping[str, Any]) -> tuple[Kind, Mapping[str, str]]:
    match schema.get("type"):
        case "string":
            options = options_of(schema)
            return (Kind.TEXT, {}) if options is None else (Kind.CHOICE, options)
        case "array" if isinstance(schema.get("items"), Mapping):
            options = options_of(schema["items"])
            return (Kind.JSON, {}) if options is None else (Kind.CHOICES, options)
        case "number":
            return Kind.NUMBER, {}
        case "integer":
            return Kind.INTEGER, {}
        case "boolean":
            return Kind.BOOLEAN, {}
        case _:
            return Kind.JSON, {}
