"""Two operators as processes: one is killed, told to stop or stands still; the other goes on, nothing runs twice."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, JOBS, LEASES, TASKS
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.layout import free_port
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

TAKE_OVER_SECONDS: Final = 15.0
HAND_OVER_SECONDS: Final = 6.0
"""Well below the 10 s that a Lease takes to run out: it is given up."""

STOPS_BEFORE_ITS_POST: Final = """
import asyncio, os, signal
from mcptasks_crds.kube import JOBS
from mcptasks_operator.__main__ import main
from mcptasks_operator.metered import MeteredCluster

create, stopped = MeteredCluster.create, []

async def stop_and_create(self, kind, namespace, manifest, **query):
    if kind != JOBS or "dryRun" in query or stopped:
        return await create(self, kind, namespace, manifest, **query)
    stopped.append(manifest)
    os.kill(os.getpid(), signal.SIGSTOP)
    posting = asyncio.ensure_future(create(self, kind, namespace, manifest, **query))
    try:
        return await asyncio.shield(posting)
    except asyncio.CancelledError:
        await asyncio.wait({posting})  # the request goes out all the same; what comes of it is not for us any more
        raise

MeteredCluster.create = stop_and_create
main()
"""
"""An operator that stands still between its last check and the POST of its first Job, the very next thing it does.

Nothing cuts that request off, though the process has lost the Lease by then: the worst that a network can make of it.
"""


@asynccontextmanager
async def seen_alone(world: World, file: Path) -> AsyncIterator[World]:
    """The same namespace through a proxy that one process alone uses: what it asks for can be told from the other's."""
    async with FaultProxy.running(world.kube.configuration) as proxy:
        yield replace(world, proxy=proxy, kubeconfig=proxy.write_kubeconfig(file))


async def is_stopped(process: asyncio.subprocess.Process) -> bool:
    status = await asyncio.to_thread(Path(f"/proc/{process.pid}/stat").read_text)
    return status.rpartition(")")[2].split()[0] == "T"


async def is_ready(port: int) -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/readyz") as answer:
            return answer.status == 200
    except aiohttp.ClientConnectionError:
        return False


async def metric(port: int, name: str) -> float:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return float(next(line for line in lines if line.startswith(f"mcptasks_operator_{name} ")).split()[1])


@asynccontextmanager
async def pair(world: World) -> AsyncIterator[tuple[asyncio.subprocess.Process, int, asyncio.subprocess.Process, int]]:
    """The one that acts, and one that stands by, each with its port."""
    ports = free_port(), free_port()
    async with world.process(port=ports[0]) as first:
        await world.holder()
        async with world.process(port=ports[1]) as second:
            await eventually(partial(is_ready, ports[1]), what="the second one stands by")
            yield first, ports[0], second, ports[1]


async def test_another_takes_the_place_of_one_that_was_killed_and_finishes_what_runs(world: World) -> None:
    async with pair(world) as (leader, _, _, port):
        await world.tool()
        running = await world.call()
        await world.kubelet.run(running)
        await world.status(running, Phase.RUNNING)
        holder = await world.holder()
        assert await metric(port, "leader") == 0

        leader.kill()
        fresh = await world.call()
        async with asyncio.timeout(TAKE_OVER_SECONDS):
            await world.job(fresh)
            await world.kubelet.finish(running, message="done")
            ended = await world.status(running)

        assert await metric(port, "leader") == 1
        assert (await world.holder()) != holder
    lease = await world.kube.get(LEASES, world.namespace, names.LEASE)
    assert ended["phase"] == "Completed"
    assert lease["spec"]["leaseTransitions"] == 1
    told = [
        event["note"]
        for event in (await world.kube.list(EVENTS, world.namespace))["items"]
        if event["regarding"]["kind"] == "Lease"
    ]
    assert len(told) == 2


async def test_one_that_is_told_to_stop_hands_over_at_once(world: World) -> None:
    async with pair(world) as (leader, _, _, _):
        await world.tool()
        holder = await world.holder()

        leader.terminate()
        task = await world.call()
        async with asyncio.timeout(HAND_OVER_SECONDS):
            await world.holder(other_than=holder)
            await world.job(task)

        assert await leader.wait() == 0


async def test_one_that_stood_still_for_longer_than_its_lease_writes_nothing_more(world: World, tmp_path: Path) -> None:
    async with (
        seen_alone(world, tmp_path / "first") as first,
        first.process() as frozen,
    ):
        await world.tool()
        waiting = await world.call()
        await world.job(waiting)
        async with world.process():
            frozen.send_signal(signal.SIGSTOP)
            fresh = await world.call()
            await world.job(fresh)  # by the other one
            await world.kubelet.finish(waiting, message="done")
            await world.status(waiting)
            before = len(first.proxy.requests)

            frozen.send_signal(signal.SIGCONT)
            code = await asyncio.wait_for(frozen.wait(), timeout=20)

    assert code == 1
    written = [request for request in first.proxy.requests[before:] if request.method != "GET"]
    assert [request for request in written if names.LEASE not in request.path] == []


@asynccontextmanager
async def frozen_before_its_post(
    world: World, tmp_path: Path
) -> AsyncIterator[tuple[World, asyncio.subprocess.Process, str]]:
    """One that stands still right before it creates the task's Job, and another that has taken its place."""
    async with (
        seen_alone(world, tmp_path / "first") as first,
        first.process("-c", STOPS_BEFORE_ITS_POST) as frozen,
    ):
        await world.tool()
        task = await world.call()
        await eventually(partial(is_stopped, frozen), what="it stands still before its POST")
        assert first.job_posts() == 0
        yield first, frozen, task


async def test_a_post_that_stood_still_after_the_check_meets_the_job_that_is_there(
    world: World, tmp_path: Path
) -> None:
    async with frozen_before_its_post(world, tmp_path) as (first, frozen, task), world.process():
        job = await world.job(task)
        await world.kubelet.run(task)
        await world.status(task, Phase.RUNNING)

        frozen.send_signal(signal.SIGCONT)
        code = await asyncio.wait_for(frozen.wait(), timeout=20)
        await world.kubelet.finish(task, message="done")
        ended = await world.status(task)

        assert (code, first.job_posts()) == (1, 1)
        assert ended["job"]["uid"] == job["metadata"]["uid"]
        jobs = (await world.kube.list(JOBS, world.namespace))["items"]
        assert [each["metadata"]["uid"] for each in jobs] == [job["metadata"]["uid"]]


def has_failed(job: Json) -> bool:
    return any(each["type"] == "FailureTarget" for each in job.get("status", {}).get("conditions", ()))


async def test_a_post_that_stood_still_until_its_task_was_over_starts_nothing_that_stays(
    world: World, tmp_path: Path
) -> None:
    """The task was cancelled before it had a Job: there is no name to meet."""
    async with frozen_before_its_post(world, tmp_path) as (_, frozen, task), world.process():
        await world.cancel(task)
        ended = await world.status(task)

        frozen.send_signal(signal.SIGCONT)
        assert await asyncio.wait_for(frozen.wait(), timeout=20) == 1
        stopped = await world.until(JOBS, names.job_name(task), has_failed)

        assert ended["phase"] == "Cancelled"
        assert (await world.status(task)) == ended
        assert stopped["spec"]["activeDeadlineSeconds"] == 1


async def test_a_post_that_stood_still_until_its_task_was_deleted_leaves_nothing(world: World, tmp_path: Path) -> None:
    async with frozen_before_its_post(world, tmp_path) as (first, frozen, task), world.process():
        await world.holder(other_than=await world.holder())
        await world.kube.delete(TASKS, world.namespace, task)
        await world.gone(TASKS, task)

        frozen.send_signal(signal.SIGCONT)
        assert await asyncio.wait_for(frozen.wait(), timeout=20) == 1
        assert first.job_posts() == 1
        await world.gone(JOBS, names.job_name(task))
