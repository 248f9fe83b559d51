"""What is under way is counted by door and phase, and nothing of a request is left when it has ended."""

import gc
import re
from collections import Counter
from contextlib import AbstractAsyncContextManager

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.app import create_metrics_app
from mcptasks_server.contexts import Contexts
from mcptasks_server.dispatch import Services
from mcptasks_server.metrics import Metrics
from mcptasks_server.operations import Door, Operations, Phase
from mcptasks_server.outbox import Outbox
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.answers import Stream
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import Wire

NOTHING = Counter[tuple[Door, Phase]]()


async def comes_to(operations: Operations, active: Counter[tuple[Door, Phase]]) -> None:
    """Wait until this is under way, and nothing else."""

    async def is_so() -> bool:
        return operations.look().active == active

    await eventually(is_so, what=f"{dict(active)} is under way")


async def counted_while_open(
    stream: AbstractAsyncContextManager[Stream], operations: Operations, door: Door, phase: Phase
) -> None:
    async with stream:
        await comes_to(operations, Counter({(door, phase): 1}))
    await comes_to(operations, NOTHING)


async def test_a_held_call_is_counted_until_its_client_goes(wire: Wire, services: Services) -> None:
    stream = wire.stream("tools/call", {"name": "patient"}, capabilities={})

    await counted_while_open(stream, services.operations, Door.PLAIN, Phase.HELD)


async def test_a_held_call_is_counted_until_its_answer(
    wire: Wire, services: Services, store: InMemoryTaskStore
) -> None:
    async with wire.stream("tools/call", {"name": "patient"}, capabilities={}) as stream:
        await comes_to(services.operations, Counter({(Door.PLAIN, Phase.HELD): 1}))
        await store.write_status(next(iter(store.objects)), over())
        await stream.answer()
        await comes_to(services.operations, NOTHING)


async def test_a_listening_client_is_counted(wire: Wire, services: Services) -> None:
    task = (await wire.call("tools/call", {"name": "required"})).result["taskId"]
    stream = wire.stream("subscriptions/listen", {"notifications": {"taskIds": [task]}})

    await counted_while_open(stream, services.operations, Door.EXTENSION, Phase.LISTEN)


async def test_a_client_that_listens_for_tools_has_no_task(wire: Wire, services: Services) -> None:
    stream = wire.stream("subscriptions/listen", {"notifications": {"toolsListChanged": True}})

    await counted_while_open(stream, services.operations, Door.PLAIN, Phase.LISTEN)


async def test_a_companion_that_waits_is_counted_apart_from_packs(wire: Wire, services: Services) -> None:
    task = (await wire.call("tools/call", {"name": "required"})).result["taskId"]
    stream = wire.stream("tools/call", {"name": "task_get", "arguments": {"taskId": task}}, capabilities={})

    await counted_while_open(stream, services.operations, Door.PLAIN, Phase.COMPANION)


async def test_a_legacy_client_that_waits_for_a_result_is_counted(wire: Wire, services: Services) -> None:
    client = await LegacyWire.connected(wire)
    task = (await client.call("tools/call", {"name": "required", "task": {}})).result["task"]["taskId"]
    stream = client.stream("tasks/result", {"taskId": task})

    await counted_while_open(stream, services.operations, Door.LEGACY_TASK, Phase.RESULT)


async def test_what_is_under_way_is_shown_by_metrics(wire: Wire, services: Services) -> None:
    metrics = Metrics()
    metrics.look_at(services.operations)
    async with TestServer(create_metrics_app(metrics), host="127.0.0.1") as server, aiohttp.ClientSession() as session:

        async def shown() -> str:
            async with session.get(server.make_url("/metrics")) as response:
                return await response.text()

        async with wire.stream("tools/call", {"name": "patient"}, capabilities={}):
            await comes_to(services.operations, Counter({(Door.PLAIN, Phase.HELD): 1}))
            during = await shown()
        await comes_to(services.operations, NOTHING)
        after = await shown()

    held = 'mcptasks_server_active_operations{door="plain",phase="held"}'
    assert f"{held} 1.0" in during
    assert re.search(r"mcptasks_server_progress_age_seconds \d", during)
    assert f"{held} 0.0" in after
    assert "mcptasks_server_progress_age_seconds 0.0" in after
    assert "mcptasks_server_contexts_left 0.0" in after


async def test_the_age_of_progress_is_that_of_the_client_that_waits_longest(
    wire: Wire, store: InMemoryTaskStore, services: Services
) -> None:
    now = 0.0
    services.operations._clock = lambda: now
    async with (
        wire.stream("tools/call", {"name": "patient"}, capabilities={}),
        wire.stream("tools/call", {"name": "forbidden"}, capabilities={}),
    ):
        await comes_to(services.operations, Counter({(Door.PLAIN, Phase.HELD): 2}))
        await eventually(lambda: are_watched(store, 2), what="both are followed")
        now = 7.0
        first, second = store.objects

        await store.write_status(first, {"phase": "Running"})
        assert services.operations.look().progress_age_seconds == 7.0

        await store.write_status(second, {"phase": "Running"})
        await eventually(lambda: are_told(services.operations), what="both are told")


async def are_watched(store: InMemoryTaskStore, number: int) -> bool:
    return len(store.objects) == number and len(store.watches) == number


async def are_told(operations: Operations) -> bool:
    return operations.look().progress_age_seconds == 0.0


@pytest.fixture
def contexts() -> Contexts:
    """What has ended, by a clock that stands at 100."""
    return Contexts(clock=lambda: 100.0)


def test_what_nobody_keeps_is_gone_at_once(contexts: Contexts) -> None:
    gc.disable()  # without the help of a collection
    try:
        contexts.ended(Outbox())
        assert contexts.left(seconds=0) == 0
    finally:
        gc.enable()


def test_what_somebody_keeps_is_found(contexts: Contexts) -> None:
    kept = Outbox()

    contexts.ended(kept)

    assert contexts.left(seconds=0) == 1
    assert contexts.left(seconds=60) == 0  # it has its time yet
    del kept
    assert contexts.left(seconds=0) == 0


def test_an_outbox_does_not_keep_whoever_it_calls_back() -> None:
    class Stream:
        def __init__(self) -> None:
            self.outbox = Outbox(on_begin=self.begin)

        def begin(self) -> None:
            pass

    contexts, stream = Contexts(), Stream()
    gc.disable()
    try:
        stream.outbox.close()
        contexts.ended(stream.outbox)
        del stream
        assert contexts.left(seconds=0) == 0
    finally:
        gc.enable()
