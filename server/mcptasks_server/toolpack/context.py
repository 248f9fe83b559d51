"""What a function of a pack can do with its request: tell how far it is, log, ask, know its caller.

An async function annotates a parameter with `Context`, a sync one with `BlockingContext`; no client sees that one.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from mcp_types import CreateMessageResultWithTools, ElicitResult, ListRootsResult, LoggingLevel
from pydantic import BaseModel

from mcptasks_server import progress
from mcptasks_server.caller import Caller
from mcptasks_server.exchange import Abilities, Exchange

from .allowance import Allowance
from .errors import CallEndedError
from .requests import Answer, ClientRequest, Elicitation, Roots, Sampling

T = TypeVar("T")
PROGRESS_SECONDS: Final = 1.0
"""How long a report waits for the one before it to be sent. After that it takes its place."""


class _Shared:
    """What both kinds of context know without asking anybody."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @property
    def caller(self) -> Caller:
        """Who calls."""
        return self._exchange.caller

    @property
    def abilities(self) -> Abilities:
        """What the client can do: `elicitation`, `sampling`, `roots`, and all that it declared."""
        return self._exchange.abilities


class Context(_Shared):
    """A request, for an async function."""

    def __init__(self, exchange: Exchange, allowance: Allowance) -> None:
        super().__init__(exchange)
        self._allowance = allowance
        self._has_ended = False

    @property
    def has_ended(self) -> bool:
        """Whether the call is over: it took too long, or its client has gone."""
        return self._has_ended

    async def progress(self, progress_so_far: float, *, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call is. The value must rise; what does not is passed over.

        Raises:
            CallEndedError: the call is over.
        """
        self._check()
        self._exchange.progress.report(progress_so_far, total=total, message=message)
        if self._exchange.progress.is_wanted:
            # Each report is worth its own message, unless the client does not read.
            with suppress(TimeoutError):
                async with asyncio.timeout(PROGRESS_SECONDS):
                    await self._exchange.outbox.sent(progress.SLOT)

    async def log(self, level: LoggingLevel, data: Any, *, logger: str | None = None) -> None:
        """Send the client a log message: `data` is anything that JSON has.

        Raises:
            CallEndedError: the call is over.
        """
        self._check()
        await self._exchange.log(level, data, logger=logger)

    async def ask(self, requests: Mapping[str, ClientRequest]) -> dict[str, Answer]:
        """Ask the client, all at once; gives the answer for each key. The call's time stands still meanwhile.

        A client that can retry is answered with the requests, and calls again with their answers: **the function then
        runs again from its top**, and this returns at once. So whatever stands before it runs once more each time, and
        a key names one question for the whole call: another question needs another key.

        Raises:
            CallEndedError: the call is over.
            RpcError: the client cannot take one of these requests; let it pass, the client is told which.
            InputRequired: the answers come with the retry; let it pass.
        """
        self._check()
        with self._allowance.paused():
            answers = await self._exchange.ask({key: each.request() for key, each in requests.items()})
        return {key: _typed(each, answers[key]) for key, each in requests.items()}

    async def elicit(self, key: str, message: str, schema: Mapping[str, Any] | type[BaseModel]) -> ElicitResult:
        """Put one form before the person (see `ask`). Look at the answer's `action` first: it may be a refusal."""
        answer = (await self.ask({key: Elicitation(message=message, schema=schema)}))[key]
        assert isinstance(answer, ElicitResult)
        return answer

    async def sample(self, key: str, prompt: str, *, max_tokens: int, **options: Any) -> CreateMessageResultWithTools:
        """Ask the client's model one thing (see `ask`)."""
        answer = (await self.ask({key: Sampling(messages=prompt, max_tokens=max_tokens, options=options)}))[key]
        assert isinstance(answer, CreateMessageResultWithTools)
        return answer

    async def roots(self, key: str = "roots") -> ListRootsResult:
        """Ask which folders the client has opened to the server (see `ask`)."""
        answer = (await self.ask({key: Roots()}))[key]
        assert isinstance(answer, ListRootsResult)
        return answer

    def end(self) -> None:
        """Send nothing more. For the one that runs the function."""
        self._has_ended = True

    def _check(self) -> None:
        if self._has_ended:
            raise CallEndedError("the call is over: nothing more can be sent to its client")


class BlockingContext(_Shared):
    """A request, for a sync function: the same, and each method waits in the function's own thread."""

    def __init__(self, context: Context, exchange: Exchange, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(exchange)
        self._context, self._loop = context, loop
        self._waiting: set[concurrent.futures.Future[Any]] = set()

    @property
    def has_ended(self) -> bool:
        """Whether the call is over. A thread cannot be stopped: a long loop looks here, and returns."""
        return self._context.has_ended

    def progress(self, progress_so_far: float, *, total: float | None = None, message: str | None = None) -> None:
        """See `Context.progress`."""
        self._wait(lambda: self._context.progress(progress_so_far, total=total, message=message))

    def log(self, level: LoggingLevel, data: Any, *, logger: str | None = None) -> None:
        """See `Context.log`."""
        self._wait(lambda: self._context.log(level, data, logger=logger))

    def ask(self, requests: Mapping[str, ClientRequest]) -> dict[str, Answer]:
        """See `Context.ask`. The thread is taken until the answers are there: better ask in an async function."""
        return self._wait(lambda: self._context.ask(requests))

    def elicit(self, key: str, message: str, schema: Mapping[str, Any] | type[BaseModel]) -> ElicitResult:
        """See `Context.elicit`."""
        return self._wait(lambda: self._context.elicit(key, message, schema))

    def sample(self, key: str, prompt: str, *, max_tokens: int, **options: Any) -> CreateMessageResultWithTools:
        """See `Context.sample`."""
        return self._wait(lambda: self._context.sample(key, prompt, max_tokens=max_tokens, **options))

    def roots(self, key: str = "roots") -> ListRootsResult:
        """See `Context.roots`."""
        return self._wait(lambda: self._context.roots(key))

    def end(self) -> None:
        """Wake the thread where it waits, and send nothing more."""
        self._context.end()
        for future in tuple(self._waiting):
            future.cancel()

    def _wait(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._context._check()
        future = asyncio.run_coroutine_threadsafe(call(), self._loop)
        self._waiting.add(future)
        try:
            if self.has_ended:  # it ended between the two: nobody else would wake this thread
                future.cancel()
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise CallEndedError("the call is over: nothing more can be sent to its client") from error
        finally:
            self._waiting.discard(future)


def _typed(request: ClientRequest, answer: Any) -> Answer:
    return answer if isinstance(answer, request.answer) else request.answer.model_validate(answer)
