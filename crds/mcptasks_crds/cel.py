"""Pieces of CEL, the language of a CRD's rules, that more than one rule needs.

A rule compares `self`, what is to be written, with `oldSelf`, what is there. It runs only where both exist, so that
whoever guards a field must also guard each optional parent against being dropped as a whole (`kept`). An absent field
must not be read (`no such key` refuses every later write of the object), so every piece here asks `has` first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .limits import WORST_STORED_BYTES_PER_CHARACTER

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of a schema."""

    rule: str
    """What must be true."""
    message: str
    """What is wrong where it is not. Never a template: what the message names must not depend on the object."""
    reason: Reason = "FieldValueInvalid"
    """Forbidden and Required do not repeat the refused value, which may be long or private."""
    field_path: str | None = None
    """The field that is meant, as `.name` below where the rule stands."""
    on_creation: bool = False
    """Whether it also runs where there is nothing old: `oldSelf` is an optional value then."""

    def manifest(self) -> dict[str, Any]:
        """The rule as the CRD holds it."""
        optional = {"fieldPath": self.field_path, "optionalOldSelf": self.on_creation or None}
        return {"rule": self.rule, "message": self.message, "reason": self.reason} | {
            name: value for name, value in optional.items() if value is not None
        }


Rules = Mapping[str, tuple[Rule, ...]]
"""Rules by the path of the field where they stand, below the object; "" is the object itself."""


def kept(field: str) -> str:
    """The field, once there, stays there."""
    return f"!has(oldSelf.{field}) || has(self.{field})"


def same(field: str) -> str:
    """The field is as it was, be it absent."""
    return f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"


def write_once(field: str) -> str:
    """The field, once there, is what it was."""
    return f"!has(oldSelf.{field}) || (has(self.{field}) && self.{field} == oldSelf.{field})"


def never_taken_back(flag: str) -> str:
    """The flag, once true, stays true. It must have a default: so it is always there."""
    return f"!oldSelf.{flag} || self.{flag}"


def grows(field: str) -> str:
    """The number or moment, once there, never gets smaller."""
    return f"!has(oldSelf.{field}) || (has(self.{field}) && self.{field} >= oldSelf.{field})"


def append_only(field: str) -> str:
    """The map only gets new keys; the first value of a key stays. Most writes do not touch it, which is asked first."""
    return (
        f"!has(oldSelf.{field}) || (has(self.{field}) && (self.{field} == oldSelf.{field} || "
        f"oldSelf.{field}.all(key, key in self.{field} && self.{field}[key] == oldSelf.{field}[key])))"
    )


def one_of(values: Iterable[str]) -> str:
    """A list of text values, in a stable order."""
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


def stored_bytes(text: str) -> str:
    """How many bytes the text takes as stored: `limits.stored_bytes`, as the API server can compute it."""
    return (
        f"bytes({text}).size()"
        f" + 5 * {text}.findAll(r'[\\x00-\\x07\\x0b\\x0e-\\x1f<>&]').size()"
        f" + 3 * {text}.findAll(r'[\\x{{2028}}\\x{{2029}}]').size()"
        f" + {text}.findAll(r'[\"\\\\\\x08\\t\\n\\f\\r]').size()"
    )


def fits(text: str, max_stored: int) -> str:
    """The text takes at most so many bytes as stored. Most texts are far from it and are not looked at closely."""
    return f"{text}.size() * {WORST_STORED_BYTES_PER_CHARACTER} <= {max_stored} || {stored_bytes(text)} <= {max_stored}"


def unchanged(field: str) -> str:
    """The field is as it was; for rules that also run on creation."""
    return f"oldSelf.hasValue() && has(oldSelf.value().{field}) && oldSelf.value().{field} == self.{field}"
