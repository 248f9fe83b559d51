"""A result's structured content, held against the tool's output schema. Pure.

Only of results that go into a Secret: of all others the operator says it, by the schema that the task was called with.
Here the tool is as it is now, so what is said names the schema that it was said by.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcptasks_crds import schemas
from mcptasks_crds.limits import VIOLATION_STORED_BYTES, clip

from .bodies import ResultBody

_NO_STRUCTURE: Final = "it has no structuredContent"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What is known of a result's structure."""

    digest: str | None = None
    """Of the schema; None where there is none."""
    violation: str | None = None
    """How the structure breaks it."""


def judged(body: ResultBody, schema: Mapping[str, Any] | None) -> Judged:
    """Hold a result against the output schema of its tool, where that has one. An error needs no structure."""
    if schema is None or body.is_error:
        return Judged()
    if body.structured is None:
        return Judged(digest=schemas.digest(schema), violation=_NO_STRUCTURE)
    try:
        violation = schemas.Schema(schema).violation(body.structured)
    except schemas.SchemaError:
        return Judged()  # the operator finds no tool ready whose schema is none
    words = None if violation is None else clip(str(violation), VIOLATION_STORED_BYTES)
    return Judged(digest=schemas.digest(schema), violation=words)
