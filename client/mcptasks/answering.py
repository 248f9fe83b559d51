"""Calls and tasks whose questions are answered as they come: by whoever is asked one question at a time.

>>> async def yes(question: Question, refusal: str | None) -> Answer | None:
...     return {"action": "accept", "content": {"sure": True}} if question.key == "confirm" else None
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from .client import TasksClient
from .errors import InternalServerError, InvalidAnswerError, NotFinishedError, RequestError, UnreachableError
from .forms import Answer
from .handle import OnRetry, OnUpdate, TaskHandle
from .models import InputRequired, InputRequiredTask, Task, ToolResult
from .polling import poll_interval
from .questions import Question, questions_of
from .transport import OnProgress
from .wire import INVALID_PARAMS, Arguments

Answerer = Callable[[Question, str | None], Awaitable[Answer | None]]
"""Answers a question; None where it cannot. Beside the question: why the server has refused its last answer to it.

It is cancelled where the question is not open any more."""


@dataclass(frozen=True, kw_only=True)
class Answering:
    """Who answers, and what is done with a question that nobody here answers."""

    answerer: Answerer
    leaves: bool = False
    """Whether such a question is left to others, and the task waited for; else the wait ends with it."""
    on_dropped: Callable[[Question], None] = lambda _: None
    """Is told of each question that was answered by others, or withdrawn, while it was being answered here."""
    on_answered: Callable[[Question, Answer], None] = lambda _, __: None
    """Is told of each answer that the server has taken."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = field(default=time.monotonic)


async def call_and_answer(
    client: TasksClient,
    name: str,
    arguments: Arguments,
    answering: Answering,
    *,
    on_progress: OnProgress | None = None,
) -> ToolResult | TaskHandle | InputRequired:
    """Call a tool, and repeat the call with the answers to what the server asks first.

    Returns:
        As `TasksClient.call_tool`; the questions where not all of them could be answered. Nothing is started then.
    """
    answer = await client.call_tool(name, arguments, on_progress=on_progress)
    while isinstance(answer, InputRequired):
        asked, refusal = answer, None
        while True:
            given = await _answers_to(asked, answering, refusal)
            if given is None:
                if refusal is not None:
                    raise refusal
                return asked
            try:
                answer = await client.call_tool(name, arguments, on_progress=on_progress, retry=(asked, given))
                break
            except RequestError as error:
                if error.code != INVALID_PARAMS or not given:
                    raise
                refusal = error
    return answer


async def wait_and_answer(
    handle: TaskHandle,
    answering: Answering,
    *,
    timeout_seconds: float | None = None,
    on_update: OnUpdate | None = None,
    on_retry: OnRetry | None = None,
) -> Task:
    """Follow a task until it is over, and answer what it asks meanwhile.

    Returns:
        The task once it is over, or with a question that nobody here can answer.

    Raises:
        NotFinishedError: the time is over; the task goes on.
        InvalidAnswerError: the server refuses an answer, and there is no better one.
    """
    deadline = None if timeout_seconds is None else answering.clock() + timeout_seconds
    while True:
        left = None if deadline is None else max(0.0, deadline - answering.clock())
        task = await handle.wait(timeout_seconds=left, on_update=on_update, on_retry=on_retry)
        if not isinstance(task, InputRequiredTask):
            return task
        if not await _Round(handle=handle, task=task, answering=answering, deadline=deadline).answers_any():
            return task


async def _answers_to(
    asked: InputRequired, answering: Answering, refusal: RequestError | None
) -> dict[str, Answer] | None:
    """An answer to each of the questions; None if one of them has none."""
    questions = questions_of(asked)
    given: dict[str, Answer] = {}
    for key in asked.input_requests:
        answer = await answering.answerer(questions[key], _words(refusal)) if key in questions else None
        if answer is None:
            return None
        given[key] = answer
    return given


def _words(refusal: RequestError | None) -> str | None:
    return None if refusal is None else str(refusal)


async def answer_question(
    handle: TaskHandle, task: InputRequiredTask, question: Question, answering: Answering
) -> bool:
    """Have one question of a task answered; whether it is answered, or not open any more.

    Raises:
        InvalidAnswerError: the server refuses the answer, and there is no better one.
    """
    return await _Round(handle=handle, task=task, answering=answering, deadline=None).answers(question)


class ClosedError(Exception):
    """What was being answered is not asked any more."""


async def while_open(
    asking: Awaitable[Answer | None], until_closed: Coroutine[Any, Any, None], *, seconds: float | None = None
) -> Answer | None:
    """The answer that somebody gives, unless the question is closed first.

    Raises:
        ClosedError: it was; asking was cancelled.
        NotFinishedError: so many seconds were not enough.
    """
    answer, closed = asyncio.ensure_future(asking), asyncio.create_task(until_closed)
    try:
        await asyncio.wait({answer, closed}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        if not closed.done():
            raise NotFinishedError("the task is not over yet")
        closed.result()
        raise ClosedError
    finally:
        for each in (answer, closed):
            each.cancel()
        await asyncio.gather(answer, closed, return_exceptions=True)


@dataclass(frozen=True, kw_only=True)
class _Round:
    """A task as it was seen asking, and those who may answer."""

    handle: TaskHandle
    task: InputRequiredTask
    answering: Answering
    deadline: float | None

    async def answers_any(self) -> bool:
        """Answer what can be answered; whether the task is to be looked at again."""
        new = [each for key, each in questions_of(self.task).items() if key not in self.handle.settled]
        answered = [await self.answers(question) for question in new]
        if self.answering.leaves:
            self.handle.leave(*self.task.input_requests)
        return any(answered) or self.answering.leaves

    async def answers(self, question: Question) -> bool:
        """Have a question answered, and its answer taken; or find that it is not open any more. False: no answer."""
        refusal: InvalidAnswerError | None = None
        while True:
            asking = self.answering.answerer(question, _words(refusal))
            left = None if self.deadline is None else max(0.0, self.deadline - self.answering.clock())
            try:
                answer = await while_open(asking, self._until_closed(question), seconds=left)
            except ClosedError:
                self.answering.on_dropped(question)
                return True
            if answer is None:
                if refusal is not None:
                    raise refusal
                return False
            try:
                await self.handle.answer({question.key: answer})
            except InvalidAnswerError as error:
                refusal = error
            else:
                self.answering.on_answered(question, answer)
                return True

    async def _until_closed(self, question: Question) -> None:
        while True:
            await self.answering.sleep(poll_interval(self.task.poll_interval_ms))
            try:
                task = await self.handle.get()
            except (UnreachableError, InternalServerError):
                continue
            if not isinstance(task, InputRequiredTask) or question.key not in task.input_requests:
                return
