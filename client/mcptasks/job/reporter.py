"""Progress on its way to the endpoint: in the background, the newest only, the last one always.

The tool's own thread takes no lock here: it puts values into a queue that is written in C, so a signal's exception may
arrive at any time. What the newest value is and when it is sent is the background thread's alone.
"""

import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

from .backoff import JITTER, delay_seconds
from .endpoint import Answer, NotNowError, Request
from .errors import RefusedError

INTERVAL_SECONDS: Final = 0.25
"""The least time between two values that are sent; the endpoint writes fewer still."""

WAIT_SECONDS: Final = 10.0
"""How long the endpoint may take until the last value is written: its interval stretches so far where many report."""

Send = Callable[[Request], Answer]
LOOK: Final = Request(method="GET")
"""Not a value, but a look at the task: is it being stopped?"""


@dataclass(frozen=True, kw_only=True)
class _Flush:
    """Somebody waits for what was put before."""

    sent: threading.Event = field(default_factory=threading.Event)
    given_up: threading.Event = field(default_factory=threading.Event)
    """Set once nobody waits any more."""
    is_last: bool = False
    """Whether it is to be written, too: nothing comes after it."""


class Reporter:
    """One process' background thread, started with the first value."""

    def __init__(self, send: Send, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`send` makes one attempt, as `Endpoint.attempt` does."""
        self._send, self._clock = send, clock
        self._process = 0
        self._starting = threading.Lock()
        self._waiting: queue.SimpleQueue[Request | _Flush] = queue.SimpleQueue()

    def put(self, request: Request) -> None:
        """Send it soon, unless a newer one comes first."""
        self._start()
        self._waiting.put(request)

    def flush(self, seconds: float, *, is_last: bool = False) -> bool:
        """Wait until the newest value is sent, for so long at most; whether it is (or never will be).

        `is_last`: until it is written in the cluster, for the program ends, and with it the task.
        """
        if self._process != os.getpid():
            return True
        flush = _Flush(is_last=is_last)
        self._waiting.put(flush)
        if flush.sent.wait(seconds):
            return True
        flush.given_up.set()
        return False

    def _start(self) -> None:
        if self._process == os.getpid():
            return
        with self._starting:  # once in a process' life: whatever comes later takes no lock
            if self._process == os.getpid():
                return
            # In a forked child the parent's thread does not run, and its queue may be in any state.
            self._waiting = queue.SimpleQueue()
            threading.Thread(target=_Sender(self._waiting, self._send, self._clock).run, daemon=True).start()
            self._process = os.getpid()


class _Sender:
    """What the background thread knows."""

    def __init__(self, waiting: queue.SimpleQueue[Request | _Flush], send: Send, clock: Callable[[], float]) -> None:
        self._waiting, self._send, self._clock = waiting, send, clock
        self._newest: Request | None = None
        self._taken: Request | None = None
        """The last value that was sent, and is not known to be written."""
        self._flushes: list[_Flush] = []
        self._sent_at = float("-inf")
        self._not_before = float("-inf")
        """After a failure."""
        self._failures = 0
        self._told: set[str] = set()
        """What was refused, in the endpoint's words."""

    def run(self) -> None:
        """Send, for as long as the process lives."""
        while True:
            self._collect()
            if self._newest is not None and self._clock() >= self._due_at():
                self._try(self._newest)
            if self._newest is None:
                for flush in self._flushes:
                    flush.sent.set()
                self._flushes.clear()

    def _due_at(self) -> float:
        return self._not_before if self._flushes else max(self._not_before, self._sent_at + INTERVAL_SECONDS)

    def _collect(self) -> None:
        """Wait for something to do; of all that has come, keep the newest."""
        timeout = None if self._newest is None else max(0.0, self._due_at() - self._clock())
        try:
            self._take(self._waiting.get(timeout=timeout))
            while True:
                self._take(self._waiting.get_nowait())
        except queue.Empty:
            pass

    def _take(self, item: Request | _Flush) -> None:
        if isinstance(item, _Flush):
            self._flushes.append(item)
            if item.is_last and (self._newest is None or self._newest is LOOK):
                self._newest = self._taken
        elif item is not LOOK or self._newest is None:  # a value's answer tells what a look would
            self._newest = item

    def _try(self, request: Request) -> None:
        self._flushes = [flush for flush in self._flushes if not flush.given_up.is_set()]
        is_value, is_last = request is not LOOK, any(flush.is_last for flush in self._flushes)
        if is_value and is_last:
            request = replace(request, path=f"{request.path}?wait={WAIT_SECONDS:g}", wait_seconds=WAIT_SECONDS)
        taken = self._newest if is_value else self._taken
        try:
            if self._send(request).status == HTTPStatus.OK and is_value:
                taken = None
            elif is_value and is_last:  # not written yet: it is waited for once more
                self._not_before = self._clock() + INTERVAL_SECONDS  # also where a server did not wait at all
                return
        except NotNowError as error:
            self._failures += 1
            wait = delay_seconds(self._failures, chance=JITTER.random(), asked_for=error.retry_after)
            self._not_before = self._clock() + wait
            return
        except RefusedError as error:
            taken = None if is_value else taken
            # Of a task that is being stopped the tool's next call tells.
            if error.status != 409 and str(error) not in self._told:
                self._told.add(str(error))
                print(f"mcptasks.job: progress is not taken: {error}", file=sys.stderr, flush=True)
        self._newest, self._taken, self._failures, self._sent_at = None, taken, 0, self._clock()
