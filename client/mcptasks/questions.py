"""What a server asks of its client's user: the questions in `inputRequests`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from .errors import ProtocolError
from .forms.shapes import fault
from .models import InputRequired, InputRequiredTask

FORMS: Final[Mapping[str, Any]] = MappingProxyType({"elicitation": {"form": {}}})
"""The capabilities of a client that can put forms before a person. A server asks only those that declare it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A form to be filled in."""

    key: str
    """By which it is answered."""
    message: str
    """What is asked, for people."""
    form: Mapping[str, Any]
    """MCP's elicitation schema."""
    meta: Mapping[str, Any]
    """What the server says about the question beside it (`_meta`)."""


def questions_of(asking: InputRequired | InputRequiredTask) -> dict[str, Question]:
    """The forms among a server's requests, by key. What else it may request takes capabilities that nobody declares.

    Raises:
        ProtocolError: one is no form.
    """
    found = {key: _question(key, request) for key, request in asking.input_requests.items()}
    return {key: question for key, question in found.items() if question is not None}


def _question(key: str, request: Any) -> Question | None:
    match request:
        case {"method": "elicitation/create", "params": {"mode": str(mode)}} if mode != "form":
            return None
        case {"method": "elicitation/create", "params": {**params}}:
            form: Any = params.get("requestedSchema", {})
            meta = params.get("_meta")
            wrong = fault(form)
            if wrong is not None:
                raise ProtocolError(f"the server's question {key!r} has no form that can be shown: {wrong}")
            return Question(
                key=key,
                message=str(params.get("message", "")),
                form=form,
                meta=meta if isinstance(meta, Mapping) else {},
            )
        case _:
            return None
