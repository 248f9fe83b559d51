"""A call's arguments from the command line, and what a pod is given of them (docs/tools.md, "Arguments"). Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mcptasks.forms.checks import violation


class InputError(ValueError):
    """The command line, or a file it names, is not what it should be."""


def arguments_from(assignments: Iterable[str], *, document: str | None, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments: `name=text`, or `name:=json`, on top of a JSON document.

    A text becomes what the schema says of that property, where it says number, integer or boolean.

    Raises:
        InputError: it is not what it should be, or not what the schema says.
    """
    found = {} if document is None else _object(document)
    for assignment in assignments:
        name, value = _read(assignment, schema)
        found[name] = value
    broken = violation(schema, found)
    if broken is not None:
        raise InputError(f"invalid arguments: {broken}")
    return found


def argument_variables(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """`ARG_<NAME>` for each property of the schema, and for each argument where there is no schema.

    >>> argument_variables({"properties": {"dry-run": {"default": False}}}, {"n": 1})
    {'ARG_DRY_RUN': 'false', 'ARG_N': '1'}
    """
    properties = schema.get("properties", {})
    values = {name: arguments.get(name, field.get("default")) for name, field in properties.items()} | dict(arguments)
    secret = {name for name, field in properties.items() if field.get("writeOnly") is True}
    return {
        f"ARG_{re.sub('[^A-Za-z0-9_]', '_', name).upper()}": _variable(value)
        for name, value in values.items()
        if name not in secret
    }


def schemas_from(document: Any) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """Input and output schema, of a McpTool, or of an input schema alone.

    Raises:
        InputError: it is neither.
    """
    if not isinstance(document, Mapping):
        raise InputError("the schema is no object")
    if document.get("kind") != "McpTool":
        return document, None
    spec = document.get("spec")
    if not isinstance(spec, Mapping):
        raise InputError("the McpTool has no spec")
    return spec.get("inputSchema", {"type": "object"}), spec.get("outputSchema")


def _read(assignment: str, schema: Mapping[str, Any]) -> tuple[str, Any]:
    name, equals, text = assignment.partition("=")
    if not equals or not name.removesuffix(":"):
        raise InputError(f"{assignment!r} is neither name=text nor name:=json")
    if name.endswith(":"):
        return name.removesuffix(":"), _json(text, what=assignment)
    kind = schema.get("properties", {}).get(name, {}).get("type", "string")
    return name, _json(text, what=assignment) if kind in ("number", "integer", "boolean") else text


def _json(text: str, *, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"{what}: {text!r} is no JSON") from error


def _object(document: str) -> dict[str, Any]:
    found = _json(document, what="the arguments")
    if not isinstance(found, dict):
        raise InputError("the arguments are no JSON object")
    return found


def _variable(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
