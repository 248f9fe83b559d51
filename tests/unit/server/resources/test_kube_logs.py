"""A task's log from where it is: only its own pod is read, in bounded time, else what was kept."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from mcptasks_crds import names, podlogs
from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kind, KubeError, NotFoundError, RejectedError, RetryableError
from mcptasks_crds.logtails import TAIL_BYTES
from mcptasks_crds.task import McpTask
from mcptasks_server.cluster import kube_logs
from mcptasks_server.cluster.kube_logs import FIRST_LINES, READS_AT_ONCE, KubeLogs
from mcptasks_server.metrics import Metrics
from mcptasks_server.tasklogs import NEVER_RAN, NOT_STARTED, POD_GONE, LogSource, TaskLog
from mcptasks_server.testing.contract import over

TASK = "mt-" + "a" * 32
OTHER = "mt-" + "b" * 32
POD = f"{TASK}-x2b4c"
RUNNING: dict[str, Any] = {"phase": "Running", "job": {"name": TASK, "uid": "job-1", "podName": POD, "podUID": "pod-1"}}


def task_of(status: Json, *, name: str = TASK) -> McpTask:
    return McpTask.model_validate(
        {"metadata": {"name": name, "uid": "t"}, "spec": {"tool": {"name": "x"}}, "status": status}
    )


def pod_of(task: str = TASK, *, state: str = "running", **metadata: Any) -> Json:
    """The pod of a task, as Kubernetes and the operator make it."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": task, "uid": "job-1", "controller": True}
    tool = {"name": "main", "env": [{"name": "MCPTASK_ID"}, {"name": "MCPTASK_RESULT"}]}
    sidecar = {"name": "tool", "env": [{"name": "MCPTASK_ID"}]}
    return {
        "metadata": {
            "name": POD,
            "uid": "pod-1",
            "labels": {names.TASK_LABEL: task},
            "ownerReferences": [owner],
            **metadata,
        },
        "spec": {"containers": [sidecar, tool]},
        "status": {
            "containerStatuses": [{"name": "tool", "state": {"waiting": {}}}, {"name": "main", "state": {state: {}}}]
        },
    }


@dataclass(kw_only=True)
class Cluster:
    """An API server with pods and their logs."""

    pods: dict[str, Json] = field(default_factory=dict)
    logs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    errors: Iterator[KubeError] = field(default_factory=lambda: iter(()))
    """What reads of logs fail with, first."""
    requests: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0
    most_open: int = 0

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        self.requests.append(kind.path(namespace, name))
        if name not in self.pods:
            raise NotFoundError("no such pod")
        return self.pods[name]

    async def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        self.requests.append(f"{kind.path(namespace, name, subresource=subresource)}?{query['tailLines']}")
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        try:
            await self.gate.wait()
            await asyncio.sleep(0)  # no answer comes in the same turn of the loop
            for error in self.errors:
                raise error
            lines = self.logs[name, query["container"]].splitlines(keepends=True)
            yield b"".join(lines[-int(query["tailLines"]) :])
        finally:
            self.open -= 1


@dataclass(kw_only=True)
class Tasks:
    """What is cached, and what the API server has."""

    cached: dict[str, McpTask]
    there: dict[str, McpTask]
    reads: int = 0

    def known(self, name: str) -> McpTask | None:
        return self.cached.get(name)

    async def fresh(self, name: str) -> McpTask:
        self.reads += 1
        return self.there[name]


@pytest.fixture
def cluster() -> Cluster:
    """One pod, which has printed."""
    found = Cluster(pods={POD: pod_of()}, logs={(POD, "main"): b"one\ntwo \xff\n"})
    found.gate.set()
    return found


def logs_of(cluster: Cluster, tasks: Tasks, metrics: Metrics | None = None) -> KubeLogs:
    return KubeLogs(cluster, namespace="ns", reads=tasks, metrics=metrics or Metrics())


async def log_of(cluster: Cluster, status: Json, *, fresh: Json | None = None) -> TaskLog:
    """The log of the task with that status; `fresh`: the status that the API server has."""
    task, there = task_of(status), task_of(status if fresh is None else fresh)
    tasks = Tasks(cached={TASK: task}, there={TASK: there})
    return await logs_of(cluster, tasks).read(task)


async def test_a_living_tasks_log_is_its_pods_so_far_by_two_requests(cluster: Cluster) -> None:
    log = await log_of(cluster, RUNNING)

    assert log == TaskLog(source=LogSource.POD, text="one\ntwo \N{REPLACEMENT CHARACTER}\n", is_whole=True)
    assert cluster.requests == [
        f"/api/v1/namespaces/ns/pods/{POD}",
        f"/api/v1/namespaces/ns/pods/{POD}/log?{FIRST_LINES}",
    ]


async def test_a_long_log_is_cut_to_its_end_and_says_so(cluster: Cluster) -> None:
    cluster.logs[POD, "main"] = b"0123456789abcdef\n" * 10_000 + b"the end\n"

    log = await log_of(cluster, RUNNING)

    assert (log.is_whole, log.text[-8:]) == (False, "the end\n")
    assert len(log.text.encode()) <= TAIL_BYTES


FOREIGN: dict[str, Json] = {
    "of another task": pod_of(OTHER),
    "with another uid": pod_of(uid="pod-2"),
    "without an owner": pod_of(ownerReferences=[]),
    "of another Job of the same name": pod_of(
        ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": TASK, "uid": "job-2", "controller": True}]
    ),
    "of something else of that name": pod_of(
        ownerReferences=[{"apiVersion": "x.dev/v1", "kind": "Job", "name": TASK, "uid": "job-1", "controller": True}]
    ),
    "owned by the way": pod_of(
        ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": TASK, "uid": "job-1"}]
    ),
    "without the label": pod_of(labels={}),
    "without a tool": {**pod_of(), "spec": {"containers": [{"name": "main"}]}},
}


@pytest.mark.parametrize("pod", FOREIGN)
async def test_a_pod_that_is_not_the_tasks_own_is_not_read_and_not_told_from_none(cluster: Cluster, pod: str) -> None:
    cluster.pods[POD] = FOREIGN[pod]
    foreign = await log_of(cluster, RUNNING)
    cluster.pods.clear()
    missing = await log_of(cluster, RUNNING)

    assert foreign == missing == TaskLog(source=LogSource.NONE, why=POD_GONE)
    assert not any("/log" in request for request in cluster.requests)


@pytest.mark.parametrize(
    "name", ["../../kube-system/pods/secret", "..", "a/log", "a%2f..%2fb", "x?container=y", "X", "a\n", "x" * 254]
)
async def test_a_name_that_leads_elsewhere_is_never_asked_for(cluster: Cluster, name: str) -> None:
    log = await log_of(cluster, {"phase": "Running", "job": {**RUNNING["job"], "podName": name}})

    assert log.source is LogSource.NONE
    assert cluster.requests == []


async def test_a_task_whose_pod_is_not_there_yet_costs_nothing(cluster: Cluster) -> None:
    log = await log_of(cluster, {"phase": "Pending", "job": {"name": TASK, "uid": "job-1"}})

    assert (log, cluster.requests) == (TaskLog(source=LogSource.NONE, why=NOT_STARTED), [])


async def test_a_container_that_waits_has_no_log_yet(cluster: Cluster) -> None:
    cluster.pods[POD] = pod_of(state="waiting")

    log = await log_of(cluster, RUNNING)

    assert (log.source, log.why, len(cluster.requests)) == (LogSource.NONE, NOT_STARTED, 1)


async def test_after_the_end_the_kept_end_is_shown_without_a_look_at_the_pod(cluster: Cluster) -> None:
    log = await log_of(cluster, over() | {"job": RUNNING["job"]}, fresh=over() | {"logTail": "kept\n"})

    assert log == TaskLog(source=LogSource.KEPT, text="kept\n", is_whole=False)
    assert cluster.requests == []


async def test_after_the_end_a_pod_that_is_there_still_is_read_where_nothing_was_kept(cluster: Cluster) -> None:
    cluster.pods[POD] = pod_of(state="terminated")

    log = await log_of(cluster, over() | {"job": RUNNING["job"]})

    assert (log.source, log.text[:4]) == (LogSource.POD, "one\n")


async def test_after_the_end_without_either_the_words_name_the_result(cluster: Cluster) -> None:
    cluster.pods.clear()

    log = await log_of(cluster, over() | {"job": RUNNING["job"]})

    assert log.source is LogSource.NONE
    assert log.why.startswith(POD_GONE)
    assert f"mcptask://{TASK}/result" in log.why


async def test_after_the_end_of_a_task_that_never_ran_the_words_say_so(cluster: Cluster) -> None:
    cluster.pods.clear()

    log = await log_of(cluster, over() | {"job": RUNNING["job"], "phase": "Failed", "startedAt": None, "result": None})

    assert log == TaskLog(source=LogSource.NONE, why=NEVER_RAN)


async def test_what_was_kept_before_the_stop_is_shown_while_the_task_is_being_stopped(cluster: Cluster) -> None:
    cluster.pods.clear()

    log = await log_of(cluster, RUNNING, fresh=RUNNING | {"phase": "Stopping", "logTail": "kept\n"})

    assert (log.source, log.text) == (LogSource.KEPT, "kept\n")


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podlogs, "PAUSES_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(kube_logs, "READ_SECONDS", 0.05)


@pytest.mark.usefixtures("impatience")
@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ([RejectedError("GET /x: forbidden", status=403, words="forbidden")], "forbidden"),
        (
            [RetryableError("GET https://10.0.0.1/x: no answer", words="the API server gives no answer")] * 3,
            "no answer",
        ),
    ],
    ids=["refused", "away"],
)
async def test_a_log_that_cannot_be_read_says_so_without_a_place(
    cluster: Cluster, errors: list[KubeError], words: str
) -> None:
    cluster.errors = iter(errors)

    log = await log_of(cluster, RUNNING)

    assert log.source is LogSource.NONE
    assert words in log.why
    assert "/x" not in log.why


@pytest.mark.usefixtures("impatience")
async def test_a_node_that_does_not_answer_is_not_waited_for(cluster: Cluster) -> None:
    cluster.gate.clear()

    log = await log_of(cluster, RUNNING)

    assert log.source is LogSource.NONE
    assert "try again" in log.why
    assert cluster.open == 0


async def test_many_readers_of_one_log_share_their_reads(cluster: Cluster) -> None:
    task, metrics = task_of(RUNNING), Metrics()
    logs = logs_of(cluster, Tasks(cached={TASK: task}, there={TASK: task}), metrics)

    read = await asyncio.gather(*(logs.read(task) for _ in range(50)))

    assert {log.text[:4] for log in read} == {"one\n"}
    assert len(cluster.requests) <= 2 * 2, "a read that is under way, and one more"
    assert metrics.registry.get_sample_value("mcptasks_server_log_reads_total", {"source": "pod"}) == 50


async def test_only_some_logs_are_read_at_once(cluster: Cluster) -> None:
    tasks, cluster.pods = {}, {}
    for number in range(4 * READS_AT_ONCE):
        name = "mt-" + f"{number:b}".replace("0", "a").replace("1", "b").rjust(26, "c")
        tasks[name] = task_of(RUNNING | {"job": {**RUNNING["job"], "name": name, "podName": name}}, name=name)
        cluster.pods[name], cluster.logs[name, "main"] = pod_of(name), name.encode()
    logs = logs_of(cluster, Tasks(cached=tasks, there=tasks))

    read = await asyncio.gather(*(logs.read(task) for task in tasks.values()))

    assert [log.text for log in read] == list(tasks)
    assert 1 < cluster.most_open <= READS_AT_ONCE
