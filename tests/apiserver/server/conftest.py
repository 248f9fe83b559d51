"""Replicas of the server's backend on a real API server, and the operator's hand."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from mcptasks_crds.kube import TASKS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_server.app import create_app
from mcptasks_server.caller import NoAuthentication
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing.contract import Hand
from mcptasks_server.testing.replicas import Serve, StartReplica
from mcptasks_server.testing.toolbox import Toolbox
from mcptasks_server.testing.wire import Wire


@pytest.fixture
async def start_replica(kube: Kube, namespace: str) -> AsyncIterator[StartReplica]:
    """Starts a replica of the server's backend, ready to serve; with a connection of its own where one is given."""
    async with AsyncExitStack() as stack:

        async def start(connection: Kube | None = None, **settings: Any) -> Backend:
            backend = Backend(connection or kube, namespace=namespace, metrics=Metrics(), **settings)
            await stack.enter_async_context(backend.running())

            async def is_ready() -> bool:
                return not backend.what_is_missing()

            await eventually(is_ready, what="the replica is ready")
            return backend

        yield start


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


@pytest.fixture
async def replica(start_replica: StartReplica) -> Backend:
    """One replica."""
    return await start_replica()


@pytest.fixture
def hand(kube: Kube, namespace: str) -> Hand:
    """Writes a task's status as the operator and the pod do."""

    async def write(task_id: str, patch: Mapping[str, Any]) -> None:
        await kube.patch(TASKS, namespace, task_id, {"status": dict(patch)}, subresource="status")

    return write


@pytest.fixture
def toolbox(kube: Kube, namespace: str) -> Toolbox:
    """Writes McpTools."""
    return Toolbox(kube, namespace)


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Has replicas listen on loopback ports."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))

        async def started(backend: Backend) -> Wire:
            app = create_app(
                backend.services,
                callers=NoAuthentication(),
                guards=Guards(),
                health=Health(ready=backend.what_is_missing, live=backend.what_is_broken),
                metrics=Metrics(),
                max_body_bytes=1_000_000,
            )
            server = TestServer(app, host="127.0.0.1")
            await server.start_server(auto_decompress=False)  # as the process does
            stack.push_async_callback(server.close)
            return Wire(session, str(server.make_url("/mcp")))

        yield started
