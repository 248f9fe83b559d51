"""SIGTERM: how Kubernetes says that a pod has to go.

The first process of a container ignores SIGTERM unless it handles it, so a tool that did nothing would take the whole
grace to stop.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from .errors import TaskCancelled

EXIT_CODE: Final = 128 + signal.SIGTERM


class Termination:
    """What is known of SIGTERM in this process."""

    def __init__(self) -> None:
        self.is_wanted = False
        """Whether the signal has come."""
        self._held = 0
        self._process = 0

    @property
    def is_held_back(self) -> bool:
        """Whether what is under way counts for more."""
        return self._held > 0

    def listen(self) -> None:
        """Raise `TaskCancelled` in the main thread when the signal comes. A handler of the tool's own stays."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._process = os.getpid()
            signal.signal(signal.SIGTERM, self._came)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Do not raise meanwhile: what is under way counts for more, and will end by itself."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def hold_back(self) -> None:
        """Do not raise any more: the result is given, and what is left to do is the tool's own."""
        self._held += 1

    def _came(self, number: int, frame: FrameType | None) -> None:
        if self._process != os.getpid():  # a forked child: what it would do without us
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        self.is_wanted = True
        if not self.is_held_back:
            raise TaskCancelled("SIGTERM")
