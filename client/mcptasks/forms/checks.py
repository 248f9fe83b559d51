"""Values against flat schemas: a form's fields, and a tool's arguments roughly. Pure.

Every keyword that a form may have is checked; of any other schema only the type of its properties, which of them must
be there, and whether others may be. A task's own server checks all of JSON Schema.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from .formats import FORMATS

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def violation(schema: Mapping[str, Any], values: Mapping[str, Any]) -> str | None:
    """The first way in which an object breaks its schema: a JSON pointer and a message; None if it does not.

    >>> form = {"properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    >>> violation(form, {"n": 0}), violation(form, {}), violation(form, {"n": 1}) is None
    ('/n: must be at least 1', '/n: is required', True)
    """
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in values:
            return f"/{name}: is required"
    for name, value in values.items():
        if name in properties:
            found = field_violation(properties[name], value)
            if found is not None:
                return f"/{name}: {found}"
        elif schema.get("additionalProperties") is False:
            return f"/{name}: there is no such property"
    return None


def field_violation(schema: Mapping[str, Any], value: Any) -> str | None:
    """How one value breaks its schema; None if it does not."""
    kinds = schema.get("type", list(_TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is_of(kind, value) for kind in kinds):
        return f"must be of type {' or '.join(kinds)}"
    options = options_of(schema)
    if options is not None and not isinstance(value, list) and value not in options:
        return f"must be one of {', '.join(map(str, options))}"
    if isinstance(value, list):
        return _list_violation(schema, value)
    return _bounds_violation(schema, value)


def options_of(schema: Mapping[str, Any]) -> Mapping[Any, str] | None:
    """A choice's values, each with the words for people; None if it is no choice."""
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list) and all(isinstance(value, Hashable) for value in values):
        words = names if isinstance(names, list) and len(names) == len(values) else values
        return dict(zip(values, map(str, words), strict=True))
    for keyword in ("oneOf", "anyOf"):
        each = schema.get(keyword)
        if isinstance(each, list) and all(isinstance(one, Mapping) and _has_const(one) for one in each):
            return {one["const"]: str(one.get("title", one["const"])) for one in each}
    return None


def _has_const(schema: Mapping[str, Any]) -> bool:
    return "const" in schema and isinstance(schema["const"], Hashable)


def _is_of(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _list_violation(schema: Mapping[str, Any], value: Sequence[Any]) -> str | None:
    if len(value) < schema.get("minItems", 0):
        return f"must have at least {schema['minItems']} items"
    if len(value) > schema.get("maxItems", len(value)):
        return f"must have at most {schema['maxItems']} items"
    options = options_of(schema.get("items", {})) if isinstance(schema.get("items"), Mapping) else None
    wrong = None if options is None else next((each for each in value if each not in options), None)
    return None if wrong is None else f"{wrong} is not one of {', '.join(map(str, options or ()))}"


def _bounds_violation(schema: Mapping[str, Any], value: Any) -> str | None:
    if isinstance(value, str):
        return _text_violation(schema, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            return "must be a number that JSON has"
        if value < schema.get("minimum", value):
            return f"must be at least {schema['minimum']}"
        if value > schema.get("maximum", value):
            return f"must be at most {schema['maximum']}"
    return None


def _text_violation(schema: Mapping[str, Any], value: str) -> str | None:
    if any("\ud800" <= character <= "\udfff" for character in value):
        return "holds half a character (a lone surrogate, or bytes that are no text)"
    if len(value) < schema.get("minLength", 0):
        return f"must have at least {schema['minLength']} characters"
    if len(value) > schema.get("maxLength", len(value)):
        return f"must have at most {schema['maxLength']} characters"
    form = FORMATS.get(str(schema.get("format")))
    return None if form is None or form.is_one(value) else f"must be {form.words}"
