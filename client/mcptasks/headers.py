"""The headers that repeat parts of a request for those who route it: `Mcp-Name` and `Mcp-Param-*`.

Spec: MCP 2026-07-28, basic/transports/streamable-http, "Standard Request Headers", "Custom Headers", "Value Encoding".
Pure functions.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

ANNOTATION: Final = "x-mcp-header"
PARAMETER_PREFIX: Final = "Mcp-Param-"

_ENCODED: Final = re.compile(r"=\?base64\?.*\?=")
_PLAIN: Final = re.compile(r"[\x20-\x7E]*")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PRIMITIVES: Final = frozenset({"string", "integer", "boolean"})
_DATA_KEYWORDS: Final = frozenset({"default", "examples", "const", "enum"})
"""What stands under these is data, not a schema."""


def encode_value(value: str) -> str:
    """The value as it may stand in a header: as it is, or in base64 where HTTP would not carry it unchanged.

    >>> encode_value("run-tests"), encode_value("läuft")
    ('run-tests', '=?base64?bMOkdWZ0?=')
    """
    if _PLAIN.fullmatch(value) and value == value.strip() and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def parameter_headers(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The `Mcp-Param-*` headers of a call, for a schema that is well annotated. Absent and null arguments have none."""
    found: dict[str, str] = {}
    for path, annotated in _annotated_properties(schema):
        value = _at(arguments, path)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, str | int):
            found[f"{PARAMETER_PREFIX}{annotated[ANNOTATION]}"] = encode_value(str(value))
    return found


def is_well_annotated(schema: Mapping[str, Any]) -> bool:
    """Whether the schema's header annotations obey the spec; clients must not offer a tool whose do not."""
    names: list[str] = []
    for _, annotated in _annotated_properties(schema):
        name = annotated[ANNOTATION]
        if not (isinstance(name, str) and _TOKEN.fullmatch(name) and annotated.get("type") in _PRIMITIVES):
            return False
        names.append(name.lower())
    # An annotation that cannot be reached through `properties` alone is one too many.
    return len(set(names)) == len(names) == _annotations(schema)


def _annotated_properties(
    schema: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The annotated schemas that are reached through `properties` alone, with the way to each."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, part in properties.items():
        if isinstance(part, Mapping):
            if ANNOTATION in part:
                yield (*path, name), part
            yield from _annotated_properties(part, (*path, name))


def _annotations(node: Any, *, names_properties: bool = False) -> int:
    """How many annotations stand anywhere in the schema. (A property may itself be named like the annotation.)"""
    if isinstance(node, list):
        return sum(_annotations(part) for part in node)
    if not isinstance(node, Mapping):
        return 0
    here = 0 if names_properties else int(ANNOTATION in node)
    return here + sum(
        _annotations(part, names_properties=not names_properties and keyword in {"properties", "$defs", "definitions"})
        for keyword, part in node.items()
        if names_properties or keyword not in _DATA_KEYWORDS
    )


def _at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value
