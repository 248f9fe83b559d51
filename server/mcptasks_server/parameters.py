"""Arguments that a tool wants mirrored into `Mcp-Param-*` headers (`x-mcp-header` in its input schema). Pure.

Source: specification 2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters"; Tools, "x-mcp-header".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .errors import HeaderMismatchError
from .headers import Headers, decoded_value_of

ANNOTATION: Final = "x-mcp-header"
PREFIX: Final = "Mcp-Param-"

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL: Final = re.compile(r"(-?[0-9]{1,400})(?:\.0+)?")
_TYPES: Final = ("string", "integer", "boolean")


@dataclass(frozen=True, kw_only=True)
class MirroredParameter:
    """One argument that must stand in a header too."""

    path: tuple[str, ...]
    """The chain of property names that leads to it."""
    header: str
    type: str
    """`string`, `integer` or `boolean`."""


def mirrored_parameters(schema: Mapping[str, Any]) -> tuple[MirroredParameter, ...]:
    """The parameters that a tool's input schema wants mirrored.

    None where any annotation breaks the specification's rules: clients drop such a tool, so nobody sends its headers.
    """
    found = tuple(_annotated(schema, ()))
    headers = [parameter.header.lower() for parameter in found]
    everywhere = sum(1 for _ in _annotations(schema))
    if everywhere != len(found) or len(set(headers)) != len(headers):
        return ()
    return found


def check_mirrored(
    headers: Headers, *, parameters: tuple[MirroredParameter, ...], arguments: Mapping[str, Any]
) -> None:
    """That each mirrored argument stands in its header with the same value, and none where it has none.

    Raises:
        HeaderMismatchError: one is missing, malformed, different, or there without an argument.
    """
    for parameter in parameters:
        value = _value_at(arguments, parameter.path)
        sent = decoded_value_of(headers, parameter.header)
        if value is None:
            if sent is not None:
                raise HeaderMismatchError(f"Header mismatch: {parameter.header} is sent for an argument that is not")
        elif sent is None:
            raise HeaderMismatchError(f"Header mismatch: the {parameter.header} header is required")
        elif not _is_same(sent, value, parameter.type):
            raise HeaderMismatchError(
                f"Header mismatch: {parameter.header} does not match the argument {'.'.join(parameter.path)}"
            )


def _annotated(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[MirroredParameter]:
    """The valid annotations that `properties` alone lead to."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, sub in properties.items():
        if not isinstance(sub, Mapping):
            continue
        header = sub.get(ANNOTATION)
        if isinstance(header, str) and _TOKEN.fullmatch(header) and sub.get("type") in _TYPES:
            yield MirroredParameter(path=(*path, name), header=PREFIX + header, type=sub["type"])
        yield from _annotated(sub, (*path, name))


_DATA: Final = frozenset({"default", "examples", "const", "enum"})


def _annotations(schema: Any, *, is_name_map: bool = False) -> Iterator[object]:
    """Every annotation at any place of a schema, wherever it stands."""
    if isinstance(schema, Mapping):
        if not is_name_map and ANNOTATION in schema:
            yield schema[ANNOTATION]
        for name, sub in schema.items():
            if is_name_map or name not in _DATA:
                yield from _annotations(sub, is_name_map=not is_name_map and name in _NAME_MAPS)
    elif isinstance(schema, list | tuple):
        for sub in schema:
            yield from _annotations(sub)


_NAME_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords whose members are named by people: a property may be called `x-mcp-header`."""


def _value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _is_same(sent: str, value: object, kind: str) -> bool:
    match value:
        case bool():
            return sent == ("true" if value else "false")
        case str():
            return sent == value
        case int() | float() if kind == "integer":
            # Numerically, as the specification asks: 42 and 42.0 are one value. Exact, without a float between.
            match = _DECIMAL.fullmatch(sent)
            return match is not None and int(match[1]) == value
        case _:  # the argument breaks its schema, which its own check will say
            return True
