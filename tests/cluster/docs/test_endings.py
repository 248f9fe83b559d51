"""Each end of docs/endings.md that can be brought about on a real node, as an MCP client sees it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from mcptasks import TaskHandle, TasksClient
from mcptasks.models import CancelledTask, CompletedTask, FailedTask, Task
from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kube
from mcptasks_crds.reasons import Reason
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.services import Services

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(300)]

WAIT_SECONDS: Final = 150
QUOTA: Final = {"metadata": {"name": "no-jobs"}, "spec": {"hard": {"count/jobs.batch": "0"}}}
ANY_OBJECT: Final = {"type": "object"}


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a task is brought to its end, and the words by which that is told."""

    words: str
    script: str = "true"
    spec: Json = field(default_factory=dict)
    """More of the tool's spec."""
    pod: Json = field(default_factory=dict)
    """More of the pod's spec."""
    container: Json = field(default_factory=dict)
    """More of the container."""

    def tool(self, name: str, image: str) -> Json:
        """The tool that ends so."""
        ours = {"name": "tool", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", self.script]}
        pod = {"containers": [ours | self.container], **self.pod}
        return {
            "apiVersion": names.API_VERSION,
            "kind": names.TOOL_KIND,
            "metadata": {"name": name},
            "spec": {"description": "Ends.", **self.spec, "job": {"template": {"spec": pod}}},
        }


SLEEP: Final = "trap 'exit 1' TERM; echo began; sleep 120 & wait"
LARGE: Final = """python3 -c 'print("{" + chr(34) + "x" + chr(34) + ":" + chr(34) + "<" * 60000 + chr(34) + "}")'"""
HUNGRY: Final = """exec python3 -c 'x = bytearray(200_000_000)'"""
FULL: Final = "dd if=/dev/zero of=/scratch/file bs=1M count=20 2>/dev/null; sleep 120"

BY_THEMSELVES: Final[dict[Reason, Ending]] = {
    Reason.SUCCEEDED: Ending(script="echo well > $MCPTASK_RESULT", words="well"),
    Reason.EXIT_CODE: Ending(script="echo no such branch; exit 3", words="no such branch\n\nexit code 3"),
    Reason.SIGNALLED: Ending(script="sh -c 'kill -KILL $$$$'; exit $?", words="exit code 137 (signal SIGKILL)"),
    Reason.OUT_OF_MEMORY: Ending(
        script=HUNGRY, container={"resources": {"limits": {"memory": "64Mi"}}}, words="more memory than its limit"
    ),
    Reason.RUN_LIMIT: Ending(script=SLEEP, spec={"timeoutSeconds": 2}, words="ran longer than its limit of 2 s"),
    Reason.OUTPUT_INVALID: Ending(script="echo [1]", spec={"outputSchema": ANY_OBJECT}, words="must be a JSON object"),
    Reason.IMAGE_INVALID: Ending(container={"image": "Not:An:Image"}, words="InvalidImageName"),
    Reason.CONTAINER_CANNOT_RUN: Ending(container={"command": ["no-such-program"]}, words="could not be started"),
    Reason.START_DEADLINE: Ending(
        pod={"nodeSelector": {"no": "node"}}, spec={"startDeadlineSeconds": 3}, words="waiting for a node"
    ),
    Reason.POD_FAILED: Ending(
        script=FULL,
        pod={"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]},
        container={"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]},
        words="Evicted",
    ),
    Reason.RESULT_TOO_LARGE: Ending(script=LARGE, spec={"outputSchema": ANY_OBJECT}, words="takes more room"),
}
"""Ends that come of the tool alone."""

FROM_OUTSIDE: Final[dict[Reason, Ending]] = {
    Reason.CANCELLED: Ending(script=SLEEP, words="cancelled"),
    Reason.JOB_DELETED: Ending(script=SLEEP, words="was deleted from outside"),
    Reason.POD_DELETED: Ending(script=SLEEP, words="was deleted"),
    Reason.JOB_REJECTED: Ending(words="exceeded quota"),
}
"""Ends for which somebody does something."""

COMPLETED: Final = {
    Reason.SUCCEEDED: False,
    Reason.EXIT_CODE: True,
    Reason.SIGNALLED: True,
    Reason.OUT_OF_MEMORY: True,
    Reason.RUN_LIMIT: True,
    Reason.OUTPUT_INVALID: True,
}
"""Whether the result says `isError`."""


@pytest.mark.requirement("uncovered/bad-ends")
async def test_each_end_is_what_the_page_says(
    running: Services,
    make_tools: Callable[..., Awaitable[None]],
    kube: Kube,
    namespace: str,
    image: str,
) -> None:
    """All at once: most of the time each of them waits for its node."""
    endings = {**BY_THEMSELVES, **FROM_OUTSIDE}
    await make_tools(*(ending.tool(str(reason).lower(), image) for reason, ending in endings.items()))
    async with TasksClient(running.url) as client:
        calls: dict[Reason, TaskHandle] = {}
        for reason in endings.keys() - {Reason.JOB_REJECTED}:
            calls[reason] = await call(client, reason)
        await asyncio.gather(*(interfere(kube, namespace, reason, calls[reason]) for reason in calls))
        await kube.request("POST", f"/api/v1/namespaces/{namespace}/resourcequotas", body=QUOTA)
        await eventually(lambda: is_counted(kube, namespace), what="the quota counts", timeout_seconds=30)
        calls[Reason.JOB_REJECTED] = await call(client, Reason.JOB_REJECTED)
        ended = await asyncio.gather(*(call.wait(timeout_seconds=WAIT_SECONDS) for call in calls.values()))

    seen = {reason: what_a_client_sees(task) for reason, task in zip(calls, ended, strict=True)}
    reasons = {reason: await reason_of(kube, namespace, call.id) for reason, call in calls.items()}
    assert reasons == {reason: str(reason) for reason in endings}
    assert {reason: shown for reason, (shown, _) in seen.items()} == {reason: expected(reason) for reason in calls}
    assert [reason for reason, (_, text) in seen.items() if endings[reason].words not in text] == [], seen


def expected(reason: Reason) -> tuple[str, object]:
    if reason in COMPLETED:
        return "completed", COMPLETED[reason]
    return ("cancelled", None) if reason is Reason.CANCELLED else ("failed", str(reason))


def what_a_client_sees(task: Task) -> tuple[tuple[str, object], str]:
    """The status, and beside it whether the result is an error or what the failure's reason is; and the text."""
    match task:
        case CompletedTask():
            return ("completed", task.result.is_error), task.result.text
        case FailedTask():
            assert task.error.code == -32603
            return ("failed", task.error.data["reason"]), task.error.message
        case CancelledTask():
            return ("cancelled", None), task.status_message or ""
        case _:
            return (str(task.status), None), ""


async def call(client: TasksClient, reason: Reason) -> TaskHandle:
    outcome = await client.call_tool(str(reason).lower())
    assert isinstance(outcome, TaskHandle)
    return outcome


async def interfere(kube: Kube, namespace: str, reason: Reason, task: TaskHandle) -> None:
    """Do what the end takes, once the tool runs."""
    if reason not in FROM_OUTSIDE:
        return

    async def runs() -> bool:
        found = await kube.get(TASKS, namespace, task.id)
        return "startedAt" in found.get("status", {})

    await eventually(runs, what=f"the task for {reason} runs", timeout_seconds=WAIT_SECONDS)
    match reason:
        case Reason.CANCELLED:
            await task.cancel()
        case Reason.JOB_DELETED:
            await kube.delete(JOBS, namespace, names.job_name(task.id))
        case Reason.POD_DELETED:
            pods = await kube.list(PODS, namespace, labelSelector=f"{names.TASK_LABEL}={task.id}")
            await kube.delete(PODS, namespace, pods["items"][0]["metadata"]["name"])
        case _:
            raise AssertionError(f"nobody knows how a task comes to the end {reason}")


async def is_counted(kube: Kube, namespace: str) -> bool:
    quota = json.loads(await kube.request("GET", f"/api/v1/namespaces/{namespace}/resourcequotas/no-jobs"))
    return "count/jobs.batch" in quota.get("status", {}).get("used", {})


async def reason_of(kube: Kube, namespace: str, task: str) -> Any:
    return (await kube.get(TASKS, namespace, task))["status"]["reason"]
