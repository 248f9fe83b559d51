"""Answers that were written down before. Pure.

The file is one JSON object: each answer by its question's key, or by its words. An answer is MCP's (`{"action":
"accept", "content": {...}}`), or its content alone, or, where the form has one field, that field's value.
"""

from collections.abc import Mapping
from typing import Any

from mcptasks.forms.checks import violation

from .desk import Question

_ACTIONS = ("accept", "decline", "cancel")


class WrongAnswerError(ValueError):
    """An answer does not fit its question."""


def find_answer(book: Mapping[str, Any], question: Question) -> dict[str, Any] | None:
    """The answer to a question; None if there is none.

    Raises:
        WrongAnswerError: it breaks the question's form.

    >>> form = {"properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
    >>> find_answer({"How many?": 3}, Question(key="k", message="How many?", form=form))
    {'action': 'accept', 'content': {'answer': 3}}
    """
    for name in (question.key, question.message):
        if name in book:
            return _as_answer(book[name], question, name=name)
    return None


def _as_answer(found: Any, question: Question, *, name: str) -> dict[str, Any]:
    if isinstance(found, Mapping) and found.get("action") in _ACTIONS:
        if found["action"] != "accept":
            return dict(found)
        content = found.get("content") or {}
    else:
        content = found
    if not isinstance(content, Mapping):
        fields = list(question.form["properties"])
        if len(fields) != 1:
            raise WrongAnswerError(f"{name}: the form has the fields {', '.join(fields)}, so its answer is an object")
        content = {fields[0]: content}
    broken = violation(question.form, content)
    if broken is not None:
        raise WrongAnswerError(f"{name}: {broken}")
    return {"action": "accept", "content": dict(content)}
