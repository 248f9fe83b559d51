"""A kubelet's part in a pod's life, played by writing pods' status: for clusters that have no node."""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import PODS, Kube, NotFoundError

MAIN: Final = "tool"
PATIENCE_SECONDS: Final = 30.0


def running(since: datetime) -> Json:
    """The status of a pod whose tool runs."""
    return _status("Running", {"running": {"startedAt": _second(since)}}, ready=True)


def waiting(reason: str, message: str = "") -> Json:
    """The status of a pod whose tool waits to run."""
    return _status("Pending", {"waiting": {"reason": reason, "message": message}})


def terminated(at: datetime, *, exit_code: int = 0, message: str | None = None, reason: str | None = None) -> Json:
    """The status of a pod whose tool ended."""
    ended: Json = {
        "exitCode": exit_code,
        "reason": reason or ("Error" if exit_code else "Completed"),
        "startedAt": _second(at),
        "finishedAt": _second(at),
    }
    if message is not None:
        ended["message"] = message
    return _status("Failed" if exit_code else "Succeeded", {"terminated": ended})


@dataclass(frozen=True, kw_only=True)
class FakeKubelet:
    """Plays the kubelet for the pods of one namespace."""

    kube: Kube
    namespace: str

    async def pods_of(self, task: str) -> list[Json]:
        """The pods of a task."""
        found = await self.kube.list(PODS, self.namespace, labelSelector=f"{names.TASK_LABEL}={task}")
        return list(found["items"])

    async def pod_of(self, task: str) -> str:
        """The name of a task's pod, once the Job controller has made it.

        Raises:
            TimeoutError: it does not.
        """
        selector = f"{names.TASK_LABEL}={task}"
        events = self.kube.watch(PODS, self.namespace, timeout_seconds=PATIENCE_SECONDS, labelSelector=selector)
        async with asyncio.timeout(PATIENCE_SECONDS), aclosing(events):
            async for event in events:
                return str(event["object"]["metadata"]["name"])
        raise TimeoutError(f"{task} has no pod")

    async def run(self, task: str) -> str:
        """Let a task's container run. Returns its pod."""
        pod = await self.pod_of(task)
        await self.set(pod, running(datetime.now(UTC)))
        return pod

    async def finish(self, task: str, *, exit_code: int = 0, message: str | None = None) -> None:
        """Let a task's container end."""
        await self.set(await self.pod_of(task), terminated(datetime.now(UTC), exit_code=exit_code, message=message))

    async def set(self, pod: str, status: Json) -> None:
        """Write a pod's status."""
        await self.kube.patch(PODS, self.namespace, pod, {"status": status}, subresource="status")

    async def bind(self, pod: str, node: str = "no-such-node") -> None:
        """Put a pod on a node: from then on, deleting it waits for its kubelet."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.kube.request("POST", PODS.path(self.namespace, pod, subresource="binding"), body=binding)

    async def let_go(self, pod: str) -> None:
        """The pod's processes have ended, and it may go."""
        with suppress(NotFoundError):
            await self.kube.request("DELETE", PODS.path(self.namespace, pod), body={"gracePeriodSeconds": 0})


def _status(phase: str, state: Json, *, ready: bool = False) -> Json:
    container = {
        "name": MAIN,
        "image": "image",
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }
    return {"phase": phase, "containerStatuses": [container]}


def _second(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
