"""`make scale`: many tasks on simulated nodes, beside as many bare Jobs that a plain client makes in the same run.

Everything but the nodes is real: API server, etcd, scheduler, kube-controller-manager (whose own limit of requests a
second is the first that is met), our operator and server as processes of this machine.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
from benchmarks.nodes import ENDS, pod_template, simulated_nodes
from benchmarks.processors import Use, set_apart
from benchmarks.report import Found, Goal, Goals, all_met, table_of, write, written
from benchmarks.rig import Rig, bare_task, p50, resident_bytes, rig, watching
from rich.console import Console

from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, TASKS, Kind, Kube
from mcptasks_crds.phases import TERMINAL
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.paths import cluster_paths
from mcptasks_devcluster.report import read_report

LATEST: Final = "scale.json"
AT_ONCE: Final = 16
FEW: Final = 10
REACTIONS: Final = 30
RESULT_BYTES: Final = 100 * 1024
SHORT, LONG = "ends", "stays"
DEFAULT_QPS, HIGH_QPS = 20, 500
CONTROL_PLANE: Final = frozenset({"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"})

Part = Callable[[Rig, Mapping[str, int]], Awaitable[Found]]
"""A part of the measurement; it is given the process ids of all programs that play a part, by name."""


def goals(*, many: int) -> Goals:
    """What the figures must be."""
    least = Goal(least=0.85)
    return {
        (_throughput_at(DEFAULT_QPS), "tasks_per_bare_job"): least,
        (_throughput_at(HIGH_QPS), "tasks_per_bare_job"): least,
        (f"{many} live tasks", "reaction_per_that_of_few"): Goal(most=2),
    }


def _throughput_at(qps: int) -> str:
    return f"throughput, --kube-api-qps {qps}"


@dataclass
class Ends:
    """When a watch first saw each object to be over."""

    is_over: Callable[[Json], bool]
    at: dict[str, float] = field(default_factory=dict)

    async def follow(self, kubeconfig: Path, kind: Kind, namespace: str) -> None:
        """Follow the objects of a namespace from now on, on a connection of its own."""
        async with await Kube.connect(kubeconfig=kubeconfig) as kube:
            version = (await kube.list(kind, namespace, limit="1"))["metadata"]["resourceVersion"]
            while True:
                watch = kube.watch(kind, namespace, timeout_seconds=3000, resourceVersion=version)
                async for event in watch:
                    item = event["object"]
                    version = item["metadata"]["resourceVersion"]
                    if self.is_over(item):
                        self.at.setdefault(item["metadata"]["name"], time.monotonic())

    async def reach(self, names: frozenset[str]) -> bool:
        """Whether all of these are over."""
        return names <= self.at.keys()


def _task_is_over(task: Json) -> bool:
    return task.get("status", {}).get("phase") in TERMINAL


def _job_is_complete(job: Json) -> bool:
    return any(each["type"] == "Complete" for each in job.get("status", {}).get("conditions", ()))


async def _timed(
    running: Rig, namespace: str, kind: Kind, manifests: list[Json], *, over: Mapping[Kind, Callable[[Json], bool]]
) -> dict[Kind, float]:
    """From the first one's creation until as many of each of these kinds were over, in seconds."""
    ends, places = {each: Ends(is_over) for each, is_over in over.items()}, asyncio.Semaphore(AT_ONCE)
    following = [asyncio.create_task(each.follow(running.kubeconfig, of, namespace)) for of, each in ends.items()]
    await asyncio.sleep(1)  # until the watches stand; what came earlier would be missed

    async def make(manifest: Json) -> str:
        async with places:
            made = await running.kube.create(kind, namespace, manifest)
            return str(made["metadata"]["name"])

    try:
        began, patience = time.monotonic(), 120 + len(manifests) * 2
        made = frozenset(await asyncio.gather(*(make(manifest) for manifest in manifests)))
        for of, each in ends.items():  # a Job has its task's name
            await eventually(partial(each.reach, made), what=f"all {of.plural} are over", timeout_seconds=patience)
        return {of: max(each.at[name] for name in made) - began for of, each in ends.items()}
    finally:
        for watch in following:
            watch.cancel()
        await asyncio.gather(*following, return_exceptions=True)


async def throughput(running: Rig, *, count: int, programs: Mapping[str, int]) -> dict[str, float]:
    """Tasks a second, over bare Jobs a second. A bare Job is what the operator made of a task, without our marks.

    Both are over once their Jobs carry `Complete`. A task's result is there before: what kube-controller-manager then
    still has to do is counted all the same, for whatever comes next has to wait for it.

    `programs`: the process ids of those of which it is told what they used of the processors.
    """
    warm = [bare_task(SHORT) for _ in range(FEW)]
    over = {TASKS: _task_is_over, JOBS: _job_is_complete}
    await _timed(running, running.namespace, TASKS, warm, over=over)
    like = await running.kube.get(JOBS, running.namespace, warm[0]["metadata"]["name"])
    requests, used = await _requests(running), Use.now(programs)
    ours = await _timed(running, running.namespace, TASKS, [bare_task(SHORT) for _ in range(count)], over=over)
    by_tasks = Use.now(programs).figures_since(used, count=count, what="task")
    asked, used = await _requests(running) - requests, Use.now(programs)
    jobs = [_bare_job(like) for _ in range(count)]
    bare = await _timed(running, running.bare_namespace, JOBS, jobs, over={JOBS: _job_is_complete})
    return {
        "tasks": count,
        "results_per_second": count / ours[TASKS],
        "tasks_per_second": count / max(ours.values()),
        "bare_jobs_per_second": count / bare[JOBS],
        "tasks_per_bare_job": bare[JOBS] / max(ours.values()),
        "operator_requests_per_task": asked / count,
        **by_tasks,
        **Use.now(programs).figures_since(used, count=count, what="bare_job"),
    }


def _bare_job(like: Json) -> Json:
    template = like["spec"]["template"]
    metadata = {"labels": dict(ENDS), "annotations": template["metadata"].get("annotations", {})}
    spec = {key: value for key, value in like["spec"].items() if key not in {"selector", "manualSelector"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "bare-"},
        "spec": {**spec, "template": {"metadata": metadata, "spec": template["spec"]}},
    }


async def many_tasks(running: Rig, *, many: int) -> Found:
    """Reaction time beside few and beside many living tasks, and the operator's memory for them."""
    assert running.operator_pid is not None
    resident = partial(resident_bytes, running.operator_pid)
    living = await _live(running, FEW)
    beside_few = await _reaction(running)
    # A fifth first: what a process takes once, for what is on its way and for garbage, is not for each task.
    living += await _live(running, many // 5)
    before, already = resident(), len(living)
    living += await _live(running, many - already)
    live = (resident() - before) / (many - already)
    beside_many = await _reaction(running)
    await _finish(running, living[:already])
    before = resident()
    await _finish(running, living[already:])
    finished = (resident() - before) / (many - already)
    return {
        f"{FEW} live tasks": {"reaction_ms_p50": beside_few * 1000},
        f"{many} live tasks": {
            "reaction_ms_p50": beside_many * 1000,
            "reaction_per_that_of_few": beside_many / beside_few,
            "operator_kib_per_live_task": live / 1024,
            "operator_kib_more_per_finished_task": finished / 1024,
            "operator_mib": resident() / 2**20,
        },
    }


async def _live(running: Rig, count: int) -> list[str]:
    """So many tasks whose pods run for ever."""
    places = asyncio.Semaphore(AT_ONCE)

    async def make() -> str:
        async with places:
            made = await running.kube.create(TASKS, running.namespace, bare_task(LONG))
            return str(made["metadata"]["name"])

    made = await asyncio.gather(*(make() for _ in range(count)))
    for name in made:
        await eventually(partial(_is, running, name, {"Running"}), what=f"{name} runs", timeout_seconds=600)
    return list(made)


async def _is(running: Rig, name: str, phases: set[str] | frozenset[str]) -> bool:
    task = await running.kube.get(TASKS, running.namespace, name)
    return task.get("status", {}).get("phase") in phases


async def _reaction(running: Rig) -> float:
    """The operator's own part of a task: from its creation to its Job, and from the pod's end to the outcome."""
    ends = Ends(_task_is_over)
    following = asyncio.create_task(ends.follow(running.kubeconfig, TASKS, running.namespace))
    took = []
    try:
        async with watching(running) as moments:
            await asyncio.sleep(1)  # until all watches stand
            for _ in range(REACTIONS):
                task = bare_task(SHORT)
                name, sent = task["metadata"]["name"], time.monotonic()
                await running.kube.create(TASKS, running.namespace, task)
                await eventually(partial(_has, ends.at, name), what=f"{name} is over", timeout_seconds=60)
                await eventually(partial(_has, moments.terminated, name), what=f"the pod of {name} is over")
                took.append(moments.job_posted[name] - sent + max(0.0, ends.at[name] - moments.terminated[name]))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    return p50(took)


async def _has(moments: Mapping[str, float], name: str) -> bool:
    return name in moments


async def _finish(running: Rig, names: list[str]) -> None:
    """End tasks as their pods would: by a result that the task endpoint has written."""
    result = json.dumps({"content": [{"type": "text", "text": "x" * RESULT_BYTES}]})
    places = asyncio.Semaphore(AT_ONCE)

    async def end(name: str) -> None:
        async with places:
            patch = {"status": {"report": {"result": result}}}
            await running.kube.patch(TASKS, running.namespace, name, patch, subresource="status")

    await asyncio.gather(*(end(name) for name in names))
    for name in names:
        await eventually(partial(_is, running, name, TERMINAL), what=f"{name} is over", timeout_seconds=600)


async def _requests(running: Rig) -> float:
    """All requests of the operator so far, by its own count."""
    async with aiohttp.ClientSession() as session, session.get(running.operator_metrics_url) as answer:
        text = await answer.text()
    return sum(float(value) for value in re.findall(r"^\w+_api_requests_total\{.*\} (\S+)$", text, re.MULTILINE))


def _tool(name: str, labels: Mapping[str, str]) -> Json:
    spec = {"description": "Runs on a simulated node", "job": {"template": pod_template(labels)}}
    # A start on a busy control plane takes its time, and a rate of 4 Jobs a second makes the last one wait for minutes.
    limits = {"startDeadlineSeconds": 3600, "timeoutSeconds": 7200}
    return {
        "apiVersion": "mcptasks.dev/v1alpha1",
        "kind": "McpTool",
        "metadata": {"name": name},
        "spec": {**spec, **limits},
    }


async def _measure(kubeconfig: Path, *, cluster: str, pods: int, part: Part) -> Found:
    async with AsyncExitStack() as stack:
        tools = [_tool(SHORT, ENDS), _tool(LONG, {})]
        kube = await stack.enter_async_context(await Kube.connect(kubeconfig=kubeconfig))
        log = kubeconfig.with_name("kwok.log")
        nodes = simulated_nodes(kube, kubeconfig=kubeconfig, pods=pods, log=log)
        programs = _control_plane(cluster) | {"simulated nodes": await stack.enter_async_context(nodes)}
        running = await stack.enter_async_context(rig(kubeconfig=kubeconfig, operator=True, tools=tools))
        assert running.operator_pid is not None
        ours = {"operator": running.operator_pid, "server": running.server_pid, "this benchmark": os.getpid()}
        return await part(running, programs | ours)


def _control_plane(cluster: str) -> dict[str, int]:
    components = read_report(cluster_paths(cluster)).components
    return {name: state.pid for name, state in components.items() if name in CONTROL_PLANE and state.pid is not None}


def _devcluster(*arguments: str) -> str:
    command = [sys.executable, "-m", "mcptasks_devcluster", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


async def _throughput(running: Rig, programs: Mapping[str, int], *, qps: int, count: int) -> Found:
    return {_throughput_at(qps): await throughput(running, count=count, programs=programs)}


async def _throughput_apart(running: Rig, programs: Mapping[str, int], *, qps: int, count: int) -> Found:
    """The same where the control plane has a processor of its own, as it mostly has: an operator is on some node."""
    control_plane = [pid for name, pid in programs.items() if name in CONTROL_PLANE]
    set_apart(control_plane, [pid for name, pid in programs.items() if name not in CONTROL_PLANE])
    found = await throughput(running, count=count, programs=programs)
    return {f"{_throughput_at(qps)}, control plane apart": found}


async def _many_tasks(running: Rig, _: Mapping[str, int], *, many: int) -> Found:
    return await many_tasks(running, many=many)


def main() -> int:
    """Measure everything; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", default="scale", help="the development cluster's name; a new one for each part")
    parser.add_argument("--tasks", type=int, default=1000, help="how many, of everything")
    parser.add_argument("--qps", type=int, action="append", help="kube-controller-manager's --kube-api-qps")
    parser.add_argument("--only", choices=("throughput", "apart", "live"), help="measure this alone")
    arguments = parser.parse_args()
    count: int = arguments.tasks
    parts: list[tuple[int, Part]] = []
    if arguments.only in (None, "throughput"):
        qps_values: list[int] = arguments.qps or [DEFAULT_QPS, HIGH_QPS]
        parts += [(qps, partial(_throughput, qps=qps, count=count)) for qps in qps_values]
    if arguments.only in (None, "apart"):
        parts.append((HIGH_QPS, partial(_throughput_apart, qps=HIGH_QPS, count=count)))
    if arguments.only in (None, "live"):
        parts.append((HIGH_QPS, partial(_many_tasks, many=count)))
    found: Found = {}
    for qps, part in parts:
        with suppress(subprocess.CalledProcessError):
            _devcluster("down", "--name", arguments.cluster)
        up = ("up", "--name", arguments.cluster, "--provider", "local", "--kcm-qps", str(qps))
        kubeconfig = Path(_devcluster(*up))
        try:
            # Pods of bare Jobs and of tasks, those that are over among them, until their objects are gone.
            found |= asyncio.run(_measure(kubeconfig, cluster=arguments.cluster, pods=3 * count + 500, part=part))
        finally:
            _devcluster("down", "--name", arguments.cluster)
        write(LATEST, {**written(LATEST), **found})
    Console().print(table_of(found, goals(many=count)))
    return not all_met(found, goals(many=count))


if __name__ == "__main__":
    sys.exit(main())
