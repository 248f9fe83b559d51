"""Arguments that a tool wants mirrored into `Mcp-Param-*` headers (`x-mcp-header` in its input schema). Pure.

Source: specification 2026-07-28, Tools, "x-mcp-header".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

ANNOTATION: Final = "x-mcp-header"
PREFIX: Final = "Mcp-Param-"

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
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
    return tuple(_annotated(schema, ())) if annotations_are_valid(schema) else ()


def annotations_are_valid(schema: Mapping[str, Any]) -> bool:
    """Whether all annotations keep the specification's rules: else a client must not use the tool.

    A header's name is a token and used once; it stands at a string, an integer or a boolean that `properties` lead to.
    """
    found = tuple(_annotated(schema, ()))
    headers = {parameter.header.lower() for parameter in found}
    return len(found) == len(headers) == sum(1 for _ in _annotations(schema))


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
