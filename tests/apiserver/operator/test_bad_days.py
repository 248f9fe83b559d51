"""Lost answers, errors and kills at the worst moments: one Job, and the right end."""

import asyncio

import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import EVENTS, JOBS, TASKS
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import Fault
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

DAY = 86_400
"""Kept for so long, a task does not take its finished Job along soon: the Job is retired."""
WRITES = {
    "the Job's POST": ("POST", r"/jobs$"),
    "a write of the status": ("PATCH", r"/mcptasks/[^/]+/status$"),
    "the Event": ("POST", r"/events$"),
    "the task's deletion": ("DELETE", r"/mcptasks/"),
}


@pytest.mark.parametrize("status", [429, 500, None], ids=["429", "500", "a lost answer"])
@pytest.mark.parametrize("write", list(WRITES))
@pytest.mark.requirement("failures/f1-01")
async def test_a_write_that_fails_once_changes_nothing_of_the_end(
    operated: World, write: str, status: int | None
) -> None:
    method, path = WRITES[write]
    fault = operated.proxy.add(Fault(method=method, path=path, status=status, lose_answer=status is None))

    task = await operated.call(retentionSeconds=1)
    job = await operated.job(task)
    await operated.kubelet.run(task)
    await operated.kubelet.finish(task, message="done")
    ended = await operated.status(task)
    await operated.gone(TASKS, task)
    await asyncio.wait_for(fault.reached.wait(), timeout=10)  # an answer is lost after what it tells of was done

    assert (ended["phase"], ended["job"]["uid"]) == ("Completed", job["metadata"]["uid"])
    assert len([request for request in operated.proxy.requests if request.path.endswith("/log")]) == 0


@pytest.mark.parametrize("status", [429, 500, None], ids=["429", "500", "a lost answer"])
async def test_a_retirement_that_fails_once_is_made_up_for(operated: World, status: int | None) -> None:
    fault = operated.proxy.add(Fault(method="PATCH", path=r"/jobs/[^/]+$", status=status, lose_answer=status is None))

    task = await operated.call(retentionSeconds=DAY)
    await operated.kubelet.run(task)
    await operated.kubelet.finish(task, message="done")
    await operated.until(JOBS, names.job_name(task), lambda seen: "ttlSecondsAfterFinished" in seen["spec"])
    await asyncio.wait_for(fault.reached.wait(), timeout=10)

    assert (await operated.status(task))["phase"] == "Completed"


async def test_the_api_servers_wish_to_be_left_alone_is_heeded(operated: World) -> None:
    fault = operated.proxy.add(Fault(method="POST", path=r"/jobs$", status=429, headers={"Retry-After": "2"}))

    task = await operated.call()
    await fault.reached.wait()
    before = asyncio.get_running_loop().time()
    await operated.job(task)

    assert asyncio.get_running_loop().time() - before > 1.5


MOMENTS = {
    "the Job was made and the answer is on its way": ("POST", r"/jobs$"),
    "the first status was written": ("PATCH", r"/mcptasks/[^/]+/status$"),
    "the Job was retired": ("PATCH", r"/jobs/[^/]+$"),
    "the end was told": ("POST", r"/events$"),
}


@pytest.mark.parametrize("moment", list(MOMENTS))
async def test_an_operator_killed_in_between_leaves_one_job_and_the_right_end_to_the_next(
    world: World, moment: str
) -> None:
    method, path = MOMENTS[moment]
    async with world.process() as doomed:
        await world.tool()
        held = world.proxy.add(Fault(method=method, path=path, hold_answer=True))
        task = await world.call(retentionSeconds=DAY)
        job = await world.job(task)
        await world.kubelet.run(task)
        await world.kubelet.finish(task, message="done")
        await held.reached.wait()
        doomed.kill()
        await doomed.wait()
        await world.bury()
    held.release.set()

    async with world.operator():
        status = await world.status(task)
        retired = await world.until(JOBS, names.job_name(task), lambda seen: "ttlSecondsAfterFinished" in seen["spec"])

    assert (status["phase"], status["reason"]) == ("Completed", "Succeeded")
    assert job["metadata"]["uid"] == status["job"]["uid"] == retired["metadata"]["uid"]


async def test_twenty_tasks_outlive_their_operator(world: World) -> None:
    async with world.process() as doomed:
        await world.tool()
        tasks = await asyncio.gather(*(world.call() for _ in range(20)))
        await asyncio.gather(*(world.kubelet.run(task) for task in tasks[:10]))
        await asyncio.gather(*(world.status(task, Phase.RUNNING) for task in tasks[:5]))
        doomed.kill()
        await doomed.wait()
        await world.bury()
    await asyncio.gather(*(world.kubelet.finish(task, message="done") for task in tasks[:10]))

    async with world.operator():
        jobs = await asyncio.gather(*(world.job(task) for task in tasks))
        await asyncio.gather(*(world.kubelet.finish(task, message="done") for task in tasks[10:]))
        ends = await asyncio.gather(*(world.status(task) for task in tasks))

    assert {end["phase"] for end in ends} == {"Completed"}
    assert [end["job"]["uid"] for end in ends] == [job["metadata"]["uid"] for job in jobs]

    async def starts() -> int | None:
        """As the Job controller counts them; it tells them a little later."""
        events = await world.kube.list(EVENTS, world.namespace)
        told = sum(event["reason"] == "SuccessfulCreate" for event in events["items"])
        return told if told >= len(tasks) else None

    assert await eventually(starts, what="twenty starts are told") == len(tasks)


async def test_the_process_stops_quickly_when_told_to_and_ends_no_task(world: World) -> None:
    async with world.process() as operator:
        await world.tool()
        task = await world.call()
        await world.kubelet.run(task)
        await world.status(task, Phase.RUNNING)

        operator.terminate()
        code = await asyncio.wait_for(operator.wait(), timeout=15)

    assert code == 0
    assert (await world.status(task, Phase.RUNNING))["phase"] == "Running"
