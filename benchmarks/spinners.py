"""A client that polls a task while ten functions of a tool pack compute without pause in the same process.

Once with Python's own switch interval and once with ours, in turn, several rounds. No goal: it shows what one gets who
computes in the server (docs/toolpacks.md says not to).
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
from benchmarks import spinning
from benchmarks.rig import McpClient, Rig, bare_task, p50, percentile, rig

from mcptasks_crds.kube import TASKS
from mcptasks_server.toolpack.running import SWITCH_SECONDS

CALLS: Final = 10
ROUNDS_OF_ONE: Final = 500_000
"""Some tenths of a second of one processor."""
PAUSE_SECONDS: Final = 0.01
INTERVALS: Final = {"python": 0.005, "ours": SWITCH_SECONDS}


async def measure(*, kubeconfig: Path, rounds: int, seconds: float) -> dict[str, float]:
    """Returns the figures by name: how long a poll took, and how many functions were done a second."""
    token = secrets.token_hex(32)
    environment = {
        "MCPTASKS_TOOLPACKS": f"{spinning.__name__}:pack",
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    polls: dict[str, list[float]] = {name: [] for name in INTERVALS}
    done: dict[str, list[float]] = {name: [] for name in INTERVALS}
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(
            rig(kubeconfig=kubeconfig, operator=False, environment=environment, token=token)
        )
        task = await running.kube.create(TASKS, running.namespace, bare_task("polled"))
        name = str(task["metadata"]["name"])
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        caller = McpClient(session, running.url, token=token)
        quiet = await _poll(running, name, seconds=seconds)
        for _ in range(rounds):
            for which, interval in INTERVALS.items():
                await _run(caller, "switch_interval", seconds=interval)
                async with _spinning(caller) as spun:
                    before = len(spun)
                    polls[which] += await _poll(running, name, seconds=seconds)
                    done[which].append((len(spun) - before) / seconds)
    return {
        "rounds": rounds,
        "alone_ms_p50": p50(quiet) * 1000,
        "alone_ms_max": max(quiet) * 1000,
        **{f"{which}_ms_p50": p50(taken) * 1000 for which, taken in polls.items()},
        **{f"{which}_ms_p99": percentile(taken, 0.99) * 1000 for which, taken in polls.items()},
        **{f"{which}_ms_max": max(taken) * 1000 for which, taken in polls.items()},
        **{f"{which}_functions_per_s": p50(rate) for which, rate in done.items()},
        "ours_per_python_p50": p50(polls["ours"]) / p50(polls["python"]),
    }


async def _run(caller: McpClient, tool: str, **arguments: float) -> None:
    result = await caller.request("tools/call", tool, name=tool, arguments=arguments)
    if result.get("isError"):
        raise RuntimeError(f"{tool}: {result}")


@asynccontextmanager
async def _spinning(caller: McpClient) -> AsyncIterator[list[float]]:
    """Ten calls at once, for ever; when each that was done ended."""
    ends: list[float] = []
    is_over = False

    async def again() -> None:
        while not is_over:
            await _run(caller, "spin", rounds=ROUNDS_OF_ONE)
            ends.append(time.monotonic())

    calls = [asyncio.create_task(again()) for _ in range(CALLS)]
    try:
        yield ends
    finally:
        is_over = True
        await asyncio.gather(*calls)


async def _poll(running: Rig, name: str, *, seconds: float) -> list[float]:
    taken: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        await running.client.get(name)
        taken.append(time.monotonic() - began)
        await asyncio.sleep(PAUSE_SECONDS)
    return taken
