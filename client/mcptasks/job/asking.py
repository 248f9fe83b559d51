"""Asking, over the task endpoint: a question is asked once, and its answer waited for."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from .endpoint import Endpoint, Request
from .errors import OvertakenError, RefusedError, TaskCancelled, UnreachableError
from .questions import Question

POLL_PAUSE_SECONDS: Final = 0.5
"""The least time between two requests for an answer, should they come back at once."""

GoOn = Callable[[], None]
"""Raises where the program should not go on."""


def answer_to(question: Question, endpoint: Endpoint, *, go_on: GoOn) -> Mapping[str, Any]:
    """The answer to a question (MCP's ElicitResult), however long that takes.

    Raises:
        RefusedError: the question is refused.
        TaskCancelled: the task is being stopped.
    """
    try:
        endpoint.request(question.asked(), patience=None, goes_on=go_on)
    except OvertakenError:
        end_if_over(endpoint, go_on=go_on)
        raise
    answer = _awaited(question, endpoint, go_on)
    if answer.get("action") == "cancel":
        end_if_over(endpoint, go_on=go_on)  # the answer of a task that is being stopped is this one too
    return answer


def end_if_over(endpoint: Endpoint, *, go_on: GoOn) -> None:
    """Look at the task; raise `TaskCancelled` where it is over or is being stopped."""
    try:
        endpoint.request(Request(method="GET"), goes_on=go_on)
    except OvertakenError as error:
        raise TaskCancelled(str(error)) from error
    go_on()


def is_being_stopped(endpoint: Endpoint) -> bool:
    """Look whether that is why something was refused."""
    with suppress(RefusedError, UnreachableError):  # it is over, and says no more
        endpoint.request(Request(method="GET"))
    return endpoint.is_stopping


def _awaited(question: Question, endpoint: Endpoint, go_on: GoOn) -> Mapping[str, Any]:
    while True:
        began = time.monotonic()
        found = endpoint.request(question.awaited(), patience=None, goes_on=go_on).body.get("answer")
        if isinstance(found, Mapping):
            return found
        time.sleep(max(0.0, POLL_PAUSE_SECONDS - (time.monotonic() - began)))
