"""A tool's conditions, computed whole from what was found of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from mcptasks_crds import limits
from mcptasks_crds.tool import ENVIRONMENT_COMPLETE, READY, Condition, McpTool, ToolStatus

ACCEPTED: Final = "Accepted"
"""Reason of Ready: the API server accepts the tool's Job."""
UNTRIED: Final = "NotTried"
"""Reason of Ready: nothing is known to be wrong, but a webhook of the cluster keeps Jobs from being tried."""
JOB_REJECTED: Final = "JobRejected"
"""Reason of not being ready: the API server refuses the tool's Job."""
COMPLETE: Final = "Complete"
ONLY_IN_FILE: Final = "OnlyInFile"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a tool is fit to be called, and why."""

    ready: bool
    reason: str
    message: str = ""


def tool_status(tool: McpTool, *, verdict: Verdict, gap: str | None, now: datetime) -> ToolStatus:
    """The tool's status; a condition's time moves only when its answer does."""
    found = (
        _condition(READY, verdict.ready, reason=verdict.reason, message=verdict.message),
        _condition(ENVIRONMENT_COMPLETE, gap is None, reason=ONLY_IN_FILE if gap else COMPLETE, message=gap or ""),
    )
    return ToolStatus(
        observed_generation=tool.metadata.generation,
        conditions=tuple(_timed(condition, tool=tool, now=now) for condition in found),
    )


def condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of a type."""
    return next((each for each in conditions if each.type == type_), None)


@dataclass(frozen=True, kw_only=True)
class _Found:
    type: str
    status: Literal["True", "False"]
    reason: str
    message: str


def _condition(type_: str, holds: bool, *, reason: str, message: str) -> _Found:
    clipped = limits.clip(message, limits.MESSAGE_STORED_BYTES)
    return _Found(type=type_, status="True" if holds else "False", reason=reason, message=clipped)


def _timed(found: _Found, *, tool: McpTool, now: datetime) -> Condition:
    before = condition(tool.status.conditions, found.type)
    since = before.last_transition_time if before is not None and before.status == found.status else now
    return Condition(
        type=found.type,
        status=found.status,
        reason=found.reason,
        message=found.message,
        last_transition_time=since,
        observed_generation=tool.metadata.generation,
    )
