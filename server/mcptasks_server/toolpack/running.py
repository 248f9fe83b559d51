"""Running a pack's function: async ones on the event loop, sync ones in a bounded number of threads, each in its time.

A thread cannot be ended from outside. One whose call took too long is *stuck* until its function returns: it is
counted, and takes one of the places; once all places are taken by such ones, calls are refused at once.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from .allowance import Allowance

DEFAULT_THREADS: Final = 8
SWITCH_SECONDS: Final = 0.0005
"""How long a thread that computes keeps the interpreter once another one wants it. With Python's own 5 ms, eight such
threads make other requests take three to five times as long as with this, in the middle; they themselves get about a
tenth more done (measured: decision 12, benchmarks/spinners.py)."""


class NotRunError(Exception):
    """The function did not run to its end, for a reason that its client may be told."""


class TookTooLongError(NotRunError):
    """The call's time was over before the function was."""


class NoThreadError(NotRunError):
    """There was no thread for it."""


class Running(Protocol):
    """What is counted of running functions."""

    def threads(self, *, busy: int, stuck: int) -> None:
        """How many threads run functions now, and how many of them run on after their call was over."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    value: Any = None
    error: BaseException | None = None


class Runner:
    """Runs functions."""

    def __init__(self, *, threads: int = DEFAULT_THREADS, counts: Running | None = None) -> None:
        """`threads`: how many sync functions may run at once."""
        self._size, self._counts = threads, counts
        self._free: asyncio.Semaphore = asyncio.Semaphore(threads)
        self._busy = self._stuck = 0
        self._tasks: set[asyncio.Task[_Outcome]] = set()

    async def run_async(self, call: Callable[[], Any], *, allowance: Allowance) -> Any:
        """Run an async function. It is cancelled when its time is over, and not waited for: it may not listen.

        Raises:
            TookTooLongError: its time was over first.
            Exception: whatever the function raised.
        """
        task = asyncio.create_task(_outcome_of(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            async with allowance.limit():
                outcome = await asyncio.shield(task)
        except TimeoutError as error:
            raise _too_long(allowance) from error
        finally:
            task.cancel()
        return _result(outcome)

    async def run_sync(self, call: Callable[[], Any], *, allowance: Allowance) -> Any:
        """Run a sync function in a thread.

        Raises:
            NoThreadError: all threads are taken, and none came free in the call's time.
            TookTooLongError: its time was over first.
            Exception: whatever the function raised.
        """
        if self._stuck >= self._size:
            raise NoThreadError(
                f"All {self._size} threads for tools are stuck in calls that ran over their time: "
                "this server needs a restart, or more of them"
            )
        has_begun = False
        try:
            async with allowance.limit():
                await self._free.acquire()
                has_begun = True
                outcome = await self._in_thread(call, allowance)
        except TimeoutError as error:
            if has_begun:
                raise _too_long(allowance) from error
            raise NoThreadError(f"The server is busy: no thread came free within {allowance.seconds:g} s") from error
        return _result(outcome)

    async def _in_thread(self, call: Callable[[], Any], allowance: Allowance) -> _Outcome:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[_Outcome] = loop.create_future()
        is_over = is_stuck = False

        def deliver(outcome: _Outcome) -> None:
            nonlocal is_over
            is_over = True
            self._free.release()
            self._count(busy=-1, stuck=-1 if is_stuck else 0)
            if not ended.done():
                ended.set_result(outcome)

        def time_is_over() -> None:
            nonlocal is_stuck
            if not is_over:
                is_stuck = True
                self._count(busy=0, stuck=1)

        context = contextvars.copy_context()
        # A thread of its own, and a daemon: the interpreter's pools wait for each of theirs before the process can end.
        thread = threading.Thread(target=_work, args=(context, call, loop, deliver), name="mcptasks-tool", daemon=True)
        self._count(busy=1, stuck=0)
        thread.start()
        try:
            return await ended
        except asyncio.CancelledError:
            if allowance.is_over:
                time_is_over()
            else:  # its client has gone: the function has its time all the same
                loop.call_later(allowance.seconds, time_is_over)
            raise

    def _count(self, *, busy: int, stuck: int) -> None:
        self._busy += busy
        self._stuck += stuck
        if self._counts is not None:
            self._counts.threads(busy=self._busy, stuck=self._stuck)


async def _outcome_of(call: Callable[[], Any]) -> _Outcome:
    try:
        return _Outcome(value=await call())
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _Outcome(error=error)  # one of its own, which must not look like the end of the request
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary to foreign code: whoever waits gets it
        return _Outcome(error=error)


def _work(
    context: contextvars.Context,
    call: Callable[[], Any],
    loop: asyncio.AbstractEventLoop,
    deliver: Callable[[_Outcome], None],
) -> None:
    try:
        outcome = _Outcome(value=context.run(call))
    except BaseException as error:  # noqa: BLE001  # a thread's end: whoever waits for it gets it
        outcome = _Outcome(error=error)
    try:
        loop.call_soon_threadsafe(deliver, outcome)
    except RuntimeError:
        return  # the loop has ended, and nobody waits any more


def _result(outcome: _Outcome) -> Any:
    match outcome.error:
        case None:
            return outcome.value
        case Exception():
            raise outcome.error
        case other:
            # A library in a function may think that it can end the process, or cancel whoever called it.
            raise RuntimeError(f"the function raised {type(other).__name__}").with_traceback(other.__traceback__)


def _too_long(allowance: Allowance) -> TookTooLongError:
    return TookTooLongError(f"The call took longer than {allowance.seconds:g} s, the most that this tool may take")
