"""Following a task to its end, for one who may lose patience: time limits, Ctrl-C, and a planned cancel."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from mcptasks.answering import Answering, wait_and_answer
from mcptasks.errors import InternalServerError, NotFinishedError, UnreachableError
from mcptasks.handle import TaskHandle
from mcptasks.models import Task

from .exits import Exit
from .interrupts import Interrupts
from .outcomes import exit_of
from .status import Reporter

SECOND_PRESS_SECONDS: Final = 2.0
"""How long after the first Ctrl-C a second one still cancels."""

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long to follow a task."""

    timeout_seconds: float | None = None
    """Then the task is left alone."""
    cancel_after_seconds: float | None = None
    """Then it is cancelled."""
    second_press_seconds: float = SECOND_PRESS_SECONDS


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it."""

    exit: Exit
    task: Task | None = None
    """The task as it was last seen; None where it was let go of."""


async def follow(
    handle: TaskHandle, *, answering: Answering, reporter: Reporter, interrupts: Interrupts, limits: Limits
) -> Outcome:
    """Follow a task to its end or a question that nobody here answers, or until the user or a limit says otherwise."""
    waiting = asyncio.create_task(
        wait_and_answer(
            handle,
            answering,
            timeout_seconds=limits.timeout_seconds,
            on_update=reporter.task,
            on_retry=reporter.retry,
        )
    )
    try:
        if not await _over(waiting, interrupts.next(), after=limits.cancel_after_seconds):
            if not interrupts.taken:
                reporter.note(f"Cancelling {handle.id} after {limits.cancel_after_seconds:g} s.")
                await handle.cancel()
                await _over(waiting, interrupts.next())
            if interrupts.taken and not await _let_go(handle, waiting, reporter, interrupts, limits):
                return Outcome(exit=Exit.INTERRUPTED)
        return await _ended(handle, waiting, reporter)
    finally:
        await _given_up(waiting)


async def or_interrupt(work: Coroutine[Any, Any, Value], interrupts: Interrupts) -> Value | None:
    """What the work gives, or None if Ctrl-C came first: then it is given up."""
    working = asyncio.create_task(work)
    try:
        return await working if await _over(working, interrupts.next()) else None
    finally:
        await _given_up(working)


async def _let_go(
    handle: TaskHandle, waiting: asyncio.Task[Task], reporter: Reporter, interrupts: Interrupts, limits: Limits
) -> bool:
    """After the first Ctrl-C: leave the task alone, unless there is a second one. Whether it is over."""
    reporter.note(f"Let go of {handle.id}, which goes on (mcptasks wait {handle.id}). Ctrl-C again cancels it.")
    presses = interrupts.taken
    if await _over(waiting, interrupts.next(), after=limits.second_press_seconds) or interrupts.taken == presses:
        return waiting.done()
    reporter.note(f"Cancelling {handle.id}. Ctrl-C again does not wait for its end.")
    await handle.cancel()
    return await _over(waiting, interrupts.next())


async def _ended(handle: TaskHandle, waiting: asyncio.Task[Task], reporter: Reporter) -> Outcome:
    try:
        task = await waiting
    except NotFinishedError:
        reporter.note(f"{handle.id} is not over yet and goes on (mcptasks wait {handle.id}).")
        return Outcome(exit=Exit.NOT_FINISHED)
    except (UnreachableError, InternalServerError):
        reporter.note(f"{handle.id} is not known to be over (mcptasks wait {handle.id}).")
        raise
    return Outcome(exit=exit_of(task), task=task)


async def _over(work: asyncio.Task[Any], other: Coroutine[Any, Any, None], *, after: float | None = None) -> bool:
    """Whether the work is done, once it is, or the other thing is, or so many seconds have passed."""
    rival = asyncio.create_task(other)
    try:
        await asyncio.wait({work, rival}, timeout=after, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _given_up(rival)
    return work.done()


async def _given_up(work: asyncio.Task[Any]) -> None:
    """Stop the work, if it is not done; what came of it does not matter."""
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
