"""Forms: what a question may ask for, and whether an answer is what it asked for. Pure.

A form is MCP's elicitation schema (schema 2026-07-28 and 2025-11-25, `ElicitRequestFormParams.requestedSchema`): an
object whose properties are plain fields. Clients make an input mask of it, so a keyword that MCP does not name would be
a demand that nobody is shown: it is refused here, not ignored there. An answer is an `ElicitResult`.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from . import jsontext
from .pointers import pointer
from .schemas import Schema, SchemaError, Violation

Action = Literal["accept", "decline", "cancel"]

_TEXT: Final = {"type": "string"}
_SIZE: Final = {"type": "integer", "minimum": 0}
_NUMBER: Final = {"type": "number"}
_CHOICES: Final = {"type": "array", "minItems": 1, "uniqueItems": True, "items": _TEXT}
_TITLED: Final = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"const": _TEXT, "title": _TEXT},
        "required": ["const", "title"],
        "additionalProperties": False,
    },
}


def _object(required: tuple[str, ...], /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _field(required: tuple[str, ...] = (), /, **properties: Any) -> Schema:
    return Schema(_object(required, type=_TEXT, title=_TEXT, description=_TEXT, default=True, **properties))


_FORM: Final = Schema(
    {
        "type": "object",
        "properties": {
            "$schema": _TEXT,
            "type": {"const": "object"},
            "properties": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {"type": {"enum": ["string", "number", "integer", "boolean", "array"]}},
                    "required": ["type"],
                },
            },
            "required": {"type": "array", "items": _TEXT},
        },
        "required": ["type", "properties"],
        "additionalProperties": False,
    }
)
_FORMATS: Final = ["email", "uri", "date", "date-time"]
_PLAIN_TEXT: Final = _field(minLength=_SIZE, maxLength=_SIZE, format={"enum": _FORMATS})
_CHOICE: Final = _field(enum=_CHOICES, enumNames={"type": "array", "items": _TEXT})
_TITLED_CHOICE: Final = _field(oneOf=_TITLED)
_MANY: Final = _field(
    ("items",), items=_object(("type", "enum"), type={"const": "string"}, enum=_CHOICES), minItems=_SIZE, maxItems=_SIZE
)
_TITLED_MANY: Final = _field(("items",), items=_object(("anyOf",), anyOf=_TITLED), minItems=_SIZE, maxItems=_SIZE)
_FIELDS: Final = {
    "number": _field(minimum=_NUMBER, maximum=_NUMBER),
    "integer": _field(minimum=_NUMBER, maximum=_NUMBER),
    "boolean": _field(),
}

_ANSWER: Final = Schema(
    {
        "type": "object",
        "properties": {
            "action": {"enum": ["accept", "decline", "cancel"]},
            "content": {
                "type": ["object", "null"],
                "additionalProperties": {"type": ["string", "number", "boolean", "array"], "items": _TEXT},
            },
        },
        "required": ["action"],
    }
)


def check_form_schema(schema: Mapping[str, Any]) -> Violation | None:
    """The first thing for which a schema is no form that MCP's clients can show; None if it is one."""
    found = _FORM.violation(schema)
    if found is not None:
        return found
    for name in schema.get("required", ()):
        if name not in schema["properties"]:
            return Violation(pointer="/required", message=f"{name} is not one of the properties")
    for name, field in schema["properties"].items():
        found = _check_field(field)
        if found is not None:
            return Violation(pointer=pointer(("properties", name)) + found.pointer, message=found.message)
    try:
        Schema(schema)
    except SchemaError as error:
        return Violation(pointer="", message=str(error))
    return None


def _check_field(field: Mapping[str, Any]) -> Violation | None:
    found = _kind_of(field).violation(field)
    if found is not None:
        return found
    if "enumNames" in field and len(field["enumNames"]) != len(field.get("enum", ())):
        return Violation(pointer="/enumNames", message="there must be one name for each value of enum")
    for least, most in (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems")):
        if least in field and most in field and field[least] > field[most]:
            return Violation(pointer=f"/{least}", message=f"{least} is more than {most}")
    try:
        own = Schema(field)
    except SchemaError as error:
        return Violation(pointer="", message=str(error))
    if "default" in field:
        broken = own.violation(field["default"])
        return None if broken is None else Violation(pointer="/default" + broken.pointer, message=broken.message)
    return None


def _kind_of(field: Mapping[str, Any]) -> Schema:
    """What MCP lets a field of that kind have."""
    if field["type"] == "string":
        return _TITLED_CHOICE if "oneOf" in field else _CHOICE if "enum" in field else _PLAIN_TEXT
    if field["type"] == "array":
        items = field.get("items")
        return _TITLED_MANY if isinstance(items, Mapping) and "anyOf" in items else _MANY
    return _FIELDS[field["type"]]


def action_of(response: str) -> Action | None:
    """What an answer does, by its JSON text (an `ElicitResult`); None where it is none."""
    try:
        answer = jsontext.parse(response)
    except jsontext.JsonTextError:
        return None
    action: Action | None = answer.get("action") if _ANSWER.violation(answer) is None else None
    return action


def violation_of_answer(schema_text: str, response: str) -> str | None:
    """The first way in which an answer breaks its question, as a JSON pointer into the answer and a message.

    `schema_text` is the form and `response` the answer (an `ElicitResult`), both as JSON text. Only an answer that
    accepts has content to be looked at; one without any counts as an empty form.

    >>> form = '{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}'
    >>> violation_of_answer(form, '{"action":"accept","content":{"sure":"yes"}}')
    '/content/sure: "yes" is not of type "boolean"'
    >>> violation_of_answer(form, '{"action":"decline"}') is None
    True
    """
    try:
        answer = _read(response)
    except jsontext.JsonTextError as error:
        return f"the answer is not a JSON object: {error}"
    found = _ANSWER.violation(answer)
    if found is not None:
        return str(found)
    if answer["action"] != "accept":
        return None
    try:
        found = Schema(jsontext.parse(schema_text)).violation(answer.get("content") or {})
    except (jsontext.JsonTextError, SchemaError, TypeError, ValueError) as error:
        return f"the question's own form cannot be read: {error}"
    return None if found is None else str(Violation(pointer="/content" + found.pointer, message=found.message))


def _read(response: str) -> Any:
    """An answer that each reader reads alike.

    Raises:
        JsonTextError: it is no object, has a member twice, or holds what is no text.
    """
    jsontext.members(response)  # an object, no member twice
    answer = jsontext.parse(response)
    try:
        json.dumps(answer, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise jsontext.JsonTextError("it holds half of a surrogate pair, which is not text") from error
    except RecursionError as error:
        raise jsontext.JsonTextError("nested too deeply") from error
    return answer
