"""JSON Schema 2020-12 for arguments and results: compiled once, checked fast, never fetched from anywhere."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import jsonschema_rs

from .alternatives import alternatives
from .pointers import pointer

MOST_ALTERNATIVES: Final = 10_000
"""In how many ways a schema may want one value to be looked at. A few lines can ask for 2^17 of them, each kept."""

_BEYOND: Final = "is a number beyond 1.7e308, which cannot be checked"
_MASK: Final = "the value"
"""What a violation says in place of a value, where there are secrets."""


class SchemaError(ValueError):
    """The schema itself is not valid; the message says where."""


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One way in which a value breaks its schema."""

    pointer: str
    """JSON pointer (RFC 6901) to the value that breaks it, or to where a missing one belongs; empty for the whole."""
    message: str
    """What is wrong with it."""

    def __str__(self) -> str:
        return f"{self.pointer or '(the whole)'}: {self.message}"


def _refuse(uri: str) -> NoReturn:
    # A schema's author must not make us open connections (server-side request forgery).
    raise SchemaError(f"the schema refers to {uri}: references to other documents are not followed")


def _where(error: Exception) -> str:
    where = pointer(error.instance_path) if isinstance(error, jsonschema_rs.ValidationError) else ""
    return f"{where}: " if where else ""


def digest(document: Mapping[str, Any]) -> str:
    """A short hash of a schema, the same for two that say the same: whether one is the other, without keeping both.

    >>> digest({"type": "object", "required": []}) == digest({"required": [], "type": "object"})
    True
    """
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


class Schema:
    """A compiled schema."""

    def __init__(self, document: Mapping[str, Any], *, secrets: Collection[str] = ()) -> None:
        """Compile a schema, as 2020-12 unless it names another dialect.

        `secrets`: properties of an object whose values are secrets. Then no violation shows a value, and of one inside
        of a secret none says where in it.

        Raises:
            SchemaError: it is not valid.
        """
        if not isinstance(document, Mapping):  # of an annotation, which people may write
            raise SchemaError("it is no JSON object")
        self._secrets = frozenset(secrets)
        try:
            self._validator = jsonschema_rs.validator_for(
                dict(document), retriever=_refuse, validate_formats=True, mask=_MASK if secrets else None
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise SchemaError(_where(error) + str(error).splitlines()[0]) from error
        if alternatives(document) > MOST_ALTERNATIVES:
            raise SchemaError(f"it has more than {MOST_ALTERNATIVES:,} alternatives for one value: make anyOf flatter")

    def violation(self, value: object) -> Violation | None:
        """The first way found in which a value breaks the schema; None if it conforms.

        Not all of them: a hundred bytes of a value can break a harmless schema in millions of ways, and whoever lists
        them runs out of memory.
        """
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            is_beyond = _is_beyond_floats(_at(value, error.instance_path))
            return self._said(error, message=_BEYOND if is_beyond else None)
        except UnicodeEncodeError:
            # JSON can escape half of a surrogate pair; the validator's strings cannot hold it.
            return self.violation(_whole_characters(value))
        except ValueError:
            return Violation(pointer="", message="nested too deeply")
        return None

    def _said(self, error: jsonschema_rs.ValidationError, *, message: str | None = None) -> Violation:
        path = error.instance_path
        if path and path[0] in self._secrets:  # its inner names may be secrets too
            return Violation(pointer=pointer(path[:1]), message=f"breaks `{error.kind.name}` of its schema")
        if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
            return Violation(pointer=pointer([*path, error.kind.property]), message="is required")
        return Violation(pointer=pointer(path), message=message or error.message)


def _at(value: object, path: Sequence[str | int]) -> object:
    try:
        for step in path:
            value = value[step]  # type: ignore[index]  # the validator has been there
    except (LookupError, TypeError):
        return None  # the validator leaves steps out whose name is empty
    return value


def _is_beyond_floats(value: object) -> bool:
    """Whether it is a number that is read as an infinity (`1e400`), which the validator takes for null."""
    return isinstance(value, float) and math.isinf(value)


def _whole_characters(value: object) -> object:
    """The value with each lone surrogate replaced by one other character, so that lengths stay."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_whole_characters(name): _whole_characters(each) for name, each in value.items()}
        case list():
            return [_whole_characters(each) for each in value]
        case _:
            return value
