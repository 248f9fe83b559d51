"""A running operator and server, and tools for them: what the documentation is tried with."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks import InternalServerError, TasksClient, UnreachableError
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.services import Services, services

ROOT: Final = Path(__file__).parents[3]
TAG: Final = "test"
_FENCE: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

MakeTools = Callable[..., Awaitable[None]]


@pytest.fixture(scope="session")
def blocks() -> Callable[[str, str], list[str]]:
    """The fenced blocks of a language, of a page."""

    def read(page: str, language: str) -> list[str]:
        found = _FENCE.findall((ROOT / page).read_text("utf-8"))
        return [body for name, body in found if name == language]

    return read


@pytest.fixture(scope="session")
def documented_tools(blocks: Callable[[str, str], list[str]]) -> list[Json]:
    """The whole tools among the examples of docs/tools.md."""
    manifests: list[Any] = [yaml.safe_load(block) for block in blocks("docs/tools.md", "yaml")]
    return [manifest for manifest in manifests if manifest.get("kind") == "McpTool"]


@pytest.fixture(scope="session")
def image(cluster: Any) -> str:
    """The product's image, on the node."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    return image_name("runtime", tag=TAG)


@pytest.fixture
async def running(kubeconfig: Path, namespace: str, image: str, kube: Kube) -> AsyncIterator[Services]:
    """Server and operator at work in the test's namespace."""
    async with services(kubeconfig=kubeconfig, namespace=namespace) as running:
        await running.start("server")
        await running.start("operator")
        yield running


@pytest.fixture
def make_tools(running: Services, kube: Kube, namespace: str) -> MakeTools:
    """Apply tools and wait until clients see them all."""

    async def make(*manifests: Json) -> None:
        for manifest in manifests:
            await kube.create(TOOLS, namespace, manifest, fieldValidation="Strict")
        names = {manifest["metadata"]["name"] for manifest in manifests}
        async with TasksClient(running.url) as client:

            async def are_listed() -> bool:
                try:
                    return names <= {tool.name for tool in await client.list_tools()}
                except (InternalServerError, UnreachableError):  # it has only just started
                    return False

            await eventually(are_listed, what=f"{sorted(names)} are listed", timeout_seconds=60)

    return make
