"""A blocked event loop is told, with the place where it stands."""

import asyncio
import threading

from structlog.testing import capture_logs

from mcptasks_crds.watchdog import Watchdog
from mcptasks_devcluster.eventually import eventually


def stand_still(until: threading.Event) -> None:
    """Block whoever calls this."""
    assert until.wait(10)


async def test_a_blocked_loop_is_told_once_with_its_stack() -> None:
    noticed = threading.Event()
    watchdog = Watchdog(on_block=noticed.set, blocked_seconds=0.05)

    with capture_logs() as logs, watchdog.watching():
        stand_still(noticed)

        async def runs_again() -> bool:
            return len(logs) == 2

        await eventually(runs_again, what="the loop runs again")

    blocked, again = logs
    assert blocked["event"] == "the event loop is blocked"
    assert any(place.startswith("stand_still (") for place in blocked["stack"])
    assert again["event"] == "the event loop runs again"


async def test_a_loop_that_waits_is_not_blocked() -> None:
    blocks: list[None] = []
    watchdog = Watchdog(on_block=lambda: blocks.append(None), blocked_seconds=0.1)

    with watchdog.watching():
        await asyncio.sleep(0.3)

    assert not blocks
    assert "mcptasks-watchdog" not in {thread.name for thread in threading.enumerate()}


class LateClearing(threading.Event):
    """Forgets that it was set only when the watchdog has been told to end: the worst moment."""

    def __init__(self, told_to_end: threading.Event) -> None:
        super().__init__()
        self.begins_to_clear = threading.Event()
        self._told_to_end = told_to_end

    def clear(self) -> None:
        self.begins_to_clear.set()
        assert self._told_to_end.wait(10)
        while not self.is_set():  # it is set right after, by the thread that ends the watchdog
            self.wait(1)
        super().clear()


async def test_it_ends_whenever_it_is_told_to() -> None:
    blocks: list[None] = []
    watchdog = Watchdog(on_block=lambda: blocks.append(None), blocked_seconds=0.05)
    watchdog._opened = opened = LateClearing(watchdog._stop)

    with watchdog.watching():
        assert await asyncio.to_thread(opened.begins_to_clear.wait, 10)

    assert not blocks
