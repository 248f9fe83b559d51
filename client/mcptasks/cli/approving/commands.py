"""`mcptasks answer --approver`, `mcptasks questions --approver` and `mcptasks approvals`, by the Kubernetes API."""

import asyncio
from dataclasses import dataclass
from typing import Final

from mcptasks.answering import ClosedError, while_open
from mcptasks.cli.dialogue import Lines, ask
from mcptasks.cli.exits import Exit
from mcptasks.cli.follow import or_interrupt
from mcptasks.cli.interrupts import watch_interrupts
from mcptasks.cli.moments import shown
from mcptasks.cli.output import Printer
from mcptasks.cli.status import Reporter
from mcptasks.cli.wanted import NotAskedError, Wanted
from mcptasks.forms.answers import Answer

from .kubectl import Kubectl, User
from .objects import Approval, approvals_of, patch_of

LOOK_SECONDS: Final = 5.0
"""How often it is looked whether a question is still open, while a person thinks about it."""


@dataclass(frozen=True, kw_only=True)
class Office:
    """Where an approver works."""

    kubectl: Kubectl
    printer: Printer
    reporter: Reporter
    lines: Lines | None = None
    """The terminal; None where nobody can be asked."""
    look_seconds: float = LOOK_SECONDS


async def answer(office: Office, task_id: str, wanted: Wanted, *, reason: str | None) -> Exit:
    """Answer a question of a task, as one of its approvers."""
    with watch_interrupts() as interrupts:
        code = await or_interrupt(_answer(office, task_id, wanted, reason), interrupts)
    return Exit.INTERRUPTED if code is None else code


async def questions(office: Office, task_id: str) -> Exit:
    """Show what a task asks its approvers."""
    approvals = approvals_of(await office.kubectl.task(task_id))
    office.printer.questions(task_id, [each.question() for each in approvals])
    if not approvals:
        office.reporter.note(f"{task_id} waits for no approver.")
    return Exit.COMPLETED


async def approvals(office: Office, *, everywhere: bool) -> Exit:
    """Show what waits for approvers."""
    user = await office.kubectl.user()
    found = [each for task in await office.kubectl.waiting_tasks(everywhere=everywhere) for each in approvals_of(task)]
    office.printer.approvals(
        [
            {
                **({"namespace": each.namespace} if everywhere else {}),
                "taskId": each.task,
                "key": each.key,
                "tool": each.tool,
                "caller": each.caller,
                "approvers": each.approvers,
                "yours": each.may_be_given_by(user),
                "expiresAt": each.expires_at and shown(each.expires_at),
                "message": each.message,
            }
            for each in found
        ]
    )
    if not found:
        office.reporter.note("No task waits for an approver.")
    return Exit.COMPLETED


async def _answer(office: Office, task_id: str, wanted: Wanted, reason: str | None) -> Exit:
    open_ones = {each.key: each for each in approvals_of(await office.kubectl.task(task_id))}
    if not open_ones:
        raise NotAskedError(f"{task_id} waits for no approver")
    chosen = wanted.chosen({key: each.question() for key, each in open_ones.items()})
    if not wanted.is_said and office.lines is None:
        office.printer.questions(task_id, chosen)
        return Exit.INPUT_REQUIRED
    user = await office.kubectl.user()
    said = {question.key: wanted.answer_to(question) for question in chosen} if wanted.is_said else {}
    for question in chosen:
        approval = open_ones[question.key]
        _check_may_answer(approval, user)
        given = said.get(question.key) or await _asked(office, approval)
        if given is None:
            return Exit.INPUT_REQUIRED
        await office.kubectl.patch(task_id, patch_of(question.key, given, by=user.name, reason=reason))
        office.reporter.note(f"Answered {question.key} as {user.name}: {given['action']}.")
        office.printer.answered(task_id, question.key, given["action"])
    return Exit.COMPLETED


def _check_may_answer(approval: Approval, user: User) -> None:
    if not approval.may_be_given_by(user):
        raise NotAskedError(f"{approval.key} is not for {user.name} to answer: its approvers are {approval.approvers}")


async def _asked(office: Office, approval: Approval) -> Answer | None:
    """What the person at the terminal answers; None where they leave it."""
    assert office.lines is not None
    who = f"{approval.tool}, called by {approval.caller},"
    try:
        return await while_open(ask(approval.question(), office.lines, server=who), _until_closed(office, approval))
    except ClosedError:
        raise NotAskedError(
            f"{approval.key} is not asked any more: it was answered by others, or its time is over"
        ) from None


async def _until_closed(office: Office, approval: Approval) -> None:
    while True:
        await asyncio.sleep(office.look_seconds)
        task = await office.kubectl.task(approval.task)
        if approval.key not in {each.key for each in approvals_of(task)}:
            return
