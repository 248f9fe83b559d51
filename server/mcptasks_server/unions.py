"""Two JSON Schemas as one: what conforms to either of them conforms to the union. Pure.

A schema that is moved into another one takes its references with it: those into itself (`#/...`) are written anew, for
they begin at the root. A schema with an `$id` is a root of its own wherever it stands, so it is left as it is.
"""

from collections.abc import Mapping
from typing import Any, Final

_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords whose value holds schemas under names that are no keywords."""
_VALUES: Final = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose value is no schema, whatever it looks like."""
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef"})
_OWN_ROOT: Final = "urn:mcptasks:output"
"""The `$id` of a schema that must be a root of its own, for it refers to "the root" in a way that cannot be moved."""


def either(schema: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of objects that conform to the one or to the other. `other` has no references.

    The dialect is that of the first one, for a schema has one dialect throughout.

    >>> either({"type": "object", "$defs": {"n": {}}, "properties": {"n": {"$ref": "#/$defs/n"}}}, {"required": ["t"]})
    {'type': 'object', 'anyOf': [{'type': 'object', '$defs': {'n': {}}, 'properties': {'n': {'$ref': \
'#/anyOf/0/$defs/n'}}}, {'required': ['t']}]}
    """
    dialect = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    if not _is_root(schema) and _refers_to_the_root(schema):
        schema = {"$id": _OWN_ROOT, **schema}
    moved = schema if _is_root(schema) else {name: value for name, value in schema.items() if name != "$schema"}
    return {**dialect, "type": "object", "anyOf": [_moved(moved, "#/anyOf/0"), other]}


def _moved(schema: Any, to: str) -> Any:
    if isinstance(schema, list | tuple):
        return [_moved(each, to) for each in schema]
    if not isinstance(schema, Mapping) or _is_root(schema):
        return schema
    return {name: _moved_keyword(name, value, to) for name, value in schema.items()}


def _moved_keyword(name: str, value: Any, to: str) -> Any:
    if name in _VALUES:
        return value
    if name in _BY_NAME and isinstance(value, Mapping):
        return {each: _moved(schema, to) for each, schema in value.items()}
    if name in _REFERENCES and isinstance(value, str) and (value == "#" or value.startswith("#/")):
        return to + value[1:]
    return _moved(value, to)


def _is_root(schema: Mapping[str, Any]) -> bool:
    """Whether references inside begin here. (`#name` was an anchor before there was `$anchor`.)"""
    identifier = schema.get("$id", schema.get("id"))
    return isinstance(identifier, str) and not identifier.startswith("#")


def _refers_to_the_root(schema: Any) -> bool:
    """Whether `$recursiveRef` (2019-09) occurs: it has no form that names another place than the root."""
    if isinstance(schema, list | tuple):
        return any(map(_refers_to_the_root, schema))
    if not isinstance(schema, Mapping):
        return False
    return "$recursiveRef" in schema or any(map(_refers_to_the_root, schema.values()))
