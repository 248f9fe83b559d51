"""The grammar of the verbs that call, follow and cancel. What a verb does is in `commands`, which is loaded when one
runs: that takes a moment, and `--help` has to be quick.
"""

from typing import Annotated

import typer

from .boundary import answers_of, errors_as_exit_codes, read_file, run_command
from .options import (
    DEFAULT_SERVER,
    AnswerAssignments,
    ArgumentsFile,
    Assignments,
    CancelAfter,
    Declined,
    Format,
    LeaveQuestions,
    Output,
    Quiet,
    Server,
    TaskId,
    Timeout,
    ToolName,
)


def call(  # noqa: PLR0917  # typer calls it by keyword; so in the next one
    tool: ToolName,
    argument: Assignments = None,
    file: ArgumentsFile = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the task, or only show its id.")] = True,
    answer: AnswerAssignments = None,
    decline: Declined = None,
    leave_questions: LeaveQuestions = False,
    timeout: Timeout = None,
    cancel_after: CancelAfter = None,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
    quiet: Quiet = False,
) -> None:
    """Call a tool, follow its task and show the result.

    What the tool asks is asked at the terminal. Where there is none, --answer has to bring it: else the questions are
    shown with the commands that answer them, and the exit code is 4; the task goes on.

    Ctrl-C lets go of the task, which goes on; a second Ctrl-C cancels it.
    """
    with errors_as_exit_codes():
        from . import commands, follow  # noqa: PLC0415  # see the module's docstring
        from .arguments import arguments_from  # noqa: PLC0415

        arguments = arguments_from(argument or (), document=None if file is None else read_file(file))
        limits = follow.Limits(timeout_seconds=timeout, cancel_after_seconds=cancel_after)
        run_command(
            lambda session: commands.call(session, tool, arguments, wait=wait, limits=limits),
            server=server,
            output=output,
            quiet=quiet,
            answers=answers_of(answer, decline, leave_questions=leave_questions),
        )


def wait(  # noqa: PLR0917
    task_id: TaskId,
    answer: AnswerAssignments = None,
    decline: Declined = None,
    leave_questions: LeaveQuestions = False,
    timeout: Timeout = None,
    cancel_after: CancelAfter = None,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
    quiet: Quiet = False,
) -> None:
    """Follow a task to its end and show the result. What it asks is answered as by `call`."""
    with errors_as_exit_codes():
        from . import commands, follow  # noqa: PLC0415

        limits = follow.Limits(timeout_seconds=timeout, cancel_after_seconds=cancel_after)
        run_command(
            lambda session: commands.wait(session, task_id, limits=limits),
            server=server,
            output=output,
            quiet=quiet,
            answers=answers_of(answer, decline, leave_questions=leave_questions),
        )


def get(task_id: TaskId, server: Server = DEFAULT_SERVER, output: Format = Output.TEXT) -> None:
    """Show a task as it is now, with its open questions."""
    with errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        run_command(lambda session: commands.get(session, task_id), server=server, output=output)


def result(task_id: TaskId, server: Server = DEFAULT_SERVER, output: Format = Output.TEXT) -> None:
    """Show how a task ended; exit code 124 where it has not."""
    with errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        run_command(lambda session: commands.result(session, task_id), server=server, output=output)


def logs(task_id: TaskId, server: Server = DEFAULT_SERVER, output: Format = Output.TEXT) -> None:
    """Show what a task has printed, so far or as far as it is kept."""
    with errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        run_command(lambda session: commands.logs(session, task_id), server=server, output=output)


def cancel(
    task_id: TaskId,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is over; fails unless it is cancelled.")] = False,
    timeout: Timeout = None,
    server: Server = DEFAULT_SERVER,
    quiet: Quiet = False,
) -> None:
    """Cancel a task."""
    with errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        run_command(
            lambda session: commands.cancel(session, task_id, wait=wait, timeout_seconds=timeout),
            server=server,
            quiet=quiet,
        )


def tools(
    name: Annotated[str | None, typer.Argument(metavar="[TOOL]", help="Only this tool.")] = None,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
) -> None:
    """Show the tools that the server offers, with their arguments."""
    with errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        run_command(lambda session: commands.tools(session, name), server=server, output=output)
