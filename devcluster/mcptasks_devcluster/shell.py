"""Running other programs: one function, whose error says what was run and what it answered."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from mcptasks_devcluster.errors import CommandError, UnavailableError

_LAST_WORDS = 2000


def run(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: IO[bytes] | None = None,
    given: str | None = None,
    timeout: float = 900,
) -> str:
    """Run to the end and give stdout; ``env`` is added to this process's environment."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            stdin=stdin if given is None else None,
            input=None if given is None else given.encode(),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise UnavailableError(f"{words[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"no end after {timeout:.0f} s: {shlex.join(words)}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace")[-_LAST_WORDS:].strip()
        raise CommandError(f"exit {done.returncode}: {shlex.join(words)}\n{said}")
    return done.stdout.decode(errors="replace")


def answers(argv: Sequence[str], *, timeout: float = 10) -> bool:
    """Whether the program is there and says yes."""
    try:
        run(argv, timeout=timeout)
    except (CommandError, UnavailableError):
        return False
    return True


def say(line: str) -> None:
    """One line of progress, on stderr: stdout is for answers that scripts read."""
    print(line, file=sys.stderr, flush=True)
