"""A loopback port of this machine that leads to one pod, whatever kind of cluster the pod is in."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcptasks_devcluster.errors import CommandError
from mcptasks_devcluster.programs import program

_START_SECONDS = 30.0


@asynccontextmanager
async def forwarded(pod: str, port: int, *, kubeconfig: Path, namespace: str) -> AsyncIterator[str]:
    """The pod's port as `http://127.0.0.1:PORT`, for as long as the context lasts.

    Raises:
        CommandError: the pod cannot be reached.
    """
    process = await asyncio.create_subprocess_exec(
        program("kubectl"),
        *("port-forward", "--namespace", namespace, f"pod/{pod}", f":{port}", "--address", "127.0.0.1"),
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    reading: asyncio.Task[bytes] | None = None
    try:
        async with asyncio.timeout(_START_SECONDS):
            line = (await process.stdout.readline()).decode()
        if (found := re.match(r"Forwarding from 127\.0\.0\.1:(\d+)", line)) is None:
            raise CommandError(f"{pod} in {namespace} cannot be reached: kubectl port-forward says {line!r}")
        # What it prints for each connection is of no use, but must be read.
        reading = asyncio.create_task(process.stdout.read())
        yield f"http://127.0.0.1:{found[1]}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        if reading is not None:
            await reading
