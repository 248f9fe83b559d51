"""Each end of docs/endings.md that can be brought about on a real node, as an MCP client sees it, and kubectl."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from mcptasks import TaskHandle, TasksClient
from mcptasks.models import CancelledTask, CompletedTask, FailedTask, Task
from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, JOBS, MERGE_PATCH, PODS, TASKS, Kube, RejectedError, RetryableError
from mcptasks_crds.reasons import Reason
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.services import Services
from mcptasks_operator.testing.endings import (
    BEFORE_THERE_IS_A_JOB,
    BESIDE_A_SIDECAR,
    BY_THEMSELVES,
    COMPLETED,
    END_UNKNOWN,
    NODE_LOST,
    SEAT,
    WHILE_IT_RUNS,
    Ending,
)
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.testing.wire import Wire

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(420)]

WAIT_SECONDS: Final = 180
NORMAL: Final = {Reason.SUCCEEDED, Reason.CANCELLED, Reason.DECLINED}
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
PRIORITIES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"


@dataclass(frozen=True, kw_only=True)
class Diary:
    """What was written down of tasks while they were watched."""

    messages: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What each task said while it was not over."""
    causes: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The reasons of its condition until then."""

    async def keep(self, kube: Kube, namespace: str) -> None:
        """Watch all tasks until cancelled."""
        while True:
            with suppress(RetryableError):
                async with aclosing(kube.watch(TASKS, namespace, timeout_seconds=60)) as changes:
                    async for change in changes:
                        self._note(change["object"])

    def _note(self, task: Json) -> None:
        status, name = task.get("status", {}), task["metadata"]["name"]
        for condition in status.get("conditions", ()):
            if condition["status"] == "Unknown":
                self.messages[name].append(status.get("message", ""))
                self.causes[name].add(condition["reason"])


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where it happens: a namespace with a quota, a limit and priorities, and a node with one seat."""

    kube: Kube
    namespace: str
    image: str
    words: dict[str, str]
    """How pods name these."""
    cluster: str


@pytest.fixture
async def stage(kube: Kube, namespace: str, image: str, pytestconfig: pytest.Config) -> AsyncIterator[Stage]:
    """The stage, set."""
    poor, there, rich = namespace, f"{namespace}-but-there", f"{namespace}-rich"
    node = json.loads(await kube.request("GET", "/api/v1/nodes"))["items"][0]["metadata"]["name"]
    for name, value in ((poor, -3), (there, -2), (rich, 1)):
        await kube.request("POST", PRIORITIES, body={"metadata": {"name": name}, "value": value})
    of_the_poor = {"scopeName": "PriorityClass", "operator": "In", "values": [poor]}
    quota = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [of_the_poor]}}
    await create_quota(kube, namespace, "no-pods", quota)
    limits = {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}
    path = f"/api/v1/namespaces/{namespace}/limitranges"
    await kube.request("POST", path, body={"metadata": {"name": "small"}, "spec": limits})
    await set_seats(kube, node, "1")
    words = {"poor": poor, "rich": rich, "node": node}
    yield Stage(kube=kube, namespace=namespace, image=image, words=words, cluster=pytestconfig.option.cluster_name)
    await set_seats(kube, node, None)
    for name in (poor, there, rich):
        await kube.request("DELETE", f"{PRIORITIES}/{name}")


@pytest.mark.requirement("uncovered/bad-ends")
@pytest.mark.requirement(
    "failures/f2-01", "failures/f2-09", "failures/f2-13", "failures/f2-14", "failures/f2-22", "failures/f2-23"
)
async def test_each_end_is_what_the_page_says(
    running: Services, make_tools: Callable[..., Awaitable[None]], stage: Stage
) -> None:
    """All at once: most of the time each of them waits for its node. The node's own troubles come last."""
    kube, namespace = stage.kube, stage.namespace
    lost = (END_UNKNOWN, NODE_LOST) if process_of(stage.cluster, "kubelet") is not None else ()
    endings = (*BY_THEMSELVES, *WHILE_IT_RUNS, *BEFORE_THERE_IS_A_JOB, *lost)
    await make_tools(*(ending.tool(stage.image, **stage.words) for ending in endings))
    diary, ends = Diary(), dict[Ending, Task]()
    writing = asyncio.create_task(diary.keep(kube, namespace))
    async with TasksClient(running.url) as client:
        calls = {ending: await call(client, ending) for ending in endings if ending not in BEFORE_THERE_IS_A_JOB}
        async with asyncio.TaskGroup() as group:
            for ending in WHILE_IT_RUNS:
                group.create_task(interfere(stage, ending.reason, calls[ending]))
            for ending in (each for each in endings if each.variant == BESIDE_A_SIDECAR):
                group.create_task(ends_before_its_sidecar(stage, calls[ending]))
        async with no_more_jobs(kube, namespace):
            calls |= {ending: await call(client, ending) for ending in BEFORE_THERE_IS_A_JOB}
            first = [ending for ending in endings if ending not in lost]
            waits = (calls[ending].wait(timeout_seconds=WAIT_SECONDS) for ending in first)
            ends |= zip(first, await asyncio.gather(*waits), strict=True)
        for ending in lost:
            await runs(kube, namespace, calls[ending].id)
            async with NODE_TROUBLES[ending](stage, calls[ending].id):
                ends[ending] = await calls[ending].wait(timeout_seconds=WAIT_SECONDS)
    writing.cancel()
    async with aiohttp.ClientSession() as session:
        older = await LegacyWire.connected(Wire(session, running.url), capabilities=EVERYTHING)
        shown = {ending.name: await what_an_older_client_sees(older, calls[ending].id) for ending in endings}

    assert shown == {each.name: expected_by_an_older_client(each.reason) for each in endings}
    seen = {ending.name: what_a_client_sees(task) for ending, task in ends.items()}
    assert {name: shown for name, (shown, _) in seen.items()} == {each.name: expected(each.reason) for each in endings}
    assert [each.name for each in endings if each.words not in seen[each.name][1]] == [], seen
    await check_what_kubectl_shows(kube, namespace, {ending: call.id for ending, call in calls.items()})
    silent = {
        each.name: diary.messages[calls[each].id]
        for each in endings
        if each.waits and not any(each.waits in message for message in diary.messages[calls[each].id])
    }
    assert silent == {}
    assert [
        each.name for each in endings if each.waits and expected_cause(each) not in diary.causes[calls[each].id]
    ] == []


async def check_what_kubectl_shows(kube: Kube, namespace: str, tasks: dict[Ending, str]) -> None:
    """The reason, the condition, and one Event of each end."""
    objects = {each["metadata"]["name"]: each["status"] for each in (await kube.list(TASKS, namespace))["items"]}
    statuses = {ending: objects[task] for ending, task in tasks.items()}
    assert {each.name: status["reason"] for each, status in statuses.items()} == {
        each.name: str(each.reason) for each in tasks
    }
    for ending, status in statuses.items():
        (condition,) = status["conditions"]
        shown = {key: condition[key] for key in ("type", "status", "reason")}
        succeeded = str(ending.reason is Reason.SUCCEEDED)
        assert shown == {"type": "Succeeded", "status": succeeded, "reason": ending.reason}
        assert condition["lastTransitionTime"] == status["finishedAt"]
    events = [each for each in (await kube.list(EVENTS, namespace))["items"] if each["regarding"]["kind"] == "McpTask"]
    told = Counter((each["regarding"]["name"], each["reason"], each["type"]) for each in events)
    assert told == Counter(
        (task, str(ending.reason), "Normal" if ending.reason in NORMAL else "Warning") for ending, task in tasks.items()
    )


def expected(reason: Reason) -> tuple[str, object]:
    if reason in COMPLETED:
        return "completed", COMPLETED[reason]
    return ("cancelled", None) if reason is Reason.CANCELLED else ("failed", str(reason))


def expected_by_an_older_client(reason: Reason) -> tuple[str, object]:
    status, what = expected(reason)
    return ("failed" if what is True else status), what


async def what_an_older_client_sees(client: LegacyWire, task_id: str) -> tuple[str, object]:
    """The same of a client of older versions, for which a tool error is a failure too."""
    status = (await client.call("tasks/get", {"taskId": task_id})).result["status"]
    answer = (await client.call("tasks/result", {"taskId": task_id})).body
    if "error" in answer:
        assert answer["error"]["code"] == -32603
        return status, (answer["error"].get("data") or {}).get("reason")
    return status, bool(answer["result"].get("isError"))


def expected_cause(ending: Ending) -> str:
    """What the condition says while it waits: what it will end with, where something stands in its way."""
    return "Pending" if ending.reason is Reason.START_DEADLINE else str(ending.reason)


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


async def call(client: TasksClient, ending: Ending) -> TaskHandle:
    outcome = await client.call_tool(ending.name)
    assert isinstance(outcome, TaskHandle)
    return outcome


async def runs(kube: Kube, namespace: str, task: str) -> str:
    """Wait until the task runs. Returns its pod."""

    async def pod() -> str | None:
        status = (await kube.get(TASKS, namespace, task)).get("status", {})
        return status["job"]["podName"] if status.get("phase") == "Running" else None

    return await eventually(pod, what=f"the task {task} runs", timeout_seconds=WAIT_SECONDS)


async def interfere(stage: Stage, reason: Reason, task: TaskHandle) -> None:
    """Do what the end takes, once the tool runs."""
    kube, namespace = stage.kube, stage.namespace
    pod = await runs(kube, namespace, task.id)
    match reason:
        case Reason.CANCELLED:
            await task.cancel()
        case Reason.JOB_DELETED:
            await kube.delete(JOBS, namespace, names.job_name(task.id))
        case Reason.JOB_FAILED:
            await kube.patch(JOBS, namespace, names.job_name(task.id), {"spec": {"activeDeadlineSeconds": 1}})
        case Reason.POD_DELETED:
            await kube.delete(PODS, namespace, pod)
        case Reason.DRAINED:
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
            await kube.request("POST", PODS.path(namespace, pod, subresource="eviction"), body=body)
        case Reason.PREEMPTED:
            resources = {"requests": {"cpu": "1m"}, "limits": {"memory": "8Mi", SEAT: "1"}}
            container = {"name": "guest", "image": stage.image, "command": ["sleep", "1"], "resources": resources}
            spec = {"priorityClassName": stage.words["rich"], "restartPolicy": "Never", "containers": [container]}
            await kube.create(PODS, namespace, {"metadata": {"name": "guest"}, "spec": spec})
        case _:
            raise AssertionError(f"nobody knows how a task comes to the end {reason}")


async def ends_before_its_sidecar(stage: Stage, task: TaskHandle) -> None:
    """The task is over with its tool: nobody waits for what else its pod has."""
    await task.wait(timeout_seconds=WAIT_SECONDS)
    found = await stage.kube.list(PODS, stage.namespace, labelSelector=f"{names.TASK_LABEL}={task.id}")
    assert [
        "running" in each["state"] for pod in found["items"] for each in pod["status"]["initContainerStatuses"]
    ] == [True]


async def create_quota(kube: Kube, namespace: str, name: str, spec: Json) -> None:
    """Make a quota, and wait until it counts."""
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    await kube.request("POST", path, body={"metadata": {"name": name}, "spec": spec})

    async def counts() -> bool:
        quota = json.loads(await kube.request("GET", f"{path}/{name}"))
        return bool(spec["hard"].keys() <= quota.get("status", {}).get("used", {}).keys())

    await eventually(counts, what=f"the quota {name} counts", timeout_seconds=60)


async def set_seats(kube: Kube, node: str, seats: str | None) -> None:
    patch = {"status": {"capacity": {SEAT: seats}, "allocatable": {SEAT: seats}}}
    await kube.request("PATCH", f"/api/v1/nodes/{node}/status", body=patch, content_type=MERGE_PATCH)


@asynccontextmanager
async def no_more_jobs(kube: Kube, namespace: str) -> AsyncIterator[None]:
    """The namespace takes no Job of one tool by a policy, and none at all by a quota."""
    label = names.label_value(BEFORE_THERE_IS_A_JOB[0].name)
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["CREATE"]}
    is_its = f"has(object.metadata.labels) && object.metadata.labels[?'{names.TOOL_LABEL}'].orValue('') == '{label}'"
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "its", "expression": is_its}],
        "validations": [{"expression": "false", "message": "no such Jobs today"}],
    }
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    binding = {"policyName": namespace, "validationActions": ["Deny"], "matchResources": here}
    metadata = {"metadata": {"name": namespace}}
    job = {"metadata": {"name": "probe", "labels": {names.TOOL_LABEL: label}}, "spec": {"template": _PROBE}}

    async def is_refused() -> bool:
        try:
            await kube.create(JOBS, namespace, job, dryRun="All")
        except RejectedError:
            return True
        return False

    await kube.request("POST", f"{ADMISSION}/validatingadmissionpolicies", body=metadata | {"spec": policy})
    await kube.request("POST", f"{ADMISSION}/validatingadmissionpolicybindings", body=metadata | {"spec": binding})
    try:
        await eventually(is_refused, what="the policy is in force", timeout_seconds=60)
        await create_quota(kube, namespace, "no-jobs", {"hard": {"count/jobs.batch": "0"}})
        yield
    finally:
        await kube.request("DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/{namespace}")
        await kube.request("DELETE", f"{ADMISSION}/validatingadmissionpolicies/{namespace}")


@asynccontextmanager
async def witness(kube: Kube, name: str) -> AsyncIterator[None]:
    """A node that answers beside the one that does not: where none does, Kubernetes blames itself and moves nothing."""
    nodes, leases = "/api/v1/nodes", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    taint = {"key": "example.com/witness", "effect": "NoSchedule"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()[:19] + "Z"}
    await kube.request("POST", nodes, body={"metadata": {"name": name}, "spec": {"taints": [taint]}})
    body = {"status": {"conditions": [ready]}}
    await kube.request("PATCH", f"{nodes}/{name}/status", body=body, content_type=MERGE_PATCH)
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now()}
    await kube.request("POST", leases, body={"metadata": {"name": name}, "spec": spec})

    async def beat() -> None:
        while True:
            await asyncio.sleep(5)
            body = {"spec": {"renewTime": now()}}
            await kube.request("PATCH", f"{leases}/{name}", body=body, content_type=MERGE_PATCH)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
        await kube.request("DELETE", f"{nodes}/{name}")
        await kube.request("DELETE", f"{leases}/{name}")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


_PROBE: Final = {"spec": {"restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}}


def process_of(cluster: str, component: str) -> int | None:
    """A component's process, where it is one of this machine."""
    command = [sys.executable, "-m", "mcptasks_devcluster", "status", "--json", "--name", cluster]
    root = Path(__file__).parents[3]
    said: Any = json.loads(subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return None if said["provider"] != "local" else said["components"][component]["pid"]


@asynccontextmanager
async def frozen(cluster: str, component: str) -> AsyncIterator[int]:
    """A component does not answer: its process is stopped, as `docker pause` would do. Gives the process."""
    process = await asyncio.to_thread(process_of, cluster, component)
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


@asynccontextmanager
async def no_answer_of_the_node(stage: Stage, task: str) -> AsyncIterator[None]:
    del task
    async with witness(stage.kube, stage.namespace), frozen(stage.cluster, "kubelet"):
        yield


@asynccontextmanager
async def end_without_a_witness(stage: Stage, task: str) -> AsyncIterator[None]:
    """The tool ends while the container runtime cannot see it; then nothing is left of the runtime that knows of it."""
    async with frozen(stage.cluster, "containerd") as runtime:
        tool = tool_of(task)
        shim = parent_of(tool)
        os.kill(tool, signal.SIGTERM)

        async def is_over() -> bool:
            return not carries(tool, task)

        await eventually(is_over, what=f"the program of {task} ends", timeout_seconds=WAIT_SECONDS)
        os.kill(shim, signal.SIGKILL)
        os.kill(runtime, signal.SIGKILL)
    yield


def tool_of(task: str) -> int:
    """The first process of the task's container."""
    found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and carries(entry.name, task)]
    return min(found)


def parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])


def carries(process: int | str, task: str) -> bool:
    """Whether that is a living process of the task's."""
    try:
        return f"MCPTASK_ID={task}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return False


NODE_TROUBLES: Final = {END_UNKNOWN: end_without_a_witness, NODE_LOST: no_answer_of_the_node}
"""What is done to the node, one after the other. Other tasks of the node would come to grief, too."""
