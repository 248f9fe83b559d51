"""Listening clients of two replicas, and watches that break, die or become too old under them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, GoneError, Kind, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import Fault, FaultProxy
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.testing.answers import Stream
from mcptasks_server.testing.contract import Hand, new_task, over, until
from mcptasks_server.testing.replicas import Serve, StartReplica
from mcptasks_server.testing.toolbox import Toolbox
from mcptasks_server.testing.wire import Wire

pytestmark = pytest.mark.apiserver

LISTEN: Final = "subscriptions/listen"
TASK: Final = "notifications/tasks"


@asynccontextmanager
async def listening(wire: Wire, *task_ids: str) -> AsyncIterator[Stream]:
    """A stream that has told the present state of each of the tasks."""
    async with wire.stream(LISTEN, {"notifications": {"taskIds": task_ids}}) as stream:
        for _ in task_ids:
            await stream.until(TASK)
        yield stream


async def made_at(replica: Backend) -> str:
    return (await replica.services.tasks.create(new_task(), caller=ANONYMOUS)).metadata.name


async def statuses(stream: Stream) -> list[str]:
    """Of all that was told until the stream's graceful end."""
    answer = await stream.answer()
    assert answer.result["resultType"] == "complete"
    return [params["status"] for params in answer.told(TASK)]


async def test_what_happens_at_one_replica_is_told_at_each(
    start_replica: StartReplica, serve: Serve, hand: Hand
) -> None:
    first, second = await start_replica(), await start_replica()
    task_id = await made_at(first)
    async with (
        listening(await serve(first), task_id) as here,
        listening(await serve(second), task_id) as there,
    ):
        await first.services.tasks.cancel(task_id, caller=ANONYMOUS)
        told = [(await stream.until(TASK))["params"]["statusMessage"] for stream in (here, there)]
        await hand(task_id, over())
        assert await statuses(here) == await statuses(there) == ["working", "working", "completed"]

    assert told == ["cancelling", "cancelling"]


async def test_a_watch_that_is_cut_under_a_stream_loses_nothing(
    start_replica: StartReplica, serve: Serve, hand: Hand, proxy: FaultProxy, proxied: Kube
) -> None:
    replica = await start_replica(proxied)
    task_ids = [await made_at(replica) for _ in range(3)]
    async with listening(await serve(replica), *task_ids) as stream:
        proxy.cut()
        for task_id in task_ids:
            await hand(task_id, over())
        proxy.mend()

        assert sorted(await statuses(stream)) == ["completed"] * 3 + ["working"] * 3


async def test_a_task_that_is_removed_while_the_watch_is_cut_ends_its_stream(
    kube: Kube, namespace: str, start_replica: StartReplica, *, serve: Serve, proxy: FaultProxy, proxied: Kube
) -> None:
    replica = await start_replica(proxied)
    task_id = await made_at(replica)
    async with listening(await serve(replica), task_id) as stream:
        proxy.cut()
        await kube.delete(TASKS, namespace, task_id)
        proxy.mend()

        assert await statuses(stream) == ["working"]


async def test_a_watch_that_has_died_in_silence_is_found_out_though_nobody_reads(
    start_replica: StartReplica, serve: Serve, hand: Hand, proxy: FaultProxy, proxied: Kube
) -> None:
    replica = await start_replica(proxied)
    task_id = await made_at(replica)
    async with listening(await serve(replica), task_id) as stream:
        proxy.muted = "/mcptasks$"
        await hand(task_id, over())

        assert await statuses(stream) == ["working", "completed"]


async def test_a_version_that_is_too_old_is_listed_again_and_the_stream_goes_on(
    kube: Kube, start_replica: StartReplica, serve: Serve, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, watch = asyncio.Event(), kube.watch

    async def watch_that_is_too_old_once(kind: Kind, namespace: str, **query: Any) -> AsyncGenerator[Json, None]:
        async for event in watch(kind, namespace, **query):
            yield event
            if kind is TASKS and not refused.is_set() and event["type"] == "MODIFIED":
                refused.set()
                raise GoneError("too old resource version", status=410)

    monkeypatch.setattr(kube, "watch", watch_that_is_too_old_once)
    replica = await start_replica()
    one, two = await made_at(replica), await made_at(replica)
    async with listening(await serve(replica), one, two) as stream:
        await replica.services.tasks.cancel(one, caller=ANONYMOUS)
        await refused.wait()
        await hand(two, over())
        await hand(one, over())

        assert sorted(await statuses(stream))[:2] == ["completed", "completed"]


async def test_a_tool_that_is_found_ready_is_told_at_every_replica(
    start_replica: StartReplica, serve: Serve, toolbox: Toolbox
) -> None:
    wires = [await serve(await start_replica()) for _ in range(2)]
    async with (
        wires[0].stream(LISTEN, {"notifications": {"toolsListChanged": True}}) as here,
        wires[1].stream(LISTEN, {"notifications": {"toolsListChanged": True}}) as there,
    ):
        for stream in (here, there):
            await stream.until("notifications/subscriptions/acknowledged")
        await toolbox.judge(await toolbox.make("new"))
        for stream, wire in ((here, wires[0]), (there, wires[1])):
            await stream.until("notifications/tools/list_changed")
            listed = (await wire.call("tools/list")).result["tools"]
            assert "new" in [tool["name"] for tool in listed]


async def test_a_request_is_cancelled_at_a_replica_that_has_not_seen_its_task(
    start_replica: StartReplica, proxy: FaultProxy, proxied: Kube
) -> None:
    maker, other = await start_replica(), await start_replica(proxied)
    proxy.muted = "/mcptasks$"  # what the other one knows, it has asked the API server for
    task_id = (await maker.services.tasks.create(new_task(request_key="k"), caller=ANONYMOUS)).metadata.name

    await other.services.tasks.cancel_request("k", caller=ANONYMOUS)

    await until(maker.services.tasks, task_id, lambda task: task is not None and task.spec.cancel_requested)


async def test_a_request_is_cancelled_though_its_task_is_only_then_being_made_elsewhere(
    start_replica: StartReplica, proxy: FaultProxy, proxied: Kube
) -> None:
    maker, other = await start_replica(proxied), await start_replica()
    await other.services.tasks.cancel_request("k", caller=ANONYMOUS)
    proxy.add(Fault(method="POST", path="/mcptasks$", lose_answer=True))

    task_id = (await maker.services.tasks.create(new_task(request_key="k"), caller=ANONYMOUS)).metadata.name

    await until(maker.services.tasks, task_id, lambda task: task is not None and task.spec.cancel_requested)


async def test_a_list_is_whole_while_the_watch_is_late(
    kube: Kube, namespace: str, start_replica: StartReplica, proxy: FaultProxy, proxied: Kube
) -> None:
    maker, late = await start_replica(), await start_replica(proxied)
    gone, kept = await made_at(late), await made_at(late)
    proxy.muted = "/mcptasks$"
    await kube.delete(TASKS, namespace, gone)
    new = await made_at(maker)
    await maker.services.tasks.cancel(new, caller=ANONYMOUS)
    # It learns, by a write of its own, that there is something which its watch should have shown by now.
    await late.services.tasks.cancel(kept, caller=ANONYMOUS)

    async def shows_all() -> bool:
        shown = await late.services.tasks.list(caller=ANONYMOUS)
        return {task.metadata.name: task.spec.cancel_requested for task in shown} == {new: True, kept: True}

    await eventually(shows_all, what="the list is what it is at the API server")
