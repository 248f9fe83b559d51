"""What the commands do, each one a coroutine that gives the exit code."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcptasks.answering import Answering, call_and_answer, wait_and_answer
from mcptasks.client import TasksClient
from mcptasks.errors import NotFinishedError
from mcptasks.handle import TaskHandle
from mcptasks.models import InputRequired, InputRequiredTask, Task, ToolResult
from mcptasks.questions import FORMS

from .answerers import Answerers, Answers
from .exits import Exit
from .follow import Limits, Outcome, follow, or_interrupt
from .interrupts import Interrupts, watch_interrupts
from .outcomes import exit_of
from .output import Printer
from .status import Reporter

UNKNOWN: Final = "whether the tool runs is not known"
NOTHING_STARTED: Final = "nothing was started"


async def _no_answer(*_: object) -> None:
    """Nothing."""


NOBODY: Final = Answering(answerer=_no_answer, leaves=True)
"""Answers nothing, and waits all the same."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """Where a command speaks to: the server and the user."""

    server: str
    printer: Printer
    reporter: Reporter
    token: str | None = None
    """By which the server knows its caller."""
    answers: Answers = field(default_factory=Answers)
    """What there is to answer questions with."""

    def client(self) -> TasksClient:
        """A client of the server. Whatever it is asked is answered, or shown with the command that answers it."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else None
        return TasksClient(self.server, headers=headers, capabilities=FORMS)

    def answerers(self) -> Answerers:
        """Those who answer questions."""
        return Answerers(self.answers, self.reporter, server=self.server)


async def call(session: Session, tool: str, arguments: str, *, wait: bool, limits: Limits) -> Exit:
    """Call a tool and answer what it asks first; follow the task that comes of it, or show its id."""
    answerers = session.answerers()
    with watch_interrupts() as interrupts:
        async with session.client() as client:
            calling = call_and_answer(
                client, tool, arguments, answerers.answering(), on_progress=session.reporter.progress
            )
            try:
                async with asyncio.timeout(limits.timeout_seconds):
                    answer = await or_interrupt(calling, interrupts)
            except TimeoutError:
                session.reporter.note(f"The call was not answered in time; {_known_of(answerers)}.")
                return Exit.NOT_FINISHED
            match answer:
                case None:
                    session.reporter.note(f"The call was not answered yet; {_known_of(answerers)}.")
                    return Exit.INTERRUPTED
                case ToolResult():
                    session.reporter.close()
                    session.printer.result(answer)
                    return Exit.FAILED if answer.is_error else Exit.COMPLETED
                case InputRequired():
                    session.reporter.close()
                    session.printer.asked_first(tool, answer, notes=answerers.unanswered())
                    return Exit.INPUT_REQUIRED
                case TaskHandle() if not wait:
                    session.printer.handle(answer.id)
                    return Exit.COMPLETED
                case TaskHandle():
                    return await _follow(session, answer, answerers, interrupts, limits)


async def wait(session: Session, task_id: str, *, limits: Limits) -> Exit:
    """Follow a task, answer what it asks, and show how it ended."""
    with watch_interrupts() as interrupts:
        async with session.client() as client:
            return await _follow(session, client.task(task_id), session.answerers(), interrupts, limits)


async def get(session: Session, task_id: str) -> Exit:
    """Show a task as it is."""
    async with session.client() as client:
        session.printer.task(await client.get_task(task_id))
    return Exit.COMPLETED


async def result(session: Session, task_id: str) -> Exit:
    """Show how a task ended, without waiting for it."""
    async with session.client() as client:
        task = await client.get_task(task_id)
    if not task.status.is_terminal:
        asks = isinstance(task, InputRequiredTask)
        hint = f"it needs an answer: mcptasks questions {task_id}" if asks else f"mcptasks wait {task_id}"
        session.reporter.note(f"{task_id} is not over yet ({hint}).")
        return Exit.NOT_FINISHED
    return _show_end(session, task)


async def logs(session: Session, task_id: str) -> Exit:
    """Show what a task has printed; what is to be known of it goes to standard error."""
    async with session.client() as client:
        log = await client.read_log(task_id)
    if log.note is not None:
        session.reporter.note(log.note)
    session.printer.log(task_id, log)
    return Exit.COMPLETED


async def cancel(session: Session, task_id: str, *, wait: bool, timeout_seconds: float | None) -> Exit:
    """Cancel a task; with `wait`, see to it that it is over. A task that ended in another way first is no success."""
    async with session.client() as client:
        await client.cancel_task(task_id)
        if not wait:
            return Exit.COMPLETED
        try:
            task = await wait_and_answer(
                client.task(task_id), NOBODY, timeout_seconds=timeout_seconds, on_update=session.reporter.task
            )
        except NotFinishedError:
            session.reporter.note(f"{task_id} is being cancelled, but is not over yet.")
            return Exit.NOT_FINISHED
    return Exit.COMPLETED if exit_of(task) is Exit.CANCELLED else Exit.FAILED


async def tools(session: Session, name: str | None) -> Exit:
    """Show the tools, or one of them."""
    async with session.client() as client:
        found = [tool for tool in await client.list_tools() if name in {None, tool.name}]
    if name is not None and not found:
        session.reporter.note(f"The server offers no tool {name!r}.")
        return Exit.FAILED
    session.printer.tools(found)
    return Exit.COMPLETED


def run(command: Coroutine[Any, Any, Exit], *, reporter: Reporter) -> Exit:
    """Run a command to its end. Ctrl-C, where the command itself does not look after it, gives it up."""
    try:
        return asyncio.run(command)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    finally:
        reporter.close()


async def _follow(
    session: Session, handle: TaskHandle, answerers: Answerers, interrupts: Interrupts, limits: Limits
) -> Exit:
    outcome: Outcome = await follow(
        handle,
        answering=answerers.answering(),
        reporter=session.reporter,
        interrupts=interrupts,
        limits=limits,
    )
    session.reporter.close()
    if outcome.task is None:
        session.printer.handle(handle.id)
        return outcome.exit
    return _show_end(session, outcome.task, notes=answerers.unanswered())


def _show_end(session: Session, task: Task, *, notes: Sequence[str] = ()) -> Exit:
    if isinstance(task, InputRequiredTask):
        session.printer.asked(task, notes=notes)
    else:
        session.printer.outcome(task)
    return exit_of(task)


def _known_of(answerers: Answerers) -> str:
    """What is known of a call that was given up."""
    return NOTHING_STARTED if answerers.is_asking else UNKNOWN
