"""What goes to standard error: what is happening, for people.

On a terminal one line lives and shows the time; elsewhere a line is written when something changes.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from mcptasks.models import FailedTask, InputRequiredTask, Task

from .output import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status as Spinner


class Reporter(Protocol):
    """Tells people what is happening."""

    def note(self, text: str) -> None:
        """Something worth a line that stays."""

    def task(self, task: Task) -> None:
        """A task as it was just seen."""

    def progress(self, progress: Mapping[str, Any]) -> None:
        """Progress of a call that is no task."""

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
        self._last = ""
        self._spinner: Spinner | None = None

    def note(self, text: str) -> None:
        """A line above the living one."""
        self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def task(self, task: Task) -> None:
        """The living line; at the end, a line that stays."""
        self._show(line_of(task), stays=task.status.is_terminal)

    def progress(self, progress: Mapping[str, Any]) -> None:
        """The living line."""
        self._show(progress_line(progress), stays=False)

    def close(self) -> None:
        """Take the living line away."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def _show(self, line: str, *, stays: bool) -> None:
        from rich.text import Text  # noqa: PLC0415  # only where there is a terminal

        timed = Text(f"{line}  {self._clock() - self._start:.1f} s")
        if stays:
            self.close()
            self._console.print(timed, soft_wrap=True)
        elif self._spinner is None:
            self._spinner = self._console.status(timed)
            self._spinner.start()
        else:
            self._spinner.update(timed)


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
