"""`tools/call` until the client has the handle, by one connection: ours, written into the cluster, beside fastmcp's,
written into a Redis without a disk.

No operator runs. Of fastmcp there are two servers: one whose worker runs what it is given (a function that is done at
once), as that server is commonly run, and one whose worker is taken up by functions that only sleep, so that further
calls are queued and nothing of it works but what answers.

Each is called some times in a row, then left in peace for a moment: what one goes on doing after it has answered shall
not be in the other's time.
"""

import asyncio
import time
from typing import Final

from benchmarks.rig import McpClient, Rig, p50, percentile
from benchmarks.rivals import TOOL, fastmcp, redis

from mcptasks_crds.base import Json

IN_A_ROW: Final = 20
WORKERS: Final = 10
"""How many tasks fastmcp's worker runs at once."""
PEACE_SECONDS: Final = 0.3


async def measure(running: Rig, *, name: str, count: int) -> dict[str, float]:
    """Call each `count` times, in turn; returns the figures by name."""
    async with (
        redis() as docket,
        redis() as queue,
        fastmcp(docket=docket) as (working, _),
        fastmcp(docket=queue) as (queueing, _),
    ):
        for _ in range(WORKERS):
            await queueing.call(TOOL, {"seconds": 3600})
        called: dict[str, tuple[McpClient, str, Json]] = {
            "ours": (running.client, name, {}),
            "fastmcp_redis": (working, TOOL, {"seconds": 0}),
            "fastmcp_redis_queued": (queueing, TOOL, {"seconds": 3600}),
        }
        taken: dict[str, list[float]] = {which: [] for which in called}
        for client, tool, arguments in called.values():
            await client.call(tool, arguments)  # the first one finds cold caches
        for _ in range(count // IN_A_ROW):
            for which, (client, tool, arguments) in called.items():
                taken[which] += [await _timed(client, tool, arguments) for _ in range(IN_A_ROW)]
                await asyncio.sleep(PEACE_SECONDS)
    return {
        "calls": len(taken["ours"]),
        **{f"{which}_ms_p50": p50(times) * 1000 for which, times in taken.items()},
        **{f"{which}_ms_p99": percentile(times, 0.99) * 1000 for which, times in taken.items()},
        "ours_per_fastmcp_redis_p50": p50(taken["ours"]) / p50(taken["fastmcp_redis"]),
        "ours_per_fastmcp_redis_queued_p50": p50(taken["ours"]) / p50(taken["fastmcp_redis_queued"]),
    }


async def _timed(client: McpClient, tool: str, arguments: Json) -> float:
    began = time.monotonic()
    await client.call(tool, arguments)
    return time.monotonic() - began
