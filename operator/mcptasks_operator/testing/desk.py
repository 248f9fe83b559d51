"""A reconciler over an API server in memory, and the hands of those who live beside it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS
from mcptasks_crds.podlogs import LogReader
from mcptasks_crds.times import format_time
from mcptasks_operator.admission import AnswerPolicy
from mcptasks_operator.apply import Applier
from mcptasks_operator.catalogue import Catalogue
from mcptasks_operator.fence import FencedCluster
from mcptasks_operator.leadership import Alone, Leadership
from mcptasks_operator.lines import Lines
from mcptasks_operator.metrics import Metrics
from mcptasks_operator.reconcile import TaskReconciler
from mcptasks_operator.secretprobe import SecretProbe
from mcptasks_operator.store import KINDS, Store
from mcptasks_operator.tools import ToolReconciler

from .cluster import Call, FakeCluster, pod_manifest

NAMESPACE = "ns"


@dataclass
class Desk:
    """One namespace in memory; the watch brings what `see` is told to, and time stands until it is moved."""

    cluster: FakeCluster = field(default_factory=lambda: FakeCluster(now=datetime(2026, 11, 30, tzinfo=UTC)))
    store: Store = field(default_factory=Store)
    metrics: Metrics = field(default_factory=Metrics)
    leadership: Leadership = field(default_factory=Alone)
    answer_policy: str | None = None

    def __post_init__(self) -> None:
        catalogue = Catalogue(self.store)
        self.woken: list[str] = []
        self.lines = Lines(self.store, wake=self.woken.append)
        cluster = FencedCluster(self.cluster, self.leadership)
        self.tasks = TaskReconciler(
            store=self.store,
            lines=self.lines,
            catalogue=catalogue,
            applier=Applier(cluster=cluster, store=self.store, namespace=NAMESPACE, instance="op"),
            logs=LogReader(cluster=cluster, namespace=NAMESPACE),
            metrics=self.metrics,
            policy=AnswerPolicy(cluster=cluster, namespace=NAMESPACE, name=self.answer_policy),
            secrets=SecretProbe(cluster=cluster, namespace=NAMESPACE, clock=lambda: self.cluster.now),
            clock=lambda: self.cluster.now,
        )
        self.tools = ToolReconciler(
            store=self.store,
            catalogue=catalogue,
            cluster=cluster,
            namespace=NAMESPACE,
            clock=lambda: self.cluster.now,
        )

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.cluster.now += timedelta(seconds=seconds)

    def see(self) -> None:
        """Let the watches bring all that is, and what is gone."""
        for kind in KINDS:
            there = {document["metadata"]["name"]: document for document in self.cluster.all(kind)}
            for name in self.store.names(kind):
                if name not in there:
                    self.store.remove(kind, name, version=self.cluster.version)
            for document in there.values():
                self.store.put(kind, document)

    def tool(self, resource: str = "echo", /, **spec: Any) -> Json:
        """A McpTool that is ready."""
        container = {"name": "tool", "image": "example.invalid/echo:1"}
        base: Json = {
            "description": "Says it again.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "job": {"template": {"spec": {"containers": [container]}}},
        }
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "Accepted",
            "lastTransitionTime": format_time(self.cluster.now),
        }
        document = {
            "apiVersion": names.API_VERSION,
            "kind": names.TOOL_KIND,
            "metadata": {"name": resource},
            "spec": base | spec,
            "status": {"observedGeneration": 1, "conditions": [ready]},
        }
        return self.cluster.put(TOOLS, NAMESPACE, document)

    def task(self, tool: str = "echo", **spec: Any) -> str:
        """A fresh McpTask."""
        name = names.new_task_id()
        document = {
            "apiVersion": names.API_VERSION,
            "kind": names.TASK_KIND,
            "metadata": {"name": name},
            "spec": {"tool": {"name": tool}, "arguments": '{"text": "hi"}'} | spec,
        }
        self.cluster.put(TASKS, NAMESPACE, document)
        self.see()
        return name

    def pod(self, task: str, status: Json) -> str:
        """The task's pod, in this state, as the watch brings it."""
        job = next(job for job in self.cluster.all(JOBS) if job["metadata"]["name"] == names.job_name(task))
        known = [pod for pod in self.cluster.all(PODS) if pod["metadata"]["name"] == f"{names.job_name(task)}-pod"]
        made = self.cluster.put(PODS, NAMESPACE, (known[0] if known else pod_manifest(job)) | {"status": status})
        self.see()
        return str(made["metadata"]["name"])

    def status(self, task: str) -> Json:
        """The task's status in the cluster."""
        found = next(each for each in self.cluster.all(TASKS) if each["metadata"]["name"] == task)
        return dict(found.get("status", {}))

    def count(self, verb: str, resource: str) -> int:
        """How often that was asked of the API server."""
        return self.cluster.calls.count(Call(verb, resource))
