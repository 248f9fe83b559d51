"""How many tasks a namespace keeps at most: counted by each of two replicas, at a real API server, with an operator."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from mcptasks_crds.kube import TASKS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_operator.testing.kubelet import FakeKubelet
from mcptasks_operator.testing.world import World
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.testing.answers import Answer
from mcptasks_server.testing.replicas import Serve, StartReplica
from mcptasks_server.testing.wire import Wire

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(120)]

MOST: Final = 4


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Two that keep so few tasks at most, and a client of each."""

    backends: tuple[Backend, Backend]
    wires: tuple[Wire, Wire]
    world: World

    async def fill(self) -> list[str]:
        """Call, now at one and now at the other, until the namespace is full. The tasks' ids."""
        ids = []
        for number in range(MOST):
            answer = await call(self.wires[number % 2], tool="brief" if number == 0 else "echo")
            ids.append(answer.result["taskId"])
            await self.see(number + 1)
        return ids

    async def see(self, count: int) -> None:
        """Wait until both replicas have seen that there are so many tasks: they are told by watches."""

        async def seen() -> bool:
            lists = [await backend.services.tasks.list(caller=ANONYMOUS) for backend in self.backends]
            return all(len(tasks) == count for tasks in lists)

        await eventually(seen, what=f"both replicas see {count} tasks")

    async def kept(self) -> int:
        """What the API server has."""
        return len((await self.world.kube.list(TASKS, self.world.namespace))["items"])


@pytest.fixture
async def world(kube: Kube, kubeconfig: Path, proxy: FaultProxy, namespace: str) -> AsyncIterator[World]:
    """An operator is at work, and there are two tools: what `brief` has made is kept for a second."""
    kubelet = FakeKubelet(kube=kube, namespace=namespace)
    world = World(kube=kube, namespace=namespace, kubelet=kubelet, proxy=proxy, kubeconfig=kubeconfig)
    async with world.operator():
        await world.tool("echo", retentionSeconds=600)
        await world.tool("brief", retentionSeconds=1)
        yield world


@pytest.fixture
async def replicas(world: World, start_replica: StartReplica, serve: Serve) -> Replicas:
    """They serve."""
    backends = (await start_replica(max_tasks=MOST), await start_replica(max_tasks=MOST))
    wires = (await serve(backends[0]), await serve(backends[1]))
    return Replicas(backends=backends, wires=wires, world=world)


async def call(wire: Wire, *, tool: str = "echo") -> Answer:
    return await wire.call("tools/call", {"name": tool, "arguments": {}})


async def let_in(wire: Wire) -> str:
    """Try again, as the refusal says, until there is room; a call that is refused makes nothing. The task's id."""

    async def answered() -> Answer | None:
        answer = await call(wire)
        return answer if "result" in answer.body else None

    return str((await eventually(answered, what="there is room again")).result["taskId"])


async def refused_everywhere(replicas: Replicas) -> None:
    """Neither replica makes a task, and both say which limit it is, and what helps."""
    for wire in replicas.wires:
        refused = await call(wire)
        assert refused.error == (200, -32603)
        assert refused.body["error"]["data"] == {"reason": "TooManyTasks", "limit": "tasks.maxKept"}
        assert refused.message == (
            f"{MOST} tasks are kept, and no more than {MOST} may be (the server's tasks.maxKept): "
            "please try again when some of them have gone"
        )
    assert await replicas.kept() == MOST


async def test_a_full_namespace_refuses_until_a_task_is_deleted(replicas: Replicas) -> None:
    ids = await replicas.fill()
    await refused_everywhere(replicas)

    await replicas.world.kube.delete(TASKS, replicas.world.namespace, ids[1])
    made = await let_in(replicas.wires[0])
    await replicas.see(MOST)

    assert made not in ids
    await refused_everywhere(replicas)


async def test_tasks_that_are_over_count_until_their_time_is_over_too(replicas: Replicas) -> None:
    brief, *others = await replicas.fill()
    for task in others:
        await replicas.world.kubelet.finish(task, message="done")
        await replicas.world.status(task)
    await refused_everywhere(replicas)

    await replicas.world.kubelet.finish(brief, message="done")
    made = await let_in(replicas.wires[1])
    await replicas.see(MOST)

    assert made not in {brief, *others}
    assert not await replicas.world.exists(TASKS, brief)
    await refused_everywhere(replicas)


async def test_of_many_calls_at_once_each_replica_lets_through_no_more_than_there_is_room(replicas: Replicas) -> None:
    wire = replicas.wires[0]

    answers = await asyncio.gather(*(call(wire) for _ in range(3 * MOST)))

    assert sum("result" in answer.body for answer in answers) == MOST
    await replicas.see(MOST)
    await refused_everywhere(replicas)
