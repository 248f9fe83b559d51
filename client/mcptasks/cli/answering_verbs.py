"""The grammar of the verbs that answer: `answer`, `questions`, `approvals`."""

from typing import TYPE_CHECKING, Annotated

import typer

from mcptasks.errors import ArgumentsError

from .boundary import answers_of, errors_as_exit_codes, run_command
from .options import (
    DEFAULT_KUBECTL,
    DEFAULT_SERVER,
    Approver,
    Format,
    Kubectl,
    Namespace,
    Output,
    Quiet,
    Server,
    TaskId,
)

if TYPE_CHECKING:
    from .approving.commands import Office
    from .commands import Session


def answer(  # noqa: PLR0917  # typer calls it by keyword
    task_id: TaskId,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY] [FIELD=VALUE]...",
            help="The question, and its form's fields: FIELD=VALUE as people type it, FIELD:=JSON as it is.",
        ),
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Accept, with the form's defaults.")] = False,
    decline: Annotated[bool, typer.Option("--decline", help="Say no.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Put the question away: neither yes nor no.")] = False,
    reason: Annotated[str | None, typer.Option("--reason", metavar="WHY", help="Why; approvers only.")] = None,
    approver: Approver = False,
    namespace: Namespace = None,
    kubectl: Kubectl = DEFAULT_KUBECTL,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
    quiet: Quiet = False,
) -> None:
    """Answer a question of a task.

    With no answer on the command line it is asked at the terminal; where there is none, the open questions are shown
    and the exit code is 4. The first answer to a question counts.
    """
    with errors_as_exit_codes():
        from . import caller_answers  # noqa: PLC0415
        from .approving import commands as approving  # noqa: PLC0415
        from .wanted import wanted_from  # noqa: PLC0415

        wanted = wanted_from(words or (), accepts=accept, declines=decline, cancels=cancel)
        if reason is not None and not approver:
            raise ArgumentsError("--reason: MCP has no place for one; approvers (--approver) may give one")
        run_command(
            lambda session: (
                approving.answer(_office(session, kubectl, namespace), task_id, wanted, reason=reason)
                if approver
                else caller_answers.answer(session, task_id, wanted)
            ),
            server=server,
            output=output,
            quiet=quiet,
            answers=answers_of(None, None),
            options=_options(approver=approver, namespace=namespace, kubectl=kubectl),
        )


def questions(  # noqa: PLR0917
    task_id: TaskId,
    approver: Approver = False,
    namespace: Namespace = None,
    kubectl: Kubectl = DEFAULT_KUBECTL,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
) -> None:
    """Show what a task asks, who may answer, until when, and the commands that answer."""
    with errors_as_exit_codes():
        from . import caller_answers  # noqa: PLC0415
        from .approving import commands as approving  # noqa: PLC0415

        run_command(
            lambda session: (
                approving.questions(_office(session, kubectl, namespace), task_id)
                if approver
                else caller_answers.questions(session, task_id)
            ),
            server=server,
            output=output,
            options=_options(approver=approver, namespace=namespace, kubectl=kubectl),
        )


def approvals(
    namespace: Namespace = None,
    everywhere: Annotated[bool, typer.Option("--all-namespaces", "-A", help="Those of all namespaces.")] = False,
    kubectl: Kubectl = DEFAULT_KUBECTL,
    output: Format = Output.TEXT,
) -> None:
    """Show the tasks that wait for an approver, by kubectl."""
    with errors_as_exit_codes():
        from .approving import commands as approving  # noqa: PLC0415

        run_command(
            lambda session: approving.approvals(_office(session, kubectl, namespace), everywhere=everywhere),
            server=DEFAULT_SERVER,
            output=output,
        )


def _office(session: "Session", kubectl: str, namespace: str | None) -> "Office":
    from .approving.commands import Office  # noqa: PLC0415
    from .approving.kubectl import kubectl_of  # noqa: PLC0415

    return Office(
        kubectl=kubectl_of(kubectl, namespace=namespace),
        printer=session.printer,
        reporter=session.reporter,
        lines=session.answers.lines,
    )


def _options(*, approver: bool, namespace: str | None, kubectl: str) -> tuple[str, ...]:
    """What the next command has to say to answer by the same road."""
    if not approver:
        return ()
    scope = () if namespace is None else ("--namespace", namespace)
    return ("--approver", *scope, *(() if kubectl == DEFAULT_KUBECTL else ("--kubectl", kubectl)))
