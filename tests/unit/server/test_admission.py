"""Whether there is room for one task more."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.cluster.admission import Admission
from mcptasks_server.errors import LimitReachedError
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import new_task
from mcptasks_server.testing.wire import Wire


class Counted:
    """So many tasks, all of one tool."""

    def __init__(self, *, kept: int, live: int) -> None:
        self.kept, self.live = kept, live

    def __len__(self) -> int:
        return self.kept

    def live_of(self, tool: str) -> int:
        return self.live if tool == "add" else 0


@pytest.mark.parametrize(
    ("kept", "live", "running", "queued", "limit"),
    [
        (9, 9, None, None, None),
        (10, 0, None, None, "tasks.maxKept"),
        (3, 2, 1, 2, None),
        (3, 3, 1, 2, "limits.queued"),
        (3, 0, 1, 0, None),
        (3, 1, 1, 0, "limits.queued"),
    ],
)
def test_the_limit_that_is_reached_is_named(
    kept: int, live: int, running: int | None, queued: int | None, limit: str | None
) -> None:
    admission = Admission(Counted(kept=kept, live=live), max_tasks=10)
    new = new_task(running_limit=running, queued_limit=queued)

    if limit is None:
        with admission.of(new):
            return
    with pytest.raises(LimitReachedError, match=str(limit)) as refused, admission.of(new):
        pass
    assert refused.value.data is not None
    assert refused.value.data["limit"] == limit


@given(st.integers(1, 5), st.integers(0, 5), st.integers(0, 20))
async def test_calls_of_one_moment_are_counted_before_any_of_them_is_seen(
    running: int, queued: int, calls: int
) -> None:
    admission, gate = Admission(Counted(kept=0, live=0), max_tasks=8), asyncio.Event()

    async def call() -> bool:
        try:
            with admission.of(new_task(running_limit=running, queued_limit=queued)):
                await gate.wait()
        except LimitReachedError:
            return False
        return True

    under_way = [asyncio.create_task(call()) for _ in range(calls)]
    await asyncio.sleep(0)
    gate.set()

    assert sum(await asyncio.gather(*under_way)) == min(calls, running + queued, 8)
    with admission.of(new_task(running_limit=running, queued_limit=queued)):
        pass  # what was refused or is done takes no room


async def test_a_client_is_told_which_limit_and_that_it_may_try_again(wire: Wire, store: InMemoryTaskStore) -> None:
    store.max_tasks = 1
    await wire.call("tools/call", {"name": "echo"})

    refused = await wire.call("tools/call", {"name": "echo"})

    assert refused.error == (200, -32603)
    assert refused.body["error"]["data"] == {"reason": "TooManyTasks", "limit": "tasks.maxKept"}
    assert refused.message == (
        "1 tasks are kept, and no more than 1 may be (the server's tasks.maxKept): "
        "please try again when some of them have gone"
    )
    assert len(store.objects) == 1
