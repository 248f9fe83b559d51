"""Which arguments of a tool are secrets (`writeOnly`), and how they are checked without being told to anybody. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .pointers import resolve
from .schemas import Schema

_NO_SCHEMAS: Final = frozenset({"default", "const", "enum", "examples", "$defs", "definitions"})
"""A schema's members that hold values, or schemas that count only where something refers to them."""
_BY_NAME: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""A schema's members that hold schemas under names which are no words of JSON Schema."""
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def secret_properties(input_schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The properties whose values are secrets: those that the schema marks as `writeOnly`, or any part of them."""
    properties = input_schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(each for each, schema in properties.items() if holds_secret(schema, input_schema))


def holds_secret(schema: object, root: Mapping[str, Any]) -> bool:
    """Whether a part of an input schema (`root`) marks anything as `writeOnly`, references inside `root` followed.

    What a reference by an anchor or an `$id` leads to is not looked for: it may be anything in `root`.
    """
    waiting, followed = [schema], set[str]()  # no recursion: schemas refer to themselves
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(each)
        if not isinstance(each, Mapping):
            continue
        if each.get("writeOnly") is True:
            return True
        for reference in (each.get(word) for word in _REFERENCES):
            if not isinstance(reference, str) or reference in followed:
                continue
            followed.add(reference)
            if not _is_pointer(reference) or _has_ids(root):
                return _says_write_only(root)
            waiting.append(resolve(reference, root))
        waiting.extend(_parts(each))
    return False


def argument_schema(input_schema: Mapping[str, Any]) -> Schema:
    """A tool's input schema, compiled: what it says of wrong arguments quotes no secret.

    Raises:
        SchemaError: it is not valid.
    """
    return Schema(input_schema, secrets=secret_properties(input_schema))


def _parts(schema: Mapping[str, Any]) -> Iterator[object]:
    """The schemas that stand in a schema, and count wherever it does."""
    for word, part in schema.items():
        if word in _BY_NAME and isinstance(part, Mapping):
            yield from part.values()
        elif word not in _NO_SCHEMAS:
            yield part


def _is_pointer(reference: str) -> bool:
    return reference == "#" or reference.startswith("#/")


def _has_ids(root: Mapping[str, Any]) -> bool:
    """Whether a part of a schema is a document of its own, in which pointers lead elsewhere."""
    return any("$id" in each or "id" in each for each in _mappings(list(root.values())))


def _says_write_only(root: Mapping[str, Any]) -> bool:
    return any(each.get("writeOnly") is True for each in _mappings(root))


def _mappings(document: object) -> Iterator[Mapping[str, Any]]:
    """Every object in a document, itself included."""
    waiting = [document]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
