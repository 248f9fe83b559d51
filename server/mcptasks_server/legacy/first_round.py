"""What a legacy client is asked on its call's stream before there is a task."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcptasks_crds.forms import action_of
from mcptasks_server.exchange import InputRequest

from .server_requests import TaskQuestion

if TYPE_CHECKING:
    from .exchange import LegacyExchange

BEAT_SECONDS: Final = 20.0
"""After this long without an answer a sign of life is sent."""


@dataclass(frozen=True, kw_only=True)
class FirstRound:
    """Questions that one call puts, under the name of the task that it will make."""

    exchange: "LegacyExchange"
    requests: Mapping[str, InputRequest]
    task_id: str

    async def answers(self, *, seconds: float, stopping: asyncio.Event) -> Mapping[str, str]:
        """The answers that came in time, as JSON text."""
        if seconds <= 0:
            return {}  # the task asks at once
        ids: dict[str, str] = {}
        with ExitStack() as waiting:
            expected = {key: waiting.enter_context(self._expecting(key)) for key in self.requests}
            loop = asyncio.get_running_loop()
            until = loop.time() + seconds
            stop, again = loop.create_task(stopping.wait()), loop.create_task(self.exchange.wants_a_look())
            try:
                while True:
                    await self._put(expected, ids)
                    left = until - loop.time()
                    if _is_enough(expected) or left <= 0 or stop.done():
                        break
                    news: list[asyncio.Future[Any]] = [stop, again]
                    news += [answer for answer in expected.values() if not answer.done()]
                    await asyncio.wait(news, timeout=min(left, BEAT_SECONDS), return_when=asyncio.FIRST_COMPLETED)
                    self.exchange.progress.beat("waiting for an answer")
                    if again.done():
                        again = loop.create_task(self.exchange.wants_a_look())
            finally:
                for each in (stop, again):
                    each.cancel()
                await asyncio.gather(stop, again, return_exceptions=True)
            given = {key: answer.result() for key, answer in expected.items() if answer.done()}
        await self._take_back(given, ids)
        return given

    def _question(self, key: str) -> TaskQuestion:
        return TaskQuestion(task_id=self.task_id, key=key, is_first=True)

    def _expecting(self, key: str) -> AbstractContextManager[asyncio.Future[str]]:
        form = (self.requests[key].params or {})["requestedSchema"]
        return self.exchange.replica.server_requests.expecting_first(
            self._question(key), requested_schema=json.dumps(form)
        )

    async def _put(self, expected: Mapping[str, asyncio.Future[str]], ids: dict[str, str]) -> None:
        """Put those that were not put yet, or whose answer could not be taken."""
        for key, request in self.requests.items():
            if not expected[key].done() and self.exchange.asked.is_new(key):
                ids[key] = await self.exchange.put_for_task(self._question(key), request)

    async def _take_back(self, given: Mapping[str, str], ids: Mapping[str, str]) -> None:
        """What nobody waits for any more, or the task asks anew on the stream of its result."""
        reason = "another question was declined" if any(map(_is_no, given.values())) else "the task asks it"
        if self.exchange.abilities.wants_task or any(map(_is_no, given.values())):
            for key in self.requests.keys() - given.keys():
                await self.exchange.take_back(ids[key], reason)


def _is_enough(expected: Mapping[str, asyncio.Future[str]]) -> bool:
    return all(answer.done() for answer in expected.values()) or any(
        answer.done() and _is_no(answer.result()) for answer in expected.values()
    )


def _is_no(answer: str) -> bool:
    return action_of(answer) != "accept"
