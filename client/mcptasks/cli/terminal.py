"""The terminal as people type into it: line by line, without holding up what goes on meanwhile."""

import asyncio
import os
import sys
import termios
from typing import TextIO

from .output import printable


class Terminal:
    """Reads lines from a terminal and writes beside them. A read that is cancelled leaves nothing behind."""

    def __init__(self, source: TextIO, screen: TextIO) -> None:
        self._source = source
        self._screen = screen

    def show(self, text: str) -> None:
        """A line, in which no control character does anything."""
        self._write(printable(text) + "\n")

    def forget_typed(self) -> None:
        """Throw away what was typed before anybody has asked."""
        termios.tcflush(self._source.fileno(), termios.TCIFLUSH)

    async def read(self, prompt: str) -> str:
        """The next line, without its end.

        Raises:
            EOFError: Ctrl-D, or the terminal is gone.
        """
        self._write(printable(prompt))
        try:
            line = await self._line()
        except asyncio.CancelledError:
            self._write("\n")
            self.forget_typed()
            raise
        if not line:
            self._write("\n")
            raise EOFError
        return line.removesuffix("\n")

    async def _line(self) -> str:
        """What the terminal gives at once: a line, or nothing at the end."""
        loop, number = asyncio.get_running_loop(), self._source.fileno()
        came = asyncio.Event()
        loop.add_reader(number, came.set)
        try:
            await came.wait()
        finally:
            loop.remove_reader(number)
        try:
            return os.read(number, 65_536).decode(self._source.encoding or "utf-8", "replace")
        except OSError:  # the terminal was closed
            return ""

    def _write(self, text: str) -> None:
        encoding = self._screen.encoding or "utf-8"
        self._screen.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._screen.flush()


def terminal() -> Terminal | None:
    """The terminal that somebody sits at; None where nobody can be asked."""
    source, screen = sys.stdin, sys.stderr
    if source is None or screen is None or source.closed or screen.closed:
        return None
    if not (source.isatty() and screen.isatty() and _is_in_front(source.fileno())):
        return None
    return Terminal(source, screen)


def _is_in_front(number: int) -> bool:
    """Whether what is typed there comes here: not so of a program that was started with `&`."""
    try:
        return os.tcgetpgrp(number) == os.getpgrp()
    except OSError:
        return False
