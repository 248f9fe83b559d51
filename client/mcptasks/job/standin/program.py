"""A tool's program, run as a pod would run it: its environment, its log, how it is stopped."""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

GRACE_SECONDS: Final = 5.0
"""From SIGTERM to SIGKILL, as of a tool that says nothing else."""
LOG_CHARACTERS: Final = 64 * 1024


def command_of(program: str, arguments: Sequence[str]) -> list[str]:
    """How a program is started: Python for `.py`, a shell for `.sh`, itself otherwise.

    >>> command_of("tool.sh", ["-v"])
    ['sh', 'tool.sh', '-v']
    """
    starter = {".py": [sys.executable], ".sh": ["sh"]}.get(Path(program).suffix, [])
    return [*starter, program, *arguments]


class Program:
    """A running program; its output goes to standard error, line by line."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self._log: deque[str] = deque()
        self._kept = 0
        self._process = subprocess.Popen(  # noqa: S603  # running it is what was asked for
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is ours, and becomes a cancel
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=[self._process.stdout], daemon=True)
        self._reader.start()

    def wait(self, seconds: float | None = None) -> int | None:
        """Its exit code, as a shell has it; None if it did not end in time."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return code if code >= 0 else 128 - code

    def stop(self) -> int:
        """SIGTERM, and SIGKILL after the grace; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        code = self.wait(GRACE_SECONDS)
        if code is None:
            self._process.kill()
            code = self.wait()
        assert code is not None
        return code

    def log(self) -> str:
        """The last of what it printed."""
        self._reader.join(1.0)
        return "".join(self._log)[-LOG_CHARACTERS:]

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                sys.stderr.write(line)
                sys.stderr.flush()
                self._log.append(line)
                self._kept += len(line)
                while self._kept - len(self._log[0]) > LOG_CHARACTERS:
                    self._kept -= len(self._log.popleft())
