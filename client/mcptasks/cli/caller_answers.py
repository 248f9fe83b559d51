"""`mcptasks answer` and `mcptasks questions` for the task's caller, by the MCP server."""

from typing import NoReturn

from mcptasks.answering import Answering, answer_question
from mcptasks.forms.answers import Answer
from mcptasks.models import InputRequiredTask
from mcptasks.questions import Question, questions_of

from .commands import Session
from .dialogue import ask
from .exits import Exit
from .follow import or_interrupt
from .interrupts import watch_interrupts
from .wanted import NotAskedError, Wanted


async def answer(session: Session, task_id: str, wanted: Wanted) -> Exit:
    """Answer a question of a task, by the command line's words or by asking the person at the terminal."""
    with watch_interrupts() as interrupts:
        code = await or_interrupt(_answer(session, task_id, wanted), interrupts)
    return Exit.INTERRUPTED if code is None else code


async def questions(session: Session, task_id: str) -> Exit:
    """Show what a task asks its caller."""
    async with session.client() as client:
        task = await client.get_task(task_id)
    session.printer.questions(task_id, list(questions_of(task).values()) if isinstance(task, InputRequiredTask) else [])
    if not isinstance(task, InputRequiredTask):
        session.reporter.note(_asks_nothing(task_id, str(task.status), task.status_message))
    return Exit.COMPLETED


async def _answer(session: Session, task_id: str, wanted: Wanted) -> Exit:
    async with session.client() as client:
        task = await client.get_task(task_id)
        if not isinstance(task, InputRequiredTask):
            raise NotAskedError(_asks_nothing(task_id, str(task.status), task.status_message))
        chosen = wanted.chosen(questions_of(task))
        if not wanted.is_said and session.answers.lines is None:
            session.printer.asked(task)
            return Exit.INPUT_REQUIRED
        said = {question.key: wanted.answer_to(question) for question in chosen} if wanted.is_said else {}

        async def answerer(question: Question, refusal: str | None) -> Answer | None:
            if wanted.is_said:
                return said[question.key] if refusal is None else None
            assert session.answers.lines is not None
            return await ask(question, session.answers.lines, server=session.server, refusal=refusal)

        def tell(question: Question, given: Answer) -> None:
            session.reporter.note(f"Answered {question.key}: {given['action']}.")
            session.printer.answered(task_id, question.key, given["action"])

        answering = Answering(answerer=answerer, on_dropped=_dropped, on_answered=tell)
        handle = client.task(task_id)
        results = [await answer_question(handle, task, question, answering) for question in chosen]
    return Exit.COMPLETED if all(results) and results else Exit.INPUT_REQUIRED


def _dropped(question: Question) -> NoReturn:
    raise NotAskedError(f"{question.key} is not asked any more: it was answered by others, or its time is over")


def _asks_nothing(task_id: str, status: str, message: str | None) -> str:
    waits = f": {message}" if message and message != status else ""
    hint = f" (an approver answers by: mcptasks answer --approver {task_id})" if "approval by" in waits else ""
    return f"{task_id} asks its caller nothing; it is {status}{waits}{hint}"
