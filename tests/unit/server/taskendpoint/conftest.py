"""The task endpoint over doubles, on a loopback port, and pods that talk to it."""

import asyncio
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from mcptasks_crds.names import TASKS_PATH
from mcptasks_server.metrics import Metrics
from mcptasks_server.taskendpoint.app import create_task_app
from mcptasks_server.taskendpoint.reporter import Reporter
from mcptasks_server.taskendpoint.tokens import PodTokens
from mcptasks_server.testing.catalogue import FixedCatalogue, ready_tool
from mcptasks_server.testing.pods import NAMESPACE, InMemoryReports, Issuer, LivingPods, PodClient
from mcptasks_server.testing.results import InMemoryResults


@pytest.fixture
def issuer() -> Issuer:
    """The API server that signs tokens."""
    return Issuer()


@pytest.fixture
def store() -> InMemoryReports:
    """Where the tasks are."""
    return InMemoryReports()


@pytest.fixture
def pods() -> LivingPods:
    """The pods that there are."""
    return LivingPods()


@pytest.fixture
def results() -> InMemoryResults:
    """Where large results are."""
    return InMemoryResults()


@pytest.fixture
def catalogue() -> FixedCatalogue:
    """The tools that there are."""
    return FixedCatalogue(ready_tool("train"))


@pytest.fixture
def metrics() -> Metrics:
    """What was counted."""
    return Metrics()


@pytest.fixture
def stopping() -> asyncio.Event:
    """Set once the process is to end."""
    return asyncio.Event()


@pytest.fixture
async def url(
    *,
    store: InMemoryReports,
    results: InMemoryResults,
    catalogue: FixedCatalogue,
    issuer: Issuer,
    pods: LivingPods,
    metrics: Metrics,
    stopping: asyncio.Event,
) -> AsyncIterator[str]:
    """Where the endpoint is."""
    reporter = Reporter(store, budget=50, metrics=metrics)
    app = create_task_app(
        store,
        reporter=reporter,
        results=results,
        tools=catalogue,
        tokens=PodTokens(kube=issuer, namespace=NAMESPACE),
        attempts=pods,
        metrics=metrics,
        stopping=stopping,
    )
    async with reporter.running():
        server = TestServer(app, host="127.0.0.1")
        await server.start_server(auto_decompress=False)  # as the process does
        try:
            yield str(server.make_url("")).rstrip("/")
        finally:
            await server.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """For pods to send by."""
    async with aiohttp.ClientSession() as session:
        yield session


MakePod = Callable[..., PodClient]


@pytest.fixture
def pod_of(url: str, session: aiohttp.ClientSession, issuer: Issuer) -> MakePod:
    """The pod of a task, with its own token or another one."""

    def make(task_id: str, *, token: str | None = None) -> PodClient:
        sent = issuer.token(task_id) if token is None else token
        return PodClient(session=session, url=f"{url}{TASKS_PATH}/{task_id}", token=sent or None)

    return make


@pytest.fixture
def task_id(store: InMemoryReports) -> str:
    """A task whose pod runs."""
    return store.add()


@pytest.fixture
def pod(task_id: str, pod_of: MakePod) -> PodClient:
    """Its pod."""
    return pod_of(task_id)
