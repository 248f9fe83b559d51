"""Queues before a real API server and Job controller: a limit that holds across a kill, and Kueue's part, played."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS
from mcptasks_crds.phases import Phase
from mcptasks_crds.times import parse_time
from mcptasks_devcluster.eventually import eventually
from mcptasks_operator.testing.kubelet import running, terminated
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

LIMIT: Final = 4
MANY: Final = 300
FORM: Final = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
QUESTION: Final = {"message": "Sure?", "requestedSchema": json.dumps(FORM), "when": "beforeStart"}
YES: Final = '{"action":"accept","content":{"sure":true}}'


@dataclass
class Watched:
    """Which Jobs were let start, as the API server tells it, and how many of them were under way at most."""

    started: list[str] = field(default_factory=list)
    over: set[str] = field(default_factory=set)
    most: int = 0

    def see(self, job: Json) -> None:
        name = job["metadata"]["name"]
        if not job["spec"].get("suspend") and name not in self.started:
            self.started.append(name)
            self.most = max(self.most, len(set(self.started) - self.over))


@asynccontextmanager
async def watching(world: World) -> AsyncIterator[Watched]:
    """Watch the namespace's Jobs."""
    seen = Watched()

    async def watch() -> None:
        async with aclosing(world.kube.watch(JOBS, world.namespace, timeout_seconds=600)) as events:
            async for event in events:
                seen.see(event["object"])

    task = asyncio.create_task(watch())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def tasks(world: World) -> list[Json]:
    return list((await world.kube.list(TASKS, world.namespace))["items"])


def order(task: Json) -> tuple[str, str]:
    return task["metadata"]["creationTimestamp"], task["metadata"]["name"]


async def end(world: World, seen: Watched, task: str) -> None:
    """Let a task's container run and end; from here on it is over, before anybody can know it."""
    pod = await world.kubelet.pod_of(task)
    await world.kubelet.set(pod, running(datetime.now(UTC)))
    seen.over.add(task)
    await world.kubelet.set(pod, terminated(datetime.now(UTC), message="done"))


@pytest.mark.timeout(300)
async def test_hundreds_wait_in_order_and_never_more_run_than_may_across_a_kill(world: World) -> None:
    async with world.operator():
        await world.tool(limits={"running": LIMIT})
    for _ in range(MANY // 50):
        await asyncio.gather(*(world.call() for _ in range(50)))
    everybody = [task["metadata"]["name"] for task in sorted(await tasks(world), key=order)]
    assert len(everybody) == MANY

    async with watching(world) as seen:
        async with world.process() as doomed:

            async def half_of_them_wait() -> bool:
                return len((await world.kube.list(JOBS, world.namespace))["items"]) >= MANY // 2

            await eventually(half_of_them_wait, what="half of the Jobs are made", timeout_seconds=120)
            doomed.kill()
            await doomed.wait()
        async with world.process():

            async def all_wait() -> bool:
                found = [task for task in await tasks(world) if task.get("status", {}).get("phase") == "Pending"]
                return len(found) == MANY

            await eventually(all_wait, what="all tasks are in the queue", timeout_seconds=120)
            assert sorted(seen.started) == sorted(everybody[:LIMIT])
            last = next(task for task in await tasks(world) if task["metadata"]["name"] == everybody[-1])
            assert last["status"]["message"].startswith("queued (")

            for turn in range(2):
                for task in everybody[turn * LIMIT : (turn + 1) * LIMIT]:
                    await end(world, seen, task)

                async def the_next_have_started(turn: int = turn) -> bool:
                    return len(seen.started) == (turn + 2) * LIMIT

                await eventually(the_next_have_started, what="the next are let start", timeout_seconds=60)

        assert sorted(seen.started) == sorted(everybody[: 3 * LIMIT])
        assert seen.most == LIMIT


async def test_a_hundred_calls_of_one_second_start_in_the_order_of_their_names(world: World) -> None:
    async with world.operator():
        await world.tool(limits={"running": 1})
    await asyncio.gather(*(world.call() for _ in range(100)))
    everybody = [task["metadata"]["name"] for task in sorted(await tasks(world), key=order)]

    async with watching(world) as seen, world.operator():
        for number, task in enumerate(everybody[:3]):

            async def has_started(number: int = number) -> bool:
                return len(seen.started) == number + 1

            await eventually(has_started, what=f"the task of place {number} is let start", timeout_seconds=60)
            await end(world, seen, task)

        assert seen.started[:3] == everybody[:3]
        assert seen.most == 1


async def test_who_is_cancelled_in_the_queue_is_over_and_lets_the_next_move_up(world: World) -> None:
    async with world.operator():
        await world.tool(limits={"running": 1})
        first = await world.call()
        await world.job(first)
        second = await world.call()
        await world.status(second, Phase.PENDING)

        await world.cancel(second)
        ended = await world.status(second)

        assert ended["phase"] == "Cancelled"
        await world.gone(JOBS, names.job_name(second))
        assert (await world.kubelet.pods_of(second)) == []


async def a_second_after(world: World, task: str) -> None:
    created = parse_time((await world.kube.get(TASKS, world.namespace, task))["metadata"]["creationTimestamp"])

    async def has_passed() -> bool:
        return datetime.now(UTC) >= created + timedelta(seconds=1)

    await eventually(has_passed, what="another second has begun")


async def test_who_waits_too_long_and_who_is_one_too_many_end_without_a_pod(world: World) -> None:
    async with world.operator():
        await world.tool(limits={"running": 1, "queued": 1}, queueSeconds=5)
        first = await world.call()
        await world.until(JOBS, names.job_name(first), lambda seen: seen["spec"]["suspend"] is False)
        late = await world.call()
        await world.status(late, Phase.PENDING)
        await a_second_after(world, late)  # of one second, the order would be that of their names
        surplus = await world.call()

        too_many, too_late = await world.status(surplus), await world.status(late)

        assert (too_many["phase"], too_many["reason"]) == ("Failed", "QueueFull")
        assert too_many["message"] == "the queue of echo is full: 1 tasks wait, and limits.queued is 1"
        assert "job" not in too_many
        assert (too_late["phase"], too_late["reason"]) == ("Failed", "QueueTimeOver")
        assert too_late["message"].startswith("not started within 5 s in the queue")
        await world.gone(JOBS, names.job_name(late))
        assert await world.kubelet.pods_of(late) == []


@pytest.mark.parametrize("change", ["edited", "deleted"])
async def test_what_becomes_of_the_tool_is_nothing_to_who_waits(world: World, change: str) -> None:
    async with world.operator():
        await world.tool(limits={"running": 1}, timeoutSeconds=111)
        first = await world.call()
        await world.job(first)
        second = await world.call()
        await world.status(second, Phase.PENDING)

        if change == "edited":
            await world.kube.patch(TOOLS, world.namespace, "echo", {"spec": {"timeoutSeconds": 7, "limits": None}})
        else:
            await world.kube.delete(TOOLS, world.namespace, "echo")
        assert (await world.job(second))["spec"]["suspend"] is True
        await world.kubelet.run(first)
        await world.kubelet.finish(first, message="done")
        await world.kubelet.run(second)
        await world.kubelet.finish(second, message="as it was")

        assert (await world.status(second))["reason"] == "Succeeded"
        assert names.EXECUTION_ANNOTATION in (await world.job(second))["metadata"]["annotations"]
        assert (
            '"timeout_seconds":111' in (await world.job(second))["metadata"]["annotations"][names.EXECUTION_ANNOTATION]
        )


@dataclass(frozen=True, kw_only=True)
class Kueue:
    """Kueue's part: it lets suspended Jobs with its label start, and suspends them again to make room."""

    world: World

    async def admit(self, task: str) -> None:
        """Let a Job start: as Kueue does, with what the flavour adds to the pod."""
        spec: Json = {"suspend": False, "template": {"spec": {"nodeSelector": {"flavour": "spot"}}}}
        await self.world.kube.patch(JOBS, self.world.namespace, names.job_name(task), {"spec": spec})

    async def evict(self, task: str) -> None:
        """Suspend it; the Job controller deletes its pods."""
        await self.world.kube.patch(JOBS, self.world.namespace, names.job_name(task), {"spec": {"suspend": True}})


def says(words: str) -> Any:
    return lambda seen: words in seen.get("status", {}).get("message", "")


async def test_kueue_alone_lets_a_job_start_and_an_eviction_is_no_end(world: World) -> None:
    kueue = Kueue(world=world)
    async with world.operator():
        await world.tool(queueName="gpus", startDeadlineSeconds=60)
        task = await world.call()
        await world.until(TASKS, task, says("queued: waiting for quota in Kueue's queue gpus"))
        job = await world.job(task)
        assert (job["spec"]["suspend"], job["metadata"]["labels"][names.QUEUE_LABEL]) == (True, "gpus")

        await kueue.admit(task)
        first = await world.kubelet.run(task)
        await world.status(task, Phase.RUNNING)
        await kueue.evict(task)
        evicted = await world.until(TASKS, task, says("queued again"))
        await world.gone(PODS, first)
        assert "podUID" not in evicted["status"]["job"]

        await kueue.admit(task)
        second = await world.kubelet.run(task)
        await world.kubelet.finish(task, message="done")
        ended = await world.status(task)

    assert (ended["phase"], ended["attempts"], ended["job"]["podName"]) == ("Completed", 2, second)
    assert second != first
    assert ended["job"]["uid"] == job["metadata"]["uid"]


async def test_kueue_is_told_of_a_job_only_once_it_is_approved(world: World) -> None:
    async with world.operator():
        await world.tool(queueName="gpus", questions=[{"key": "sure", **QUESTION, "requestedSchema": FORM}])
        task = await world.call(questions={"sure": QUESTION})
        await world.status(task, Phase.INPUT_REQUIRED)
        assert names.QUEUE_LABEL not in (await world.job(task))["metadata"]["labels"]

        await world.answer(task, YES)
        job = await world.until(
            JOBS, names.job_name(task), lambda seen: names.QUEUE_LABEL in seen["metadata"]["labels"]
        )
        waiting = await world.until(TASKS, task, says("queued: waiting for quota"))

        assert job["spec"]["suspend"] is True
        assert YES in job["spec"]["template"]["metadata"]["annotations"][names.ANSWERS_ANNOTATION]
        assert waiting["status"]["phase"] == "Pending"
        await world.cancel(task)
        assert (await world.status(task))["phase"] == "Cancelled"


async def test_a_job_that_somebody_lets_start_by_hand_passes_the_queue(world: World) -> None:
    async with world.operator():
        await world.tool(limits={"running": 1})
        first = await world.call()
        await world.job(first)
        second = await world.call()
        await world.status(second, Phase.PENDING)

        await world.kube.patch(JOBS, world.namespace, names.job_name(second), {"spec": {"suspend": False}})
        await world.kubelet.run(second)

        assert (await world.status(second, Phase.RUNNING))["message"] == "running"
