"""The product as people install it, and tools whose pods talk to the task endpoint."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_devcluster.forwarding import forwarded
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.releases import PORT, Release, installed
from mcptasks_server.testing.wire import Wire

TAG: Final = "test"
NAMESPACE: Final = "taskendpoint-test"
RELEASE: Final = "pods"

TALK: Final = (Path(__file__).parent / "talk.py").read_text()
"""What the tools' containers run."""


SCHEMA: Final = {"type": "object", "properties": {"steps": {"type": "integer", "default": 5}}}


def offer(release: Release, name: str, *, job: str, **spec: Any) -> None:
    """A tool whose pod runs `talk.py` in that way."""
    container = {"image": image_name("runtime", tag=TAG), "command": ["python", "-c", TALK, job]}
    release.tool(name, container, **{"inputSchema": SCHEMA, **spec})


@asynccontextmanager
async def client_of(release: Release) -> AsyncIterator[Wire]:
    """A client of one of the servers that are there now."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        way = forwarded(release.servers()[0], PORT, kubeconfig=release.kubeconfig, namespace=release.namespace)
        url = await stack.enter_async_context(way)
        yield Wire(session, f"{url}/mcp")


@pytest.fixture(scope="module")
def release(cluster: Any) -> Iterator[Release]:
    """The chart with its defaults: two server replicas."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    values = {"image.tag": TAG, "logLevel": "debug"}
    with installed(RELEASE, namespace=NAMESPACE, kubeconfig=Path(cluster.kubeconfig_path), values=values) as release:
        yield release


@pytest.fixture
async def wire(release: Release) -> AsyncIterator[Wire]:
    """A client of one of the servers."""
    async with client_of(release) as client:
        yield client
