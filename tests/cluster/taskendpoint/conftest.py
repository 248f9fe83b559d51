"""The product as people install it, and tools whose pods talk to the task endpoint."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_crds.kube import Kube
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.forwarding import forwarded
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.programs import program
from mcptasks_server.testing.wire import Wire

ROOT: Final = Path(__file__).parents[3]
TAG: Final = "test"
NAMESPACE: Final = "taskendpoint-test"
RELEASE: Final = "pods"
PORT: Final = 8080

TALK: Final = (Path(__file__).parent / "talk.py").read_text()
"""What the tools' containers run."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release that runs."""

    kubeconfig: Path

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What kubectl says, in the release's namespace."""
        return self._run(program("kubectl"), *arguments, given=given)

    def helm(self, *arguments: str) -> str:
        """What helm says, in the release's namespace."""
        return self._run(program("helm"), *arguments)

    def objects(self, kinds: str, *arguments: str) -> list[dict[str, Any]]:
        """The objects of these kinds."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", kinds, "--output", "json", *arguments))["items"]
        return found

    def servers(self) -> list[str]:
        """The names of the server's pods that are ready."""
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=server"
        pods = self.objects("pods", "--selector", selector)
        return sorted(
            pod["metadata"]["name"]
            for pod in pods
            if "deletionTimestamp" not in pod["metadata"]
            and all(each["ready"] for each in pod["status"].get("containerStatuses", [{"ready": False}]))
        )

    def tool(self, name: str, *, job: str, **spec: Any) -> None:
        """A tool whose pod runs `talk.py` in that way."""
        container = {"name": "tool", "image": image_name("runtime", tag=TAG), "command": ["python", "-c", TALK, job]}
        schema = {"type": "object", "properties": {"steps": {"type": "integer", "default": 5}}}
        manifest = {
            "apiVersion": "mcptasks.dev/v1alpha1",
            "kind": "McpTool",
            "metadata": {"name": name},
            "spec": {
                "description": "Talks to the task endpoint.",
                "inputSchema": schema,
                "job": {"template": {"spec": {"containers": [container]}}},
                **spec,
            },
        }
        self.kubectl("apply", "--filename", "-", given=json.dumps(manifest))
        self.kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"mcptool/{name}")

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Wire]:
        """A client of one of the servers that are there now."""
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(aiohttp.ClientSession())
            way = forwarded(self.servers()[0], PORT, kubeconfig=self.kubeconfig, namespace=NAMESPACE)
            url = await stack.enter_async_context(way)
            yield Wire(session, f"{url}/mcp")

    def _run(self, *words: str, given: str | None = None) -> str:
        done = subprocess.run(
            [*words, "--namespace", NAMESPACE],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def release(cluster: Any) -> Iterator[Release]:
    """The chart with two server replicas, in a namespace that admits restricted pods alone."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    found = Release(kubeconfig=Path(cluster.kubeconfig_path).absolute())
    asyncio.run(_install_crds(found.kubeconfig))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    chart = ["upgrade", "--install", RELEASE, str(ROOT / "charts" / "mcptasks"), "--wait", "--timeout", "180s"]
    try:
        found.kubectl("apply", "--filename", "-", given=json.dumps(namespace))
        found.helm(*chart, "--set", f"image.tag={TAG}", "--set", "crds.install=false", "--set", "logLevel=debug")
        yield found
    finally:
        found.helm("uninstall", RELEASE, "--ignore-not-found", "--wait")
        found.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


async def _install_crds(kubeconfig: Path) -> None:
    async with await Kube.connect(kubeconfig=kubeconfig) as kube:
        await install_crds(kube)


@pytest.fixture
async def wire(release: Release) -> AsyncIterator[Wire]:
    """A client of one of the servers."""
    async with release.client() as client:
        yield client
