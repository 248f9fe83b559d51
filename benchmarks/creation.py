"""`tools/call` until `CreateTaskResult`, over a bare create of a McpTask by the same HTTP client, one connection each.

No operator runs: what is compared is the server's own work around the one write that both do.
"""

import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from benchmarks.rig import Rig, bare_task, p50, percentile
from kubernetes.aio import client, config

from mcptasks_crds.kube import TASKS


async def measure(rig: Rig, *, name: str, count: int) -> dict[str, float]:
    """Alternate between both, `count` times; returns the figures by name."""
    calls: list[float] = []
    bare: list[float] = []
    async with _bare_session(rig.kubeconfig) as (session, host):
        url = host + TASKS.path(rig.bare_namespace)
        for _ in range(count):
            started = time.monotonic()
            async with session.post(url, json=bare_task(name)) as response:
                await response.read()
                response.raise_for_status()
            bare.append(time.monotonic() - started)
            started = time.monotonic()
            await rig.client.call(name, {})
            calls.append(time.monotonic() - started)
    return {
        "pairs": count,
        "bare_create_ms_p50": p50(bare) * 1000,
        "call_ms_p50": p50(calls) * 1000,
        "call_ms_p99": percentile(calls, 0.99) * 1000,
        "call_per_bare_create_p50": p50(calls) / p50(bare),
    }


@asynccontextmanager
async def _bare_session(kubeconfig: Path) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    settings = client.Configuration()
    await config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)
    context = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    headers = {}
    token = await settings.get_api_key_with_prefix("BearerToken")
    if token:
        headers["Authorization"] = token
    connector = aiohttp.TCPConnector(limit=1, ssl=context)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield session, settings.host
