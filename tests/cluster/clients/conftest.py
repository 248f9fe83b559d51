"""Two server replicas and an operator on a real cluster, and clients that others wrote, each run by its driver.

A driver is given the server's URL and the names of cases, runs them at once, and prints one JSON object: what its
client saw, by case. The drivers stand in `tests/clients`, each beside the environment that it needs.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
import yaml

from mcptasks.client import TasksClient
from mcptasks.errors import InternalServerError, UnreachableError
from mcptasks_crds.kube import TOOLS, Kube
from mcptasks_devcluster import nodejs, pythonenvs
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.productimage.base import base_image
from mcptasks_devcluster.productimage.engines import find_engine
from mcptasks_devcluster.services import Services, services
from mcptasks_devcluster.spreading import SpreadingProxy

ROOT: Final = Path(__file__).parents[3]
CLIENTS: Final = ROOT / "tests" / "clients"
NODE_PACKAGES: Final = ROOT / "tests" / "node" / "clients"
NAMESPACE: Final = "clients-test"
NAMESPACES: Final = "/api/v1/namespaces"

Seen = Mapping[str, Any]
"""What a client saw in one case, as its driver says it."""


@dataclass(frozen=True, kw_only=True)
class World:
    """The running product."""

    kube: Kube
    namespace: str
    replicas: Sequence[Services]
    url: str
    """Any of the replicas, for each request another one."""
    lenient_url: str
    """The same of two replicas that take requests about tasks without `Mcp-Name`."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The product at work, and the tools listed."""
    kubeconfig = Path(cluster.kubeconfig_path)
    image = base_image(find_engine(), None)
    cluster.load_docker_image(image)
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text("0123456789abcdef0123456789abcdef\n")
    async with AsyncExitStack() as stack:
        kube = await stack.enter_async_context(await Kube.connect(kubeconfig=kubeconfig))
        await install_crds(kube)
        await kube.request("POST", NAMESPACES, body={"metadata": {"name": NAMESPACE}})
        stack.push_async_callback(kube.request, "DELETE", f"{NAMESPACES}/{NAMESPACE}")
        for tool in yaml.safe_load_all((CLIENTS / "tools.yaml").read_text().replace("IMAGE", image)):
            await kube.create(TOOLS, NAMESPACE, tool)
        replicas = [
            await stack.enter_async_context(services(kubeconfig=kubeconfig, namespace=NAMESPACE)) for _ in range(4)
        ]
        for number, replica in enumerate(replicas):
            replica.environment["MCPTASKS_REQUIRE_TASK_NAME_HEADER"] = "true" if number < 2 else "false"
            await replica.start("server")
        await replicas[0].start("operator")
        proxies = [
            await stack.enter_async_context(
                SpreadingProxy.running([replica.url.removesuffix("/mcp") for replica in some], seed=1)
            )
            for some in (replicas[:2], replicas[2:])
        ]
        for replica in replicas:
            await until_served(replica.url)
        yield World(
            kube=kube,
            namespace=NAMESPACE,
            replicas=replicas[:2],
            url=f"{proxies[0].url}/mcp",
            lenient_url=f"{proxies[1].url}/mcp",
        )
        assert all(replica.answered for proxy in proxies for replica in proxy.replicas)


async def until_served(url: str) -> None:
    """Wait until a replica lists all tools."""
    wanted = {tool["metadata"]["name"] for tool in yaml.safe_load_all((CLIENTS / "tools.yaml").read_text())}

    async def is_served() -> bool:
        try:
            async with TasksClient(url) as client:
                return wanted <= {tool.name for tool in await client.list_tools()}
        except (InternalServerError, UnreachableError):
            return False

    await eventually(is_served, what=f"{url} lists the tools", timeout_seconds=60)
