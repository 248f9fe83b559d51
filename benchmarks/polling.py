"""`tasks/get` under load by `wrk`: our one server process beside the API server and beside fastmcp.

All are asked in turn, a few seconds each, several rounds; each round gives a ratio, and the middle one counts. Half of
our tasks run and tell their progress, half are finished and hold a result. Callers are checked by tokens.
"""

import asyncio
import itertools
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from benchmarks.apiserver import reads_of_tasks, service_account
from benchmarks.rig import Rig, bare_task, cpu_seconds, message, p50, rig
from benchmarks.rivals import IN_MEMORY, TOOL, fastmcp
from benchmarks.wrk import Load, Target, raw_request

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS
from mcptasks_devcluster.eventually import eventually

TASKS_POLLED: Final = 1000
AT_ONCE: Final = 16
NEWS_SECONDS: Final = 1.0
"""How often something changes in the namespace meanwhile, as it does wherever tasks run."""


async def measure(*, kubeconfig: Path, rounds: int, seconds: float) -> dict[str, float]:
    """Returns the figures by name."""
    token = secrets.token_hex(32)
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(rig(kubeconfig=kubeconfig, operator=False, token=token))
        names = await _tasks(running)
        account = await stack.enter_async_context(service_account(running.kube, running.namespace))
        host = running.kube.configuration.host
        theirs, their_url = await stack.enter_async_context(fastmcp(docket=IN_MEMORY))
        their_tasks = [await theirs.call(TOOL, {}) for _ in range(TASKS_POLLED)]
        targets = {
            "ours": Target(url=running.url, requests=_polls(running.url, names, token=token)),
            "quorum": Target(url=host, requests=_reads(host, running.namespace, names, account)),
            "cached": Target(url=host, requests=_reads(host, running.namespace, names, account, cached=True)),
            "fastmcp": Target(url=their_url, requests=_polls(their_url, their_tasks)),
        }
        await eventually(lambda: _all_are_shown(running, names[-1]), what="the tasks are known to the server")
        for target in targets.values():
            await target.load(seconds=1)  # the first requests find cold caches
        found: dict[str, list[Load]] = {name: [] for name in targets}
        used, taken = 0.0, 0.0
        async with _news(running, names[0]):
            for _ in range(rounds):
                for name, target in targets.items():
                    before = cpu_seconds(running.server_pid), await reads_of_tasks(running.kube)
                    found[name].append(await target.load(seconds=seconds))
                    if name == "ours":
                        used += cpu_seconds(running.server_pid) - before[0]
                        taken += await reads_of_tasks(running.kube) - before[1]
    answered = sum(load.per_second * seconds for load in found["ours"])
    return {
        "rounds": rounds,
        **{f"{name}_per_s": p50([load.per_second for load in loads]) for name, loads in found.items()},
        "ours_ms_p50": p50([load.p50_ms for load in found["ours"]]),
        "ours_ms_p99": p50([load.p99_ms for load in found["ours"]]),
        "ours_cpu_us": used / answered * 1e6,
        "ours_per_quorum_read": _ratio(found["ours"], found["quorum"]),
        "ours_per_cached_read": _ratio(found["ours"], found["cached"]),
        "ours_per_fastmcp": _ratio(found["ours"], found["fastmcp"]),
        "api_server_reads": taken,
    }


def _ratio(ours: Sequence[Load], theirs: Sequence[Load]) -> float:
    return p50([one.per_second / other.per_second for one, other in zip(ours, theirs, strict=True)])


def _polls(url: str, names: Sequence[str], *, token: str | None = None) -> list[bytes]:
    found: list[bytes] = []
    for name in names:
        headers, body = message("tasks/get", name, token=token, taskId=name)
        found.append(raw_request(url, method="POST", headers=headers, body=json.dumps(body).encode()))
    return found


def _reads(host: str, namespace: str, names: Sequence[str], token: str, *, cached: bool = False) -> list[bytes]:
    """GETs of the objects. `cached`: from the API server's own cache, however old; else as new as they are in etcd."""
    query = "?resourceVersion=0" if cached else ""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    return [
        raw_request(f"{host}{TASKS.path(namespace)}/{name}{query}", method="GET", headers=headers) for name in names
    ]


async def _tasks(running: Rig) -> list[str]:
    places = asyncio.Semaphore(AT_ONCE)

    async def make(number: int) -> str:
        async with places:
            made = await running.kube.create(TASKS, running.namespace, bare_task("polled"))
            name = str(made["metadata"]["name"])
            now = made["metadata"]["creationTimestamp"]
            status = _finished(now) if number % 2 else _working(now, progress=number)
            await running.kube.patch(TASKS, running.namespace, name, {"status": status}, subresource="status")
            return name

    return list(await asyncio.gather(*(make(number) for number in range(TASKS_POLLED))))


def _working(now: str, *, progress: float) -> Json:
    job = {"name": "polled", "uid": "job", "podName": "polled-0", "podUID": "pod"}
    report = {"progress": {"progress": progress, "total": 1e6, "message": "adding numbers", "podUID": "pod"}}
    return {"phase": "Running", "startedAt": now, "lastUpdatedAt": now, "attempts": 1, "job": job, "report": report}


def _finished(now: str) -> Json:
    result = json.dumps({"content": [{"type": "text", "text": "the sum is 42\n" * 8}], "isError": False})
    return {
        "phase": "Completed",
        "reason": "Succeeded",
        "attempts": 1,
        "exitCode": 0,
        "result": {"inline": result},
        "startedAt": now,
        "lastUpdatedAt": now,
        "finishedAt": now,
    }


async def _all_are_shown(running: Rig, name: str) -> bool:
    return (await running.client.get(name))["status"] in {"working", "completed"}


@asynccontextmanager
async def _news(running: Rig, name: str) -> AsyncIterator[None]:
    """One task's progress, written again and again."""

    async def tell(number: float) -> None:
        status = {"report": {"progress": {"progress": number}}}
        await running.kube.patch(TASKS, running.namespace, name, {"status": status}, subresource="status")

    async def go_on() -> None:
        for number in itertools.count(2.0):
            await asyncio.sleep(NEWS_SECONDS)
            await tell(number)

    await tell(1.0)  # the server shall hear of something before it is asked
    telling = asyncio.create_task(go_on())
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
