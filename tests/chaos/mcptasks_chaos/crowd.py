"""A kubelet's part for many tasks at a time, on a cluster without nodes: each pod runs, and ends at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime

from mcptasks_crds import names
from mcptasks_crds.kube import PODS, GoneError, Kube, NotFoundError, RetryableError
from mcptasks_operator.testing.kubelet import FakeKubelet, terminated

_WATCH_SECONDS = 3600.0


@asynccontextmanager
async def crowd(kube: Kube, namespace: str, *, result: str) -> AsyncIterator[None]:
    """Let every pod of a task that comes end with that result, for as long as the context lasts."""
    ending = asyncio.create_task(_end_all(kube, namespace, result))
    try:
        yield
    finally:
        ending.cancel()
        with suppress(asyncio.CancelledError):
            await ending


async def _end_all(kube: Kube, namespace: str, result: str) -> None:
    kubelet = FakeKubelet(kube=kube, namespace=namespace)
    while True:
        selector = f"{names.MANAGED_BY_LABEL}={names.MANAGED_BY}"
        events = kube.watch(PODS, namespace, timeout_seconds=_WATCH_SECONDS, labelSelector=selector)
        with suppress(GoneError, RetryableError):
            async with aclosing(events):
                async for event in events:
                    pod = event["object"]
                    if event["type"] == "ADDED" and pod["status"]["phase"] == "Pending":
                        with suppress(NotFoundError):
                            await kubelet.set(pod["metadata"]["name"], terminated(datetime.now(UTC), message=result))
