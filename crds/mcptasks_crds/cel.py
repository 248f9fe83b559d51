"""Pieces of CEL, the language of a CRD's rules, that more than one rule needs.

A rule compares `self`, what is to be written, with `oldSelf`, what is there. It runs only where both exist, so that
whoever guards a field must also guard each optional parent against being dropped as a whole (`kept`). An absent field
must not be read (`no such key` refuses every later write of the object), so every piece here asks `has` first.

What a rule costs is how often it reads a field of `self` or `oldSelf`: for each such read the API server makes a table
of all fields that the object has (20 KB of it for a task's status). So a rule stands at the field that it is about
wherever that suffices, and asks first what most often is answer enough.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

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


def kept(field: str, *, is_rare: bool = False) -> str:
    """The field, once there, stays there. `is_rare`: in most objects it is not there, else it mostly is."""
    asked = [f"has(self.{field})", f"!has(oldSelf.{field})"]
    return " || ".join(reversed(asked) if is_rare else asked)


def same(field: str) -> str:
    """The field is as it was, be it absent."""
    return f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"


NEVER_TAKEN_BACK: Final = "!oldSelf || self"
"""At a flag: once true, it stays true. It must have a default: so it is always there."""
CONSTANT: Final = "self == oldSelf"
"""At a field: its value does not change. That it stays there, or away, is for its parent to say (`kept`)."""
GROWS: Final = "self == oldSelf || self >= oldSelf"
"""At a number or moment: it never gets smaller."""
APPEND_ONLY: Final = "self == oldSelf || oldSelf.all(key, key in self && self[key] == oldSelf[key])"
"""At a map: it only gets new keys; the first value of a key stays. Most writes do not touch it: that is asked first."""
UNCHANGED: Final = "oldSelf.hasValue() && oldSelf.value() == self"
"""At a field: it is as it was; for rules that also run on creation."""


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


def is_phase(phase: str) -> str:
    """The object's phase is that one; one read, where `has` and a comparison would be two."""
    return f"self.?phase.orValue('') == '{phase}'"


def fits(text: str, max_stored: int) -> str:
    """The text takes at most so many bytes as stored. Most texts are far from it and are not looked at closely."""
    return f"{text}.size() * {WORST_STORED_BYTES_PER_CHARACTER} <= {max_stored} || {stored_bytes(text)} <= {max_stored}"
