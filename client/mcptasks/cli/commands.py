"""What the commands do, each one a coroutine that gives the exit code."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final

from mcptasks.client import TaskHandle, TasksClient
from mcptasks.errors import NotFinishedError
from mcptasks.models import InputRequired, InputRequiredTask, Task, ToolResult

from .exits import Exit
from .follow import Limits, Outcome, follow, or_interrupt
from .interrupts import Interrupts, watch_interrupts
from .outcomes import exit_of
from .output import Printer
from .status import Reporter

UNKNOWN: Final = "whether the tool runs is not known."


@dataclass(frozen=True, kw_only=True)
class Session:
    """Where a command speaks to: the server and the user."""

    server: str
    printer: Printer
    reporter: Reporter
    token: str | None = None
    """By which the server knows its caller."""

    def client(self) -> TasksClient:
        """A client of the server. It declares no capability to answer questions: so it is not asked."""
        return TasksClient(self.server, headers={"Authorization": f"Bearer {self.token}"} if self.token else None)


async def call(session: Session, tool: str, arguments: str, *, wait: bool, limits: Limits) -> Exit:
    """Call a tool; follow the task that comes of it, or show its id."""
    with watch_interrupts() as interrupts:
        async with session.client() as client:
            try:
                async with asyncio.timeout(limits.timeout_seconds):
                    answer = await or_interrupt(
                        client.call_tool(tool, arguments, on_progress=session.reporter.progress), interrupts
                    )
            except TimeoutError:
                session.reporter.note(f"The call was not answered in time; {UNKNOWN}")
                return Exit.NOT_FINISHED
            match answer:
                case None:
                    session.reporter.note(f"The call was not answered yet; {UNKNOWN}")
                    return Exit.INTERRUPTED
                case ToolResult():
                    session.reporter.close()
                    session.printer.result(answer)
                    return Exit.FAILED if answer.is_error else Exit.COMPLETED
                case InputRequired():
                    _show_questions(session.reporter, answer.input_requests)
                    return Exit.INPUT_REQUIRED
                case TaskHandle() if not wait:
                    session.printer.handle(answer.id)
                    return Exit.COMPLETED
                case TaskHandle():
                    return await _follow(session, answer, interrupts, limits)


async def wait(session: Session, task_id: str, *, limits: Limits) -> Exit:
    """Follow a task and show how it ended."""
    with watch_interrupts() as interrupts:
        async with session.client() as client:
            return await _follow(session, client.task(task_id), interrupts, limits)


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
        session.reporter.note(f"{task_id} is not over yet (mcptasks wait {task_id}).")
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
            task = await client.wait_for_task(task_id, timeout_seconds=timeout_seconds, on_update=session.reporter.task)
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
    """Run a command to its end."""
    try:
        return asyncio.run(command)
    finally:
        reporter.close()


async def _follow(session: Session, handle: TaskHandle, interrupts: Interrupts, limits: Limits) -> Exit:
    outcome: Outcome = await follow(handle, reporter=session.reporter, interrupts=interrupts, limits=limits)
    session.reporter.close()
    if outcome.task is None:
        session.printer.handle(handle.id)
        return outcome.exit
    return _show_end(session, outcome.task)


def _show_end(session: Session, task: Task) -> Exit:
    if isinstance(task, InputRequiredTask):
        _show_questions(session.reporter, task.input_requests)
    session.printer.outcome(task)
    return exit_of(task)


def _show_questions(reporter: Reporter, input_requests: Any) -> None:
    """Say what is asked. Answering is for a client that can: this one has declared that it cannot."""
    for key, request in input_requests.items():
        params = request.get("params", {}) if isinstance(request, dict) else {}
        reporter.note(f"The server asks ({key}): {params.get('message', '')}")
