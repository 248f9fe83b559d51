"""Nothing that a tool or a caller can make large keeps the operator's event loop to itself."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from mcptasks_crds import limits, names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kind
from mcptasks_devcluster.holds import longest_hold
from mcptasks_operator.drift import Drift
from mcptasks_operator.keys import Key
from mcptasks_operator.resync import Resync
from mcptasks_operator.testing.cluster import FakeCluster
from mcptasks_operator.testing.desk import NAMESPACE, Desk
from mcptasks_operator.testing.kubelet import running, terminated

MOST_SECONDS: Final = 0.1
LOG_BYTES: Final = 100 * 1024 * 1024
LOGS: Final = {
    "many short lines": b"0123456\n" * 8192,
    "one line": b"x" * 65536,
    "no text": bytes(range(256)) * 256,
}


class Talkative(FakeCluster):
    """Whose pods have written 100 MB."""

    chunk = b""

    async def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        for _ in range(LOG_BYTES // len(self.chunk)):
            yield self.chunk


@pytest.mark.parametrize("kind", list(LOGS))
async def test_a_log_of_100_mb_is_read_in_small_steps(kind: str) -> None:
    cluster = Talkative(now=datetime(2026, 11, 30, tzinfo=UTC))
    cluster.chunk = LOGS[kind]
    desk = Desk(cluster=cluster)
    desk.tool()
    task = desk.task()
    await desk.tasks.reconcile(task)
    desk.see()
    desk.pod(task, terminated(cluster.now))

    with longest_hold() as hold:
        await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Completed"
    assert hold.seconds < MOST_SECONDS, hold.by


SHAPES: Final[dict[str, Any]] = {
    "a text": {"text": "x" * 200_000},
    "numbers": {"numbers": [1] * 80_000},
    "small objects": {"rows": [{"k": 1}] * 25_000},
}


@pytest.mark.parametrize("shape", list(SHAPES))
async def test_the_largest_arguments_and_the_largest_result_are_handled_in_small_steps(shape: str) -> None:
    desk = Desk()
    schema = {"type": "object", "additionalProperties": True}
    desk.tool(inputSchema=schema, outputSchema=schema)
    text = json.dumps({"content": [], "structuredContent": SHAPES[shape]})
    assert len(text) <= limits.RESULT_STORED_BYTES
    task = desk.task(arguments=json.dumps({"text": "y" * 12_000}))

    with longest_hold() as hold:
        await desk.tasks.reconcile(task)
        desk.see()
        desk.pod(task, running(desk.cluster.now))
        await desk.tasks.reconcile(task)
        report = {"result": text, "attempt": 1}
        await give(desk, task, report)
        await desk.tasks.reconcile(task)

    assert desk.status(task)["phase"] == "Completed", desk.status(task)
    assert hold.seconds < MOST_SECONDS, hold.by


async def give(desk: Desk, task: str, report: Json) -> None:
    await desk.cluster.patch(TASKS, NAMESPACE, task, {"status": {"report": report}}, subresource="status")
    desk.see()


async def test_five_thousand_tasks_are_listed_in_small_steps() -> None:
    desk = Desk()
    for number in range(5_000):
        name = f"mt-{number:026}"
        desk.cluster.put(TASKS, NAMESPACE, {"metadata": {"name": name}, "spec": {"tool": {"name": "echo"}}})
        for kind in (JOBS, PODS):
            labels = {names.MANAGED_BY_LABEL: names.MANAGED_BY, names.TASK_LABEL: name}
            desk.cluster.put(kind, NAMESPACE, {"metadata": {"name": name, "labels": labels}, "spec": {}})
    desk.see()
    queued: list[Key] = []
    resync = Resync(
        cluster=desk.cluster,
        namespace=NAMESPACE,
        store=desk.store,
        drift=Drift(lambda: 0.0),
        enqueue=queued.append,
        clock=lambda: 0.0,
        catch_up_seconds=0.0,
    )

    with longest_hold() as hold:
        await resync.once()

    assert len(queued) >= 5_000
    assert hold.seconds < MOST_SECONDS, hold.by
