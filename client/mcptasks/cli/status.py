"""What goes to standard error: what is happening, for people.

On a terminal one line lives and shows the time; elsewhere a line is written when something changes.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from mcptasks.errors import McptasksError
from mcptasks.models import FailedTask, InputRequiredTask, Task

from .output import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class Reporter(Protocol):
    """Tells people what is happening."""

    def note(self, text: str) -> None:
        """Something worth a line that stays."""

    def task(self, task: Task) -> None:
        """A task as it was just seen."""

    def progress(self, progress: Mapping[str, Any]) -> None:
        """Progress of a call that is no task."""

    def retry(self, error: McptasksError) -> None:
        """The server is away and is asked again."""

    def close(self) -> None:
        """Nothing more is coming."""


class SilentReporter:
    """Says nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def task(self, task: Task) -> None:
        """Nothing."""

    def progress(self, progress: Mapping[str, Any]) -> None:
        """Nothing."""

    def retry(self, error: McptasksError) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class PlainReporter:
    """Writes a line for each change."""

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = clock()
        self._last = ""

    def note(self, text: str) -> None:
        """A line."""
        self._write(printable(text))

    def task(self, task: Task) -> None:
        """A line, if it says something new."""
        self._change(line_of(task))

    def progress(self, progress: Mapping[str, Any]) -> None:
        """A line, if it says something new."""
        self._change(progress_line(progress))

    def retry(self, error: McptasksError) -> None:
        """A line, if it says something new."""
        self._change(retry_line(error))

    def close(self) -> None:
        """Nothing is left to be done."""

    def _change(self, line: str) -> None:
        if line != self._last:
            self._last = line
            self._write(f"{self._clock() - self._start:6.1f} s  {line}")

    def _write(self, line: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=self._stream, flush=True)


class LiveReporter:
    """Keeps one line alive on a terminal; what ends or stays is written above it."""

    def __init__(self, console: "Console", *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._start = clock()
        self._line: Progress | None = None

    def note(self, text: str) -> None:
        """A line above the living one."""
        self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def task(self, task: Task) -> None:
        """The living line; at the end, a line that stays."""
        line = line_of(task)
        if task.status.is_terminal:
            self.close()
            self.note(f"{line}  {self._clock() - self._start:.1f} s")
        else:
            self._show(line)

    def progress(self, progress: Mapping[str, Any]) -> None:
        """The living line."""
        self._show(progress_line(progress))

    def retry(self, error: McptasksError) -> None:
        """The living line."""
        self._show(retry_line(error))

    def close(self) -> None:
        """Take the living line away."""
        if self._line is not None:
            self._line.stop()
            self._line = None

    def _show(self, text: str) -> None:
        if self._line is None:
            from rich.progress import (  # noqa: PLC0415  # only where there is a terminal
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._line = Progress(*columns, console=self._console, transient=True)
            self._line.add_task(text)
            self._line.start()
        else:
            self._line.update(self._line.task_ids[0], description=text)


def reporter(*, quiet: bool, stream: TextIO | None = None) -> Reporter:
    """The reporter that fits where standard error goes."""
    stream = sys.stderr if stream is None else stream
    if quiet:
        return SilentReporter()
    if stream.isatty():
        from rich.console import Console  # noqa: PLC0415  # costs 0.1 s, and only a terminal shows it

        console = Console(file=stream)
        if not console.is_dumb_terminal:
            return LiveReporter(console)
    return PlainReporter(stream)


def line_of(task: Task) -> str:
    """A task in one line."""
    message = task.status_message or ""
    if isinstance(task, FailedTask) and task.error.message not in message:
        message = task.error.message
    if isinstance(task, InputRequiredTask):
        message = message or f"asks {', '.join(task.input_requests)}"
    line = f"{task.task_id} {task.status}" + (f": {message}" if message not in {"", task.status} else "")
    return printable(line.replace("\n", " "))


def progress_line(progress: Mapping[str, Any]) -> str:
    """Progress in one line."""
    total = progress.get("total")
    number = f"{progress.get('progress')}" + (f" of {total}" if total is not None else "")
    return printable(f"{number} {progress.get('message') or ''}".rstrip().replace("\n", " "))


def retry_line(error: McptasksError) -> str:
    """A server that is away, in one line."""
    return printable(f"{error}; trying again".replace("\n", " "))
