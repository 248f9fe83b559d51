"""How long one call of a function may take. The time stands still while the client is asked."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress


class Allowance:
    """The time of one call."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._timeout: asyncio.Timeout | None = None
        self._pauses = 0
        self._left = seconds

    @property
    def is_over(self) -> bool:
        """Whether the time ran out."""
        return self._timeout is not None and self._timeout.expired()

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Let what stands inside take that long.

        Raises:
            TimeoutError: it took longer.
        """
        async with asyncio.timeout(self.seconds) as self._timeout:
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time stand still: until the last of those that asked for it is through."""
        if not self._pauses and self._timeout is not None:
            self._left = (self._timeout.when() or 0.0) - asyncio.get_running_loop().time()
            self._reschedule(None)
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._reschedule(asyncio.get_running_loop().time() + self._left)

    def _reschedule(self, when: float | None) -> None:
        # asyncio refuses it once the limit was reached or left: this is the rest of a call that is over.
        if self._timeout is not None:
            with suppress(RuntimeError):
                self._timeout.reschedule(when)
