"""How much work a schema can make of one value: in how many ways it wants the same value to be looked at. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .pointers import resolve

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")


def alternatives(schema: Mapping[str, Any]) -> int:
    """The most ways in which any part of a schema looks at one value, references inside the document followed.

    >>> alternatives({"anyOf": [{"type": "string"}, {"anyOf": [{"minimum": 1}, {"maximum": 0}]}]})
    5
    """
    known: dict[int, int] = {}
    return max(_ways(part, schema, known, frozenset()) for part in _parts(schema))


def _ways(part: Mapping[str, Any], root: Mapping[str, Any], known: dict[int, int], above: frozenset[int]) -> int:
    if id(part) in above:
        return 1  # a schema that leads back to itself for the same value is refused elsewhere
    if id(part) not in known:
        inside = above | {id(part)}
        known[id(part)] = 1 + sum(_ways(each, root, known, inside) for each in _applied_in_place(part, root))
    return known[id(part)]


def _applied_in_place(part: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The subschemas that look at the very value that this one looks at."""
    lists = [each for word in _LISTS if isinstance(part.get(word), list) for each in part[word]]
    dependent = part.get("dependentSchemas")
    named = list(dependent.values()) if isinstance(dependent, Mapping) else []
    single = [part.get(word) for word in _SINGLE]
    reference = part.get("$ref")
    target = resolve(reference, root) if isinstance(reference, str) else None
    yield from (each for each in (*lists, *named, *single, target) if isinstance(each, Mapping))


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every object in a schema, itself first: where data looks like a schema, it is counted as one."""
    waiting: list[object] = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
