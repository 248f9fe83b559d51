"""The task endpoint of replicas over a real API server, and pods with real tokens."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kube
from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.metrics import Metrics
from mcptasks_server.taskendpoint.app import create_task_app
from mcptasks_server.taskendpoint.reporter import Reporter
from mcptasks_server.taskendpoint.tokens import PodTokens
from mcptasks_server.testing.pods import PodClient


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One server, as far as tasks' pods are concerned."""

    backend: Backend
    url: str
    metrics: Metrics


@dataclass(frozen=True, kw_only=True)
class RealPod:
    """A pod object in the cluster, and a token that is bound to it."""

    name: str
    uid: str
    token: str


@dataclass(frozen=True, kw_only=True)
class Rig:
    """What tests of the endpoint on a real API server need."""

    kube: Kube
    namespace: str
    session: aiohttp.ClientSession

    @asynccontextmanager
    async def replica(self, connection: Kube | None = None, *, budget: int = 50) -> AsyncIterator[Replica]:
        """A replica that serves, for as long as the context lasts; then it ends as a process that is told to."""
        kube, metrics = connection or self.kube, Metrics()
        backend = Backend(kube, namespace=self.namespace, metrics=metrics)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(backend.running())
            reporter = Reporter(backend.reports, budget=budget, metrics=metrics)
            await stack.enter_async_context(reporter.running())
            app = create_task_app(
                backend.reports,
                reporter=reporter,
                results=backend.results,
                tools=backend.services.catalogue,
                tokens=PodTokens(kube=kube, namespace=self.namespace),
                attempts=backend.attempts,
                metrics=metrics,
                stopping=backend.services.stopping,
            )
            server = TestServer(app, host="127.0.0.1")
            await server.start_server(auto_decompress=False)  # as the process does
            stack.push_async_callback(server.close)

            async def is_ready() -> bool:
                return not backend.what_is_missing()

            await eventually(is_ready, what="the replica is ready")
            yield Replica(backend=backend, url=str(server.make_url("")).rstrip("/"), metrics=metrics)
            backend.services.stopping.set()

    async def task(self, *, pod: RealPod | None = None, **spec: Any) -> str:
        """A task; with a pod, one that runs in it."""
        name = names.new_task_id()
        manifest = {
            "apiVersion": names.API_VERSION,
            "kind": names.TASK_KIND,
            "metadata": {"name": name},
            "spec": {"tool": {"name": "train"}, "arguments": "{}", **spec},
        }
        await self.kube.create(TASKS, self.namespace, manifest)
        if pod is not None:
            await self.runs_in(name, pod)
        return name

    async def runs_in(self, task: str, pod: RealPod, *, job_uid: str | None = None) -> None:
        """The operator's hand: that pod is the task's current one."""
        job = {"name": task, "uid": job_uid or f"job-{task}", "podName": pod.name, "podUID": pod.uid}
        await self.write(task, {"phase": "Running", "job": job})

    async def job(self, task: str) -> str:
        """A Job of the task's that makes another pod when one fails, as those of tools with retries do. Its uid."""
        container = {"name": "tool", "image": "example.invalid/none:1"}
        template = {
            "metadata": {"labels": {names.TASK_LABEL: task}},
            "spec": {"restartPolicy": "Never", "containers": [container], "automountServiceAccountToken": False},
        }
        spec = {"backoffLimit": 3, "podReplacementPolicy": "Failed", "template": template}
        made = await self.kube.create(JOBS, self.namespace, {"metadata": {"name": names.job_name(task)}, "spec": spec})
        uid: str = made["metadata"]["uid"]
        return uid

    async def attempt(self, task: str, *, after: RealPod | None = None) -> RealPod:
        """The pod that the task's Job makes next, by itself, and its token."""

        async def made() -> Json | None:
            found = await self.kube.list(PODS, self.namespace, labelSelector=f"{names.TASK_LABEL}={task}")
            others = (each for each in found["items"] if after is None or each["metadata"]["uid"] != after.uid)
            return next(others, None)

        metadata = (await eventually(made, what="the Job has made a pod", timeout_seconds=60))["metadata"]
        pod = RealPod(name=metadata["name"], uid=metadata["uid"], token="")
        return await self.token_of(pod, names.task_audience(task))

    async def first_attempt(self) -> tuple[str, RealPod, str]:
        """A task that runs in the first pod of a Job that is there; with the Job's uid."""
        task = await self.task()
        job_uid = await self.job(task)
        pod = await self.attempt(task)
        await self.runs_in(task, pod, job_uid=job_uid)
        return task, pod, job_uid

    async def fails(self, pod: RealPod) -> None:
        """The kubelet's hand: the pod is over."""
        await self.kube.patch(PODS, self.namespace, pod.name, {"status": {"phase": "Failed"}}, subresource="status")

    async def write(self, task: str, status: Json) -> None:
        """The operator's hand."""
        await self.kube.patch(TASKS, self.namespace, task, {"status": status}, subresource="status")

    async def seen(self, task: str) -> McpTask:
        """The task as the API server has it."""
        return McpTask.model_validate(await self.kube.get(TASKS, self.namespace, task))

    async def pod(self, task: str = "", *, audience: str | None = None) -> RealPod:
        """A pod in the cluster with a token as the kubelet would ask for it."""
        container = {"name": "tool", "image": "example.invalid/none:1"}
        made = await self.kube.create(
            PODS,
            self.namespace,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"generateName": "pod-"},
                "spec": {"containers": [container], "automountServiceAccountToken": False},
            },
        )
        metadata = made["metadata"]
        return await self.token_of(
            RealPod(name=metadata["name"], uid=metadata["uid"], token=""), audience or names.task_audience(task)
        )

    async def token_of(self, pod: RealPod, audience: str) -> RealPod:
        """The same pod with another token."""
        bound = {"kind": "Pod", "apiVersion": "v1", "name": pod.name, "uid": pod.uid}
        asked = {"spec": {"audiences": [audience], "expirationSeconds": 600, "boundObjectRef": bound}}
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default/token"
        answer = json.loads(await self.kube.request("POST", path, body=asked))
        return RealPod(name=pod.name, uid=pod.uid, token=answer["status"]["token"])

    async def running(self, **spec: Any) -> tuple[str, RealPod]:
        """A task that runs, and its pod."""
        task = await self.task(**spec)
        pod = await self.pod(task)
        await self.runs_in(task, pod)
        return task, pod

    def client(self, replica: Replica, task: str, pod: RealPod) -> PodClient:
        """The pod's voice at a replica."""
        return PodClient(session=self.session, url=f"{replica.url}{names.TASKS_PATH}/{task}", token=pod.token)


@pytest.fixture
async def rig(kube: Kube, namespace: str) -> AsyncIterator[Rig]:
    """The cluster, and what pods send by."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"

    async def has_account() -> bool:
        found = json.loads(await kube.request("GET", path))["items"]
        return any(item["metadata"]["name"] == "default" for item in found)

    await eventually(has_account, what="the namespace has its service account")
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        yield Rig(kube=kube, namespace=namespace, session=session)


@pytest.fixture
async def replica(rig: Rig) -> AsyncIterator[Replica]:
    """One replica."""
    async with rig.replica() as replica:
        yield replica


@pytest.fixture
async def proxy(kube: Kube) -> AsyncIterator[FaultProxy]:
    """A proxy before the API server, on which things can go wrong."""
    async with FaultProxy.running(kube.configuration) as proxy:
        yield proxy


@pytest.fixture
async def proxied(proxy: FaultProxy, tmp_path: Path) -> AsyncIterator[Kube]:
    """A connection through the proxy."""
    async with await Kube.connect(kubeconfig=proxy.write_kubeconfig(tmp_path / "kubeconfig")) as kube:
        yield kube
