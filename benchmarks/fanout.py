"""A status written in the cluster until a thousand listening clients have it, and what one that listens costs.

The time runs from sending the write to the API server, so the write itself is in it; it is printed beside.
"""

import asyncio
import json
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from benchmarks import listeners
from benchmarks.rig import Rig, bare_task, cpu_seconds, message, p50, percentile, resident_bytes, rig
from benchmarks.wrk import raw_request

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS
from mcptasks_devcluster.eventually import eventually

LISTENERS: Final = 1000
QUIET_SECONDS: Final = 0.5
"""Between two writes: long enough that one is done before the next."""
GIVE_UP_SECONDS: Final = 60.0


async def measure(*, kubeconfig: Path, writes: int) -> dict[str, float]:
    """Returns the figures by name."""
    token = secrets.token_hex(32)
    async with rig(kubeconfig=kubeconfig, operator=False, token=token) as running:
        task = await _running_task(running)
        before = resident_bytes(running.server_pid)
        async with _audience(running, task, token=token) as news:
            # The task tells `news-0` from the beginning: whoever listens is told it at first.
            await _heard(news, 0)
            memory = (resident_bytes(running.server_pid) - before) / LISTENERS
            used = cpu_seconds(running.server_pid)
            writing: list[float] = []
            heard: list[float] = []
            for number in range(1, writes + 1):
                await asyncio.sleep(QUIET_SECONDS)
                sent = time.monotonic()
                await _tell(running, task, number)
                writing.append(time.monotonic() - sent)
                heard += [at - sent for at in await _heard(news, number)]
            used = cpu_seconds(running.server_pid) - used
    return {
        "listeners": LISTENERS,
        "writes": writes,
        "write_ms_p50": p50(writing) * 1000,
        "heard_ms_p50": p50(heard) * 1000,
        "heard_ms_p99": percentile(heard, 0.99) * 1000,
        "heard_ms_max": max(heard) * 1000,
        "heard_p99_per_write": percentile(heard, 0.99) / p50(writing),
        "cpu_us_per_message": used / (writes * LISTENERS) * 1e6,
        "kib_per_idle_listener": memory / 1024,
    }


async def _running_task(running: Rig) -> str:
    made = await running.kube.create(TASKS, running.namespace, bare_task("told"))
    name, now = str(made["metadata"]["name"]), made["metadata"]["creationTimestamp"]
    job = {"name": "told", "uid": "job", "podName": "told-0", "podUID": "pod"}
    status = {"phase": "Running", "startedAt": now, "lastUpdatedAt": now, "attempts": 1, "job": job}
    await running.kube.patch(TASKS, running.namespace, name, {"status": status}, subresource="status")
    await _tell(running, name, 0)
    await eventually(lambda: _tells(running, name), what="the server has seen the task")
    return name


async def _tells(running: Rig, name: str) -> bool:
    return "news-0;" in ((await running.client.get(name)).get("statusMessage") or "")


async def _tell(running: Rig, name: str, number: int) -> None:
    progress: Json = {"progress": float(number), "message": f"news-{number};", "podUID": "pod"}
    status = {"report": {"progress": progress}}
    await running.kube.patch(TASKS, running.namespace, name, {"status": status}, subresource="status")


@asynccontextmanager
async def _audience(running: Rig, task: str, *, token: str) -> AsyncIterator[asyncio.StreamReader]:
    """All listeners, begun; what they print."""
    headers, body = message("subscriptions/listen", "", token=token, notifications={"taskIds": [task]})
    del headers["Mcp-Name"]
    where = urlsplit(running.url)
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw_request(running.url, method="POST", headers=headers, body=json.dumps(body).encode()))
        file.flush()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", listeners.__name__),
            *(str(where.hostname), str(where.port), str(LISTENERS), file.name),
            stdout=asyncio.subprocess.PIPE,
            limit=2**20,
        )
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.terminate()
            await process.wait()


async def _heard(news: asyncio.StreamReader, number: int) -> list[float]:
    """When each listener had a piece of news."""
    async with asyncio.timeout(GIVE_UP_SECONDS):
        while line := await news.readline():
            heard = json.loads(line)
            if heard["news"] == number:
                at: list[float] = heard["at"]
                return at
    raise RuntimeError("the process of the listeners has ended")
