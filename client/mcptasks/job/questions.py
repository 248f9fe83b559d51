"""A question, from a tool's words to its request, and from its answer to the tool. Pure."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from .endpoint import Request, json_body
from .errors import DeclinedError

POLL_SECONDS: Final = 25.0
"""How long one request waits for an answer: below the idle limits of what may stand between."""
_NOT_A_WORD: Final = re.compile(r"[^a-z0-9]+")
_MOST_WORDS: Final = 40


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a tool asks."""

    key: str
    message: str
    form: Mapping[str, Any]
    model_may_answer: bool = False
    expiry_seconds: int | None = None

    def asked(self) -> Request:
        """The request that asks it; it may be repeated."""
        members = {
            "message": self.message,
            "requestedSchema": self.form,
            "modelMayAnswer": self.model_may_answer or None,
            "expirySeconds": self.expiry_seconds,
        }
        body = json_body({name: value for name, value in members.items() if value is not None})
        return Request(method="PUT", path=self._path, body=body)

    def awaited(self) -> Request:
        """The request that waits for its answer."""
        return Request(method="GET", path=f"{self._path}?wait={POLL_SECONDS:g}", wait_seconds=POLL_SECONDS)

    @property
    def _path(self) -> str:
        return f"/questions/{quote(self.key, safe='')}"


def derived_key(message: str, form: Mapping[str, Any], *, times: int) -> str:
    """A key for a question without one: readable, and the same whenever a program asks the same for the same time.

    So a program that is run once more finds the answers that it got before. `times` is how often it has asked just
    this.

    >>> derived_key("Deploy to production?", {}, times=0)
    'deploy-to-production-e5638391'
    """
    words = _NOT_A_WORD.sub("-", message.lower())[:_MOST_WORDS].strip("-")
    told = json.dumps([message, form, times], sort_keys=True)
    mark = hashlib.sha256(told.encode()).hexdigest()[:8]
    return f"{words}-{mark}".lstrip("-")


def accepted(question: Question, answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of an answer (MCP's ElicitResult).

    Raises:
        DeclinedError: it does not accept.
    """
    action = answer.get("action")
    if action == "accept":
        content = answer.get("content")
        return content if isinstance(content, Mapping) else {}
    how = "declined" if action == "decline" else "not answered"
    raise DeclinedError(f"{how}: {question.message}", action="decline" if action == "decline" else "cancel")
