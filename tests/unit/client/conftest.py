"""A server double for each test, and a clock that only moves when somebody sleeps."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from mcptasks.client import TasksClient
from mcptasks.testing import FakeServer


@dataclass
class Clock:
    """Time that passes by sleeping alone."""

    now: float = 1000.0
    sleeps: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a proxy nor a server of the developer's own takes part."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "MCPTASKS_SERVER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def client(server: FakeServer, clock: Clock) -> AsyncIterator[TasksClient]:
    async with TasksClient(server.url, sleep=clock.sleep, clock=clock, patience_seconds=60) as client:
        yield client
