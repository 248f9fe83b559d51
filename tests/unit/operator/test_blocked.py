"""An operator whose event loop is blocked says so, and where: nothing inside the loop could."""

import asyncio
import time
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from mcptasks_operator import service
from mcptasks_operator.leadership import Alone
from mcptasks_operator.service import Operator
from mcptasks_operator.settings import Settings
from mcptasks_operator.testing.cluster import FakeCluster

MOST_SECONDS = 10


def blocks(registry: CollectorRegistry) -> float:
    return registry.get_sample_value("mcptasks_operator_loop_blocks_total") or 0.0


def stand_still(registry: CollectorRegistry) -> None:
    """Block whoever calls this until that was counted."""
    began = time.monotonic()
    while not blocks(registry) and time.monotonic() < began + MOST_SECONDS:
        time.sleep(0.01)


async def test_a_blocked_loop_is_logged_with_its_place_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = asyncio.Event()

    class Blocking:
        """An installation whose look does not give the loop back."""

        def __init__(self, **_: Any) -> None:
            pass

        async def until_mended(self, _: Any) -> None:
            stand_still(operator.metrics.registry)
            stopping.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(service, "SelfCheck", Blocking)
    settings = Settings(namespace="ns", host="127.0.0.1", port=0)
    operator = Operator(settings=settings, kube=None, cluster=FakeCluster(), leadership=Alone())  # type: ignore[arg-type]
    with capture_logs() as logs:
        await asyncio.wait_for(operator.run(stopping), timeout=3 * MOST_SECONDS)

    (blocked,) = (line for line in logs if line["event"] == "the event loop is blocked")
    assert any(place.startswith("stand_still (") for place in blocked["stack"])
    assert blocks(operator.metrics.registry) == 1
