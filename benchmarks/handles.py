"""`tools/call` until the client has the handle, by one connection: ours, written into the cluster, beside fastmcp's,
written into a Redis without a disk. No operator runs, and fastmcp's function only sleeps.

Each is called some times in a row, then left in peace for a moment: what one goes on doing after it has answered shall
not be in the other's time.
"""

import asyncio
import time
from typing import Final

from benchmarks.rig import McpClient, Rig, p50, percentile
from benchmarks.rivals import TOOL, fastmcp, redis

IN_A_ROW: Final = 20
PEACE_SECONDS: Final = 0.3


async def measure(running: Rig, *, name: str, count: int) -> dict[str, float]:
    """Call each `count` times, in turn; returns the figures by name."""
    ours: list[float] = []
    theirs: list[float] = []
    async with redis() as docket, fastmcp(docket=docket) as (rival, _):
        for client, tool in ((running.client, name), (rival, TOOL)):
            await client.call(tool, {})  # the first one finds cold caches
        for _ in range(count // IN_A_ROW):
            for client, tool, taken in ((running.client, name, ours), (rival, TOOL, theirs)):
                taken += [await _timed(client, tool) for _ in range(IN_A_ROW)]
                await asyncio.sleep(PEACE_SECONDS)
    return {
        "calls": len(ours),
        "ours_ms_p50": p50(ours) * 1000,
        "ours_ms_p99": percentile(ours, 0.99) * 1000,
        "fastmcp_redis_ms_p50": p50(theirs) * 1000,
        "fastmcp_redis_ms_p99": percentile(theirs, 0.99) * 1000,
        "ours_per_fastmcp_redis_p50": p50(ours) / p50(theirs),
    }


async def _timed(client: McpClient, tool: str) -> float:
    began = time.monotonic()
    await client.call(tool, {})
    return time.monotonic() - began
