"""What a tool asks before there is a task, put to the call's client."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mcptasks_crds.forms import action_of
from mcptasks_crds.questions import TaskQuestion

from .answering import check_answer
from .exchange import Exchange, InputRequired
from .questions import request_of
from .tools import JobTool

ROUNDS_CLAIM: Final = "rounds"
"""In the claims of a call that was answered by questions before there was a task: what its rounds have in common."""
TOOL_CLAIM: Final = "tool"
"""Beside it: the tool that asked, as it was then. To an edited one, an answer says nothing."""


class DeclinedError(Exception):
    """Somebody has said no before there was a task."""

    def __init__(self, key: str) -> None:
        super().__init__(f"Declined: the question `{key}` was not accepted, so nothing was started")


async def ask_first(
    exchange: Exchange,
    questions: Mapping[str, TaskQuestion],
    *,
    tool: JobTool,
    task_id: str,
    seconds: float,
    stopping: asyncio.Event,
) -> dict[str, str]:
    """The accepted answers to questions of a tool, each as JSON text. Those that are missing are the task's to ask for.

    Only answers to what this very tool has asked count: whoever answered before it was edited, or before anything was
    asked, is asked (again), so that nobody approves one thing and gets another.

    Raises:
        InputRequired: they come with the retry.
        InvalidAnswerError: one is not what was asked for.
        DeclinedError: one was declined.
    """
    if not questions:
        return {}
    asking_tool = [tool.uid, tool.generation]
    if exchange.claims.get(TOOL_CLAIM) != asking_tool:
        exchange = replace(exchange, claims={}, responses={}, response_sources={})
    try:
        answers = await exchange.ask_first(
            {key: request_of(question) for key, question in questions.items()},
            task_id=task_id,
            seconds=seconds,
            stopping=stopping,
        )
    except InputRequired as asking:
        # However often the answers are sent, they are the answers of one call, which makes one task.
        claims = {ROUNDS_CLAIM: secrets.token_urlsafe(16), **asking.claims, TOOL_CLAIM: asking_tool}
        raise InputRequired(asking.requests, claims=claims) from None
    for key, text in answers.items():
        check_answer(key, text, requested_schema=questions[key].requested_schema)
        if action_of(text) != "accept":
            raise DeclinedError(key)
    return dict(answers)
