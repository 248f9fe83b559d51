"""An operator's memory after many tasks is what it was after few; they come and go at a real API server."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import pytest

from mcptasks_chaos.crowd import crowd
from mcptasks_crds import names
from mcptasks_crds.kube import TASKS, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.services import Services, services
from mcptasks_operator.testing.world import tool_manifest

pytestmark = [pytest.mark.apiserver, pytest.mark.chaos, pytest.mark.timeout(3600)]

TASKS_IN_ALL: Final = int(os.environ.get("MCPTASKS_CHAOS_MEMORY_TASKS") or 0)
FEW: Final = 200
MOST_GROWTH: Final = 1.3
AT_ONCE: Final = 50
KEPT_SECONDS: Final = 20
RESULT: Final = "x" * 4000


@pytest.fixture
async def operator(kube: Kube, kubeconfig: Path, namespace: str, tmp_path: Path) -> AsyncIterator[Services]:
    """An operator at work, and a tool. It has no rival: its Lease lasts, that a busy machine does not end its life."""
    await kube.create(TOOLS, namespace, tool_manifest("echo"))
    lasting = {"MCPTASKS_LEASE_SECONDS": "60"}
    async with services(kubeconfig=kubeconfig, namespace=namespace, environment=lasting, logs=tmp_path) as running:
        await running.start("operator")
        yield running


@pytest.mark.skipif(not TASKS_IN_ALL, reason="takes many minutes: make chaos-memory")
async def test_memory_after_two_thousand_tasks_is_what_it_was_after_two_hundred(
    kube: Kube, namespace: str, operator: Services, show: Callable[[str], None]
) -> None:
    async with crowd(kube, namespace, result=RESULT):
        await go_through(kube, namespace, operator, FEW)
        after_few = memory(operator)
        await go_through(kube, namespace, operator, TASKS_IN_ALL - FEW)
        after_all = memory(operator)

    said = f"{after_few / 2**20:.1f} MiB after {FEW} tasks, {after_all / 2**20:.1f} MiB after {TASKS_IN_ALL}"
    show(said)
    assert after_all <= MOST_GROWTH * after_few, said


async def go_through(kube: Kube, namespace: str, running: Services, count: int) -> None:
    """Make so many tasks, some at a time, and wait until all have ended and were deleted."""

    async def left() -> int:
        assert running.processes["operator"].returncode is None, "the operator has ended by itself"
        page = await kube.list_metadata(TASKS, namespace, limit="1")
        return len(page["items"] or ()) + int(page["metadata"].get("remainingItemCount", 0))

    for begin in range(0, count, AT_ONCE):
        made = [call(kube, namespace) for _ in range(min(AT_ONCE, count - begin))]
        await asyncio.gather(*made)

        async def few_left() -> bool:
            return await left() <= 4 * AT_ONCE

        await eventually(few_left, what="tasks end and go", timeout_seconds=300)

    async def none_left() -> bool:
        return await left() == 0

    await eventually(none_left, what="all tasks are gone", timeout_seconds=300)


async def call(kube: Kube, namespace: str) -> None:
    manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": names.new_task_id()},
        "spec": {"tool": {"name": "echo"}, "arguments": '{"text": "hi"}', "retentionSeconds": KEPT_SECONDS},
    }
    await kube.create(TASKS, namespace, manifest)


def memory(running: Services) -> int:
    """The operator's resident set, in bytes."""
    status = Path(f"/proc/{running.processes['operator'].pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
