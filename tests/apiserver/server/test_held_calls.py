"""Held calls at two replicas: begun at one, gone on with at the other, cut at every point."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from mcptasks_crds.kube import TASKS, Kube
from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import Fault, FaultProxy
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.signing import Signer
from mcptasks_server.testing.answers import Stream
from mcptasks_server.testing.background import CountingBackground
from mcptasks_server.testing.contract import Hand, over
from mcptasks_server.testing.replicas import Serve, StartReplica
from mcptasks_server.testing.toolbox import Toolbox
from mcptasks_server.testing.wire import WITH_TASKS, Wire

pytestmark = pytest.mark.apiserver

FIELD: Final = "mcptasks.dev/idempotency-key"
KEY: Final = {FIELD: "one"}
TOKEN: Final = {"progressToken": "t"}
FORMS: Final[dict[str, Any]] = {"elicitation": {}}
SURE: Final = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
ASK: Final = {"key": "sure", "message": "Sure?", "when": "beforeStart", "requestedSchema": SURE}
YES: Final = {"action": "accept", "content": {"sure": True}}
CREATE, PATCH = "/mcptasks$", "/mcptasks/mt-[a-z2-7]+$"


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One that listens."""

    backend: Backend
    background: CountingBackground
    wire: Wire

    def held(self, *, key: bool = False) -> AbstractAsyncContextManager[Stream]:
        """A held call, as a client that knows no tasks makes it."""
        meta = TOKEN | (KEY if key else {})
        return self.wire.stream("tools/call", {"name": "held"}, capabilities={}, meta=meta)

    async def settled(self) -> None:
        """Wait until it has noticed that a call was cut, and has done what there is to do."""

        async def has_settled() -> bool:
            return self.background.has_settled

        await eventually(has_settled, what="nothing is left to do")


Start = Callable[..., Awaitable[Replica]]


@pytest.fixture
def start(start_replica: StartReplica, serve: Serve, toolbox: Toolbox) -> Start:
    """Starts replicas that share their key, and wait for no cut call; each knows the tools."""
    signer = Signer.ephemeral()
    tools: list[str] = []

    async def start(connection: Kube | None = None, *, survives: float = 0.0, signer: Signer = signer) -> Replica:
        if not tools:
            tools.extend(("asks", "held", "quick"))
            await toolbox.judge(await toolbox.make("held"))
            await toolbox.judge(await toolbox.make("quick", holdSeconds=1))
            await toolbox.judge(await toolbox.make("asks", questions=[ASK]))
        backend = await start_replica(connection)
        background = CountingBackground(survives_seconds=survives)
        backend.services = replace(backend.services, signer=signer, background=background)

        async def knows() -> bool:
            return [tool.name for tool in backend.services.catalogue.tools()] == tools

        await eventually(knows, what="the replica knows the tools")
        return Replica(backend=backend, background=background, wire=await serve(backend))

    return start


@pytest.fixture
def tasks(kube: Kube, namespace: str) -> Callable[[], Awaitable[list[McpTask]]]:
    """All tasks as the API server has them."""

    async def tasks() -> list[McpTask]:
        return [McpTask.model_validate(each) for each in (await kube.list(TASKS, namespace))["items"]]

    return tasks


@pytest.fixture
def only_task(tasks: Callable[[], Awaitable[list[McpTask]]]) -> Callable[[], Awaitable[McpTask]]:
    """The one task, once there is one."""

    async def find() -> McpTask:
        [task] = await eventually(tasks, what="there is a task")
        return task

    return find


Find = Callable[[], Awaitable[McpTask]]


async def cancelled(find: Find) -> None:
    async def is_cancelled() -> bool:
        return (await find()).spec.cancel_requested

    await eventually(is_cancelled, what="the task is cancelled")


@pytest.mark.requirement("failures/f3-13")
async def test_a_cut_call_is_taken_up_at_the_other_replica(start: Start, only_task: Find, hand: Hand) -> None:
    first, second = await start(), await start()
    async with first.held(key=True) as cut:
        await cut.until("notifications/progress")
        async with second.held(key=True) as again:
            await again.until("notifications/progress")
            cut.close()
            await first.settled()
            assert not (await only_task()).spec.cancel_requested
            await hand((await only_task()).metadata.name, over())
            answer = await again.answer()

    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]
    assert not (await only_task()).spec.cancel_requested


async def test_a_cut_call_waits_to_be_taken_up(start: Start, only_task: Find, hand: Hand) -> None:
    first, second = await start(survives=2.0), await start()
    async with first.held(key=True) as stream:
        await stream.until("notifications/progress")
    async with second.held(key=True) as again:
        await again.until("notifications/progress")
        await first.settled()
        assert not (await only_task()).spec.cancel_requested
        await hand((await only_task()).metadata.name, over())
        assert (await again.answer()).result["resultType"] == "complete"


@pytest.mark.parametrize("key", [True, False])
async def test_a_cut_call_that_nobody_takes_up_is_cancelled(start: Start, only_task: Find, key: bool) -> None:
    replica = await start()
    async with replica.held(key=key) as stream:
        await stream.until("notifications/progress")

    await cancelled(only_task)


async def test_a_question_is_answered_at_the_other_replica_and_the_call_goes_on_there(
    start: Start, tasks: Callable[[], Awaitable[list[McpTask]]], only_task: Find, hand: Hand
) -> None:
    first, second = await start(), await start()
    asked = (await first.wire.call("tools/call", {"name": "asks"}, capabilities=FORMS)).result
    retry = {"name": "asks", "inputResponses": {"sure": YES}, "requestState": asked["requestState"]}

    async with second.wire.stream("tools/call", retry, capabilities=FORMS, meta=TOKEN) as stream:
        await stream.until("notifications/progress")
        await hand((await only_task()).metadata.name, over())
        answer = await stream.answer()
    late = await first.wire.call("tools/call", retry, capabilities=FORMS)

    assert set(asked["inputRequests"]) == {"sure"}
    assert set((await only_task()).spec.answers) == {"sure"}
    assert answer.result["content"] == late.result["content"]
    assert len(await tasks()) == 1


async def test_calls_at_once_under_one_key_are_one_task_at_every_replica(
    start: Start, tasks: Callable[[], Awaitable[list[McpTask]]]
) -> None:
    replicas = [await start(), await start()]
    for number in range(5):
        meta = {FIELD: f"key {number}"}
        answers = await asyncio.gather(
            *(each.wire.call("tools/call", {"name": "held"}, meta=meta) for each in replicas for _ in range(4))
        )

        assert len({answer.result["taskId"] for answer in answers}) == 1
    assert len(await tasks()) == 5


async def test_a_replica_with_a_newer_key_finds_what_was_made_by_the_older_one(start: Start, only_task: Find) -> None:
    old, new = b"o" * 32, b"n" * 32
    before, after = await start(signer=Signer([old])), await start(signer=Signer([new, old]))
    made = (await before.wire.call("tools/call", {"name": "held"}, meta=KEY, capabilities=WITH_TASKS)).result

    again = (await after.wire.call("tools/call", {"name": "held"}, meta=KEY, capabilities=WITH_TASKS)).result
    other = await after.wire.call("tools/call", {"name": "held", "arguments": {"n": 1}}, meta=KEY)

    assert again["taskId"] == made["taskId"] == (await only_task()).metadata.name
    assert other.error[1] == -32602


async def test_a_handle_that_was_given_at_one_replica_is_used_at_the_other(
    start: Start, only_task: Find, hand: Hand
) -> None:
    first, second = await start(), await start()
    handle = (await first.wire.call("tools/call", {"name": "quick"}, capabilities={})).result
    task_id = handle["structuredContent"]["taskId"]
    await hand(task_id, over())

    got = await second.wire.call("tools/call", {"name": "task_get", "arguments": {"taskId": task_id}}, capabilities={})

    assert (await only_task()).spec.detached
    assert got.result["content"] == [{"type": "text", "text": "1.0"}]


async def cut_at(fault: Fault, stream: AbstractAsyncContextManager[Stream]) -> None:
    """Close a call's stream while an answer of the API server to it is being kept back."""

    async def call() -> None:
        async with stream as opened:
            await opened.answer()

    calling = asyncio.create_task(call())
    await asyncio.wait_for(fault.reached.wait(), timeout=20)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)


async def test_a_call_that_is_cut_while_its_task_is_made_leaves_none(
    start: Start, proxy: FaultProxy, proxied: Kube, tasks: Callable[[], Awaitable[list[McpTask]]]
) -> None:
    replica = await start(proxied)
    fault = proxy.add(Fault(method="POST", path=CREATE, hold_answer=True))

    await cut_at(fault, replica.held())

    async def is_gone() -> bool:
        return await tasks() == []

    await eventually(is_gone, what="the task is taken back")


async def test_a_keyed_call_that_is_cut_while_its_task_is_made_may_be_taken_up(
    start: Start, proxy: FaultProxy, proxied: Kube, only_task: Find, hand: Hand
) -> None:
    first, second = await start(proxied, survives=2.0), await start()
    fault = proxy.add(Fault(method="POST", path=CREATE, hold_answer=True))

    await cut_at(fault, first.held(key=True))
    async with second.held(key=True) as again:
        await again.until("notifications/progress")
        await first.settled()
        assert not (await only_task()).spec.cancel_requested
        await hand((await only_task()).metadata.name, over())
        assert (await again.answer()).result["resultType"] == "complete"


async def test_a_keyed_call_that_is_cut_while_its_task_is_made_ends_with_it_if_nobody_comes(
    start: Start, proxy: FaultProxy, proxied: Kube, only_task: Find
) -> None:
    replica = await start(proxied)
    fault = proxy.add(Fault(method="POST", path=CREATE, hold_answer=True))

    await cut_at(fault, replica.held(key=True))

    await cancelled(only_task)


async def test_a_call_that_is_cut_while_it_is_taken_up_again_ends_its_task(
    start: Start, proxy: FaultProxy, proxied: Kube, only_task: Find
) -> None:
    first, second = await start(survives=30.0), await start(proxied)
    async with first.held(key=True) as stream:
        await stream.until("notifications/progress")
    fault = proxy.add(Fault(method="PATCH", path=PATCH, hold_answer=True))

    await cut_at(fault, second.held(key=True))

    await cancelled(only_task)


async def test_a_call_that_is_cut_once_its_task_is_detached_leaves_it_alone(
    start: Start, proxy: FaultProxy, proxied: Kube, only_task: Find
) -> None:
    replica = await start(proxied)
    fault = proxy.add(Fault(method="PATCH", path=PATCH, hold_answer=True))

    quick = replica.wire.stream("tools/call", {"name": "quick"}, capabilities={}, meta=TOKEN)
    await cut_at(fault, quick)
    await replica.settled()

    task = await only_task()
    assert (task.spec.detached, task.spec.cancel_requested) == (True, False)


async def test_a_held_call_outlasts_an_api_server_that_is_away(
    start: Start, proxy: FaultProxy, proxied: Kube, only_task: Find, hand: Hand
) -> None:
    replica = await start(proxied)
    async with replica.held() as stream:
        await stream.until("notifications/progress")
        proxy.cut()
        await hand((await only_task()).metadata.name, over())
        proxy.mend()
        answer = await stream.answer()

    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]


async def test_wherever_a_call_is_cut_no_task_runs_on_that_nobody_can_name(
    start: Start, tasks: Callable[[], Awaitable[list[McpTask]]]
) -> None:
    replica = await start()

    async def call_for(seconds: float) -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await replica.wire.call("tools/call", {"name": "held"}, capabilities={})
        except TimeoutError:
            return None

    await asyncio.gather(*(call_for(number / 500) for number in range(40)))

    async def all_are_cancelled() -> bool:
        return all(task.spec.cancel_requested for task in await tasks())

    await eventually(all_are_cancelled, what="every task is cancelled or taken back")
    assert not any(task.spec.detached for task in await tasks())
