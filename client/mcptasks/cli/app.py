"""The command line's grammar. What a command does is in `commands`, which is loaded when one runs: that takes a moment,
and `--help` has to be quick.
"""

import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from mcptasks.errors import ArgumentsError, McptasksError, ProtocolError, UnreachableError

from .exits import Exit
from .options import (
    DEFAULT_SERVER,
    TOKEN_VARIABLE,
    ArgumentsFile,
    Assignments,
    CancelAfter,
    Format,
    Output,
    Quiet,
    Server,
    TaskId,
    Timeout,
    ToolName,
)

if TYPE_CHECKING:
    from .commands import Session

app = typer.Typer(
    name="mcptasks",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run the command line and exit with its code."""
    app(prog_name="mcptasks")


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415  # for this option alone

        print(f"mcptasks {version('mcptasks')}")
        raise typer.Exit


@app.callback(
    epilog=(
        "Exit codes: 0 completed; 1 tool error, failed task or refused request; 2 wrong usage; 3 cancelled; 4 input is "
        "required; 5 no MCP server there; 124 not over in the time given; 130 let go of by Ctrl-C. "
        f"A server that knows its callers is sent the token that {TOKEN_VARIABLE} holds."
    )
)
def _app(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Call MCP tools and follow the tasks that come of it."""


@app.command()
def call(  # noqa: PLR0917  # typer calls it by keyword; so in the next one
    tool: ToolName,
    argument: Assignments = None,
    file: ArgumentsFile = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the task, or only show its id.")] = True,
    timeout: Timeout = None,
    cancel_after: CancelAfter = None,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
    quiet: Quiet = False,
) -> None:
    """Call a tool, follow its task and show the result.

    Ctrl-C lets go of the task, which goes on; a second Ctrl-C cancels it.
    """
    with _errors_as_exit_codes():
        from . import commands, follow  # noqa: PLC0415  # see the module's docstring
        from .arguments import arguments_from  # noqa: PLC0415

        arguments = arguments_from(argument or (), document=None if file is None else _read(file))
        limits = follow.Limits(timeout_seconds=timeout, cancel_after_seconds=cancel_after)
        _run(
            lambda session: commands.call(session, tool, arguments, wait=wait, limits=limits),
            server=server,
            output=output,
            quiet=quiet,
        )


@app.command()
def wait(  # noqa: PLR0917
    task_id: TaskId,
    timeout: Timeout = None,
    cancel_after: CancelAfter = None,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
    quiet: Quiet = False,
) -> None:
    """Follow a task to its end and show the result."""
    with _errors_as_exit_codes():
        from . import commands, follow  # noqa: PLC0415

        limits = follow.Limits(timeout_seconds=timeout, cancel_after_seconds=cancel_after)
        _run(lambda session: commands.wait(session, task_id, limits=limits), server=server, output=output, quiet=quiet)


@app.command()
def get(task_id: TaskId, server: Server = DEFAULT_SERVER, output: Format = Output.TEXT) -> None:
    """Show a task as it is now."""
    with _errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        _run(lambda session: commands.get(session, task_id), server=server, output=output)


@app.command()
def result(task_id: TaskId, server: Server = DEFAULT_SERVER, output: Format = Output.TEXT) -> None:
    """Show how a task ended; exit code 124 where it has not."""
    with _errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        _run(lambda session: commands.result(session, task_id), server=server, output=output)


@app.command()
def logs(task_id: TaskId, server: Server = DEFAULT_SERVER, output: Format = Output.TEXT) -> None:
    """Show what a task has printed, so far or as far as it is kept."""
    with _errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        _run(lambda session: commands.logs(session, task_id), server=server, output=output)


@app.command()
def cancel(
    task_id: TaskId,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is over; fails unless it is cancelled.")] = False,
    timeout: Timeout = None,
    server: Server = DEFAULT_SERVER,
    quiet: Quiet = False,
) -> None:
    """Cancel a task."""
    with _errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        _run(
            lambda session: commands.cancel(session, task_id, wait=wait, timeout_seconds=timeout),
            server=server,
            quiet=quiet,
        )


@app.command()
def tools(
    name: Annotated[str | None, typer.Argument(metavar="[TOOL]", help="Only this tool.")] = None,
    server: Server = DEFAULT_SERVER,
    output: Format = Output.TEXT,
) -> None:
    """Show the tools that the server offers, with their arguments."""
    with _errors_as_exit_codes():
        from . import commands  # noqa: PLC0415

        _run(lambda session: commands.tools(session, name), server=server, output=output)


def _run(
    command: "Callable[[Session], Coroutine[Any, Any, Exit]]",
    *,
    server: str,
    output: Output = Output.TEXT,
    quiet: bool = False,
) -> NoReturn:
    """Run a command and exit with its code."""
    from . import commands, status  # noqa: PLC0415
    from .output import Printer  # noqa: PLC0415

    reporter = status.reporter(quiet=quiet)
    session = commands.Session(server=server, printer=Printer(output), reporter=reporter, token=_token())
    raise typer.Exit(commands.run(command(session), reporter=reporter))


def _token() -> str | None:
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise ArgumentsError(f"{TOKEN_VARIABLE} holds what no token can: only printable ASCII")
    return token or None


@contextmanager
def _errors_as_exit_codes() -> Iterator[None]:
    """The outermost boundary: an error of ours is one line on standard error and an exit code."""
    try:
        yield
    except ArgumentsError as error:
        _fail(error, Exit.USAGE)
    except (UnreachableError, ProtocolError) as error:
        _fail(error, Exit.UNREACHABLE)
    except McptasksError as error:
        _fail(error, Exit.FAILED)


def _fail(error: McptasksError, code: Exit) -> NoReturn:
    from .output import printable  # noqa: PLC0415

    print(f"mcptasks: {printable(str(error))}", file=sys.stderr)
    raise typer.Exit(code) from error


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentsError(f"{file}: {error}") from error
