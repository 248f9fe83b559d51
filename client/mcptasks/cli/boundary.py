"""Between the command line and what a command does: its session, its errors, its exit code.

What a command needs is loaded when one runs: that takes a moment, and `--help` has to be quick.
"""

import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from mcptasks.errors import ArgumentsError, McptasksError, ProtocolError, UnreachableError

from .exits import Exit
from .options import DEFAULT_SERVER, SERVER_VARIABLE, TOKEN_VARIABLE, Output

if TYPE_CHECKING:
    from .answerers import Answers
    from .commands import Session


def run_command(
    command: "Callable[[Session], Coroutine[Any, Any, Exit]]",
    *,
    server: str,
    output: Output = Output.TEXT,
    quiet: bool = False,
    answers: "Answers | None" = None,
    options: Sequence[str] = (),
) -> NoReturn:
    """Run a command and exit with its code. `options`: those of its own that a command it shows needs too."""
    from . import commands, status  # noqa: PLC0415
    from .answerers import Answers  # noqa: PLC0415
    from .output import Printer  # noqa: PLC0415

    reporter = status.reporter(quiet=quiet)
    session = commands.Session(
        server=server,
        printer=Printer(output, options=options or _way_to(server)),
        reporter=reporter,
        token=_token(),
        answers=answers or Answers(),
    )
    raise typer.Exit(commands.run(command(session), reporter=reporter))


def answers_of(
    assignments: Sequence[str] | None, declined: Sequence[str] | None, *, leave_questions: bool = False
) -> "Answers":
    """What there is to answer with: the command line's words, and the terminal where there is one.

    Raises:
        ArgumentsError: the words are no answers.
    """
    from .answerers import Answers  # noqa: PLC0415
    from .given import given_from  # noqa: PLC0415
    from .terminal import terminal  # noqa: PLC0415

    given = given_from(assignments or (), declined or ())
    return Answers(given=given, leaves=leave_questions, lines=terminal())


def _way_to(server: str) -> tuple[str, ...]:
    """What the next command has to say to reach the same server."""
    by_default = os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER
    return () if server == by_default else ("--server", server)


def _token() -> str | None:
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise ArgumentsError(f"{TOKEN_VARIABLE} holds what no token can: only printable ASCII")
    return token or None


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
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


def read_file(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentsError(f"{file}: {error}") from error
