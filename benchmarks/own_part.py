"""Our own part of a task's time, paired task by task.

`(tools/call sent until the Job's POST is seen) + (the container seen terminated by the benchmark's own watch until the
result is at a client that polls every 10 ms)`, over one API-server write of the same run. What the container itself
takes (0.8 to 1.9 s, the phase of the kubelet's polling) is printed, and is in no ratio of ours.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from benchmarks.rig import Moments, Rig, p50, percentile, watching

from mcptasks_crds.base import Json
from mcptasks_devcluster.eventually import eventually

POLL_SECONDS: Final = 0.010
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, kw_only=True)
class Timed:
    """One task's times, in seconds."""

    before: float
    after: float
    whole: float
    complete: float
    write: float


def tool(name: str, *, image: str, script: str) -> Json:
    """A tool that runs one line of shell."""
    container = {"name": "tool", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", script]}
    return {
        "apiVersion": "mcptasks.dev/v1alpha1",
        "kind": "McpTool",
        "metadata": {"name": name},
        "spec": {"description": "Does next to nothing", "job": {"template": {"spec": {"containers": [container]}}}},
    }


def tools(image: str) -> list[Json]:
    """One tool for each road that a result takes."""
    return [
        tool("by-result-file", image=image, script='echo done > "$MCPTASK_RESULT"'),
        tool("by-log", image=image, script="echo done"),
    ]


async def measure(rig: Rig, *, name: str, count: int) -> dict[str, float]:
    """Run `count` tasks of a tool one after the other; returns the figures by name."""
    async with watching(rig) as moments:
        timed = [await _one(rig, moments, name) for _ in range(count)]
    write = p50([item.write for item in timed])
    own = [item.before + item.after for item in timed]
    return {
        "tasks": count,
        "api_server_write_ms_p50": write * 1000,
        "call_until_job_ms_p50": p50([item.before for item in timed]) * 1000,
        "end_until_result_ms_p50": p50([item.after for item in timed]) * 1000,
        "own_part_ms_p50": p50(own) * 1000,
        "own_part_ms_p95": percentile(own, 0.95) * 1000,
        "own_part_per_write_p50": p50(own) / write,
        "whole_s_p50": p50([item.whole for item in timed]),
        "container_s_p50": p50([item.whole - item.before - item.after for item in timed]),
        "whole_per_job_complete_p50": p50([item.whole / item.complete for item in timed]),
    }


async def _one(rig: Rig, moments: Moments, name: str) -> Timed:
    write = await rig.bare_write()
    sent = time.monotonic()
    task = await rig.client.call(name, {})
    seen = await rig.client.get(task)
    while seen["status"] not in TERMINAL:
        await asyncio.sleep(POLL_SECONDS)
        seen = await rig.client.get(task)
    got = time.monotonic()
    if seen["status"] != "completed" or "done" not in seen["result"]["content"][0]["text"]:
        raise RuntimeError(f"{task} did not end well: {seen}")
    await eventually(lambda: _is_complete(moments, task), what=f"the Job {task} is complete")
    return Timed(
        before=moments.job_posted[task] - sent,
        after=got - moments.terminated[task],
        whole=got - sent,
        complete=moments.job_complete[task] - sent,
        write=write,
    )


async def _is_complete(moments: Moments, task: str) -> bool:
    return task in moments.job_complete
