"""The same for async programs: `from mcptasks.job.aio import task`.

What waits (`ask`, `confirm`, `add`, `complete`) is to be awaited; everything else never waits and is the same. Requests
run in threads, so the event loop goes on meanwhile.
"""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar, overload

from . import task as process_task
from .fields import Field
from .parts import Part, Source
from .tasks import Task, abandoned

T = TypeVar("T")

__all__ = ["AsyncTask", "task"]


class AsyncTask:
    """A task, for coroutines. See `mcptasks.job.Task` for what each does."""

    def __init__(self, of: Task) -> None:
        self._task = of

    @property
    def id(self) -> str | None:
        """The task's id."""
        return self._task.id

    @property
    def tool(self) -> str | None:
        """The tool's name."""
        return self._task.tool

    @property
    def arguments(self) -> dict[str, Any]:
        """The call's arguments."""
        return self._task.arguments

    def arguments_as(self, model: type[T]) -> T:
        """The arguments as a dataclass or pydantic model."""
        return self._task.arguments_as(model)

    @property
    def answers(self) -> dict[str, Any]:
        """The answers to what the tool asked before it started."""
        return self._task.answers

    @property
    def cancelled(self) -> bool:
        """Whether the task is being stopped."""
        return self._task.cancelled

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is; never waits."""
        self._task.progress(progress, total, message)

    @overload
    def track(self, items: Iterable[T], message: str | None = None, *, total: float | None = None) -> Iterator[T]: ...
    @overload
    def track(
        self, items: AsyncIterable[T], message: str | None = None, *, total: float | None = None
    ) -> AsyncIterator[T]: ...
    def track(
        self, items: Iterable[T] | AsyncIterable[T], message: str | None = None, *, total: float | None = None
    ) -> Iterator[T] | AsyncIterator[T]:
        """Give one item after the other, and tell how many are done."""
        if isinstance(items, AsyncIterable):
            return self._track(items, message, total)
        return self._task.track(items, message, total=total)

    async def _track(self, items: AsyncIterable[T], message: str | None, total: float | None) -> AsyncIterator[T]:
        done = 0
        self.progress(done, total, message)
        async for item in items:
            yield item
            done += 1
            self.progress(done, None if total is None or done > total else total, message)

    @overload
    async def ask(
        self,
        message: str,
        form: Field[T],
        *,
        key: str | None = None,
        model_may_answer: bool = False,
        expiry_seconds: int | None = None,
    ) -> T: ...
    @overload
    async def ask(
        self,
        message: str,
        form: Mapping[str, Field[Any]],
        *,
        key: str | None = None,
        model_may_answer: bool = False,
        expiry_seconds: int | None = None,
    ) -> dict[str, Any]: ...
    async def ask(self, message: str, form: Any, **how: Any) -> Any:
        """Ask the person at the client, and wait for the answer."""
        return await in_thread(partial(self._task.ask, message, form, **how))

    async def confirm(self, message: str, **how: Any) -> bool:
        """Ask for a yes; everything else is a no."""
        return await in_thread(partial(self._task.confirm, message, **how))

    async def add(self, *added: Part | str) -> None:
        """Put parts into the result already now."""
        await in_thread(partial(self._task.add, *added))

    async def complete(
        self,
        text: str | None = None,
        *,
        structured: Any = None,
        images: Sequence[Source | Part] = (),
        files: Sequence[Source | Part] = (),
        parts: Sequence[Part] = (),
        is_error: bool = False,
    ) -> None:
        """Give the result, and with it end the task."""
        give = partial(self._task.complete, text, structured=structured, images=images, files=files, parts=parts)
        await in_thread(partial(give, is_error=is_error))

    def run(self, main: Callable[..., Any]) -> NoReturn:
        """Run a function, async or not, give what it returns as the result, and end the process."""
        self._task.run(main)


async def in_thread(work: Callable[[], T]) -> T:
    """Do it in a thread that nobody has to wait for: one that is given up ends by itself, at the next occasion."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    given_up = threading.Event()
    context = contextvars.copy_context()
    context.run(abandoned.set, given_up)

    def tell(tell_it: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            tell_it(value)

    def run() -> None:
        try:
            value = context.run(work)
        except BaseException as error:  # noqa: BLE001  # a thread's end: whoever waits for it gets it
            outcome: tuple[Callable[[Any], None], Any] = (done.set_exception, error)
        else:
            outcome = (done.set_result, value)
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, *outcome)

    threading.Thread(target=run, daemon=True).start()
    try:
        return await done
    finally:
        given_up.set()


task = AsyncTask(process_task)
"""The task of this process."""
