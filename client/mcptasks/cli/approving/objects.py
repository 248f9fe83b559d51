"""What a McpTask asks of its approvers, by the object alone, and the patch that answers. Pure.

The names are those of the CRD, which docs/approvals.md explains; a test holds them against the CRD's own models.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mcptasks.cli.asked import ANSWERED_BY, EXPIRES_AT
from mcptasks.cli.moments import shown
from mcptasks.forms.answers import Answer
from mcptasks.questions import Question

from .kubectl import User

DEFAULT_EXPIRY_SECONDS: Final = 604_800
_OVER: Final = frozenset({"Completed", "Failed", "Cancelled"})


@dataclass(frozen=True, kw_only=True)
class Approval:
    """An answer that a task waits for."""

    task: str
    namespace: str
    tool: str
    caller: str
    key: str
    """By which it is answered now: another one than the question's own where an answer did not count."""
    message: str
    form: Mapping[str, Any]
    users: tuple[str, ...]
    groups: tuple[str, ...]
    expires_at: datetime | None

    @property
    def approvers(self) -> str:
        """Who may answer, as the server names them."""
        return ", ".join((*self.groups, *self.users))

    def may_be_given_by(self, user: User) -> bool:
        """Whether somebody is among those who may answer."""
        return user.name in self.users or not user.groups.isdisjoint(self.groups)

    def question(self) -> Question:
        """The question, as a client would be asked it."""
        meta = {ANSWERED_BY: self.approvers}
        if self.expires_at is not None:
            meta[EXPIRES_AT] = shown(self.expires_at)
        return Question(key=self.key, message=self.message, form=self.form, meta=meta)


def approvals_of(task: Mapping[str, Any]) -> list[Approval]:
    """What a task waits for its approvers to answer."""
    metadata, spec, status = task["metadata"], task["spec"], task.get("status", {})
    if status.get("phase") in _OVER or "stopping" in status or spec.get("cancelRequested", False):
        return []
    seen, given = status.get("answers", {}), spec.get("answers", {})
    asked = {
        _current_key(name, seen): question
        for name, question in spec.get("questions", {}).items()
        if question["when"] == "beforeStart"
    }
    found = []
    for key, question in asked.items():
        if key in seen or key in given or question.get("answeredBy", "caller") == "caller":
            continue
        approvers = question.get("approvers", {})
        found.append(
            Approval(
                task=metadata["name"],
                namespace=metadata.get("namespace", ""),
                tool=spec["tool"]["name"],
                caller=spec.get("caller", ""),
                key=key,
                message=question["message"],
                form=_form(question["requestedSchema"]),
                users=tuple(approvers.get("users", ())),
                groups=tuple(approvers.get("groups", ())),
                expires_at=_expiry(metadata, question),
            )
        )
    return found


def patch_of(key: str, answer: Answer, *, by: str, reason: str | None) -> dict[str, Any]:
    """The merge patch that gives an answer.

    >>> patch_of("approve", {"action": "decline"}, by="anna", reason="not on a Friday")
    {'spec': {'answers': {'approve': {'by': 'anna', 'response': '{"action": "decline"}', 'reason': 'not on a Friday'}}}}
    """
    why = {} if reason is None else {"reason": reason}
    return {"spec": {"answers": {key: {"by": by, "response": json.dumps(answer, ensure_ascii=False), **why}}}}


def _current_key(key: str, seen: Mapping[str, Any]) -> str:
    passed = {key}
    while (again := seen.get(key, {}).get("askedAgainAs")) is not None and again not in passed:
        key = again
        passed.add(key)
    return key


def _form(text: str) -> Mapping[str, Any]:
    try:
        form = json.loads(text)
    except (ValueError, RecursionError):  # somebody wrote the task by hand
        return {}
    return form if isinstance(form, Mapping) else {}


def _expiry(metadata: Mapping[str, Any], question: Mapping[str, Any]) -> datetime | None:
    created = metadata.get("creationTimestamp")
    if created is None:
        return None
    seconds = timedelta(seconds=question.get("expirySeconds", DEFAULT_EXPIRY_SECONDS))
    return datetime.fromisoformat(created).astimezone(UTC) + seconds
