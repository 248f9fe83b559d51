"""An operator that is told to stop lets another act before its own watches have ended; one that must stop says why."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from mcptasks_operator import service
from mcptasks_operator.errors import LeadershipLostError
from mcptasks_operator.leadership import Alone, Leadership
from mcptasks_operator.service import Operator
from mcptasks_operator.settings import Settings
from mcptasks_operator.testing.cluster import FakeCluster


@dataclass
class Right(Alone):
    """The right to act, from the beginning on."""

    leads: asyncio.Event = field(default_factory=asyncio.Event)
    keeps: bool = False
    given_up: asyncio.Event = field(default_factory=asyncio.Event)
    kept_then: bool | None = None

    async def run(self) -> None:
        self.keeps = True
        self.leads.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.keeps = False

    async def acquired(self) -> None:
        await self.leads.wait()

    async def give_up(self) -> None:
        if self.kept_then is None:
            self.kept_then = self.keeps
        self.given_up.set()


class Installation:
    """An installation that needs nothing."""

    def __init__(self, **_: Any) -> None:
        pass

    async def until_mended(self, _: Any) -> None:
        pass

    async def keep_rights(self, _: Any) -> None:
        await asyncio.Event().wait()


class EventWatch(Installation):
    """Events that never come."""

    async def run(self) -> None:
        await asyncio.Event().wait()


def operator_with(
    right: Leadership, watch: Callable[..., Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> Operator:
    """An operator with these watches, and nothing around it."""
    monkeypatch.setattr(service, "watch", watch)
    monkeypatch.setattr(service, "SelfCheck", Installation)
    monkeypatch.setattr(service, "EventWatch", EventWatch)
    settings = Settings(namespace="ns", host="127.0.0.1", port=0)
    return Operator(settings=settings, kube=None, cluster=FakeCluster(), leadership=right)  # type: ignore[arg-type]


class Lost(Alone):
    """A right to act that is lost at once."""

    async def run(self) -> None:
        raise LeadershipLostError("another may be acting")


async def test_one_that_has_lost_its_right_ends_with_that_error_and_nothing_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def watch(**_: Any) -> None:
        await asyncio.Event().wait()

    operator = operator_with(Lost(), watch, monkeypatch)

    with pytest.raises(LeadershipLostError, match="another may be acting"):
        await asyncio.wait_for(operator.run(asyncio.Event()), timeout=10)


async def test_the_right_is_given_up_while_the_watches_still_end(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Right()

    async def watch(**_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.wait_for(right.given_up.wait(), timeout=5)

    operator = operator_with(right, watch, monkeypatch)
    stopping = asyncio.Event()
    running = asyncio.create_task(operator.run(stopping))
    await asyncio.wait_for(right.leads.wait(), timeout=5)

    stopping.set()
    await asyncio.wait_for(running, timeout=10)

    assert right.given_up.is_set()
    assert right.kept_then is False, "nothing renews it any more"
