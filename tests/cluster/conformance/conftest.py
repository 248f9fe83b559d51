"""The product as people install it, with two server replicas and the conformance suite's tools."""

import asyncio
import json
import os
import random
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_crds.kube import Kube
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.forwarding import forwarded
from mcptasks_devcluster.productimage.building import TARGETS, build_image
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.spreading import SpreadingProxy
from mcptasks_server.testing.passing import PassingJudge

ROOT: Final = Path(__file__).parents[3]
TOOLS: Final = ROOT / "tests" / "fixtures" / "conformance_tools"
TAG: Final = "test"
NAMESPACE: Final = "conformance-test"
RELEASE: Final = "conformance"
REPLICAS: Final = 2
PORT: Final = 8080

SEED_VARIABLE: Final = "MCPTASKS_TEST_SEED"
SHOWN: Final = pytest.StashKey[list[str]]()

RIGHTS: Final[tuple[dict[str, Any], ...]] = (
    {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "trigger", "namespace": NAMESPACE},
        "rules": [{"apiGroups": ["mcptasks.dev"], "resources": ["mcptools"], "verbs": ["get", "patch"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "trigger", "namespace": NAMESPACE},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "trigger"},
        "subjects": [{"kind": "ServiceAccount", "name": f"{RELEASE}-mcptasks-server", "namespace": NAMESPACE}],
    },
)
"""The namespace, and the right that the fixture which changes a tool needs beyond the server's own."""


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

    @property
    def replicas(self) -> list[str]:
        """The names of the server's pods."""
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=server"
        pods = json.loads(self.kubectl("get", "pods", "--selector", selector, "--output", "json"))["items"]
        return sorted(pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"])


@pytest.fixture(scope="module")
def release(cluster: Any) -> Iterator[Release]:
    """The chart, installed with two server replicas whose image has the suite's tool pack; and the suite's McpTools."""
    for target in ("runtime", "conformance"):
        cluster.load_docker_image(str(build_image(target, tag=TAG)))
    found = Release(kubeconfig=Path(cluster.kubeconfig_path).absolute())
    asyncio.run(_install_crds(found.kubeconfig))
    values = {"image.repository": TARGETS["conformance"], "image.tag": TAG, "crds.install": "false"}
    values["server.replicas"] = str(REPLICAS)
    settings = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    chart = ["upgrade", "--install", RELEASE, str(ROOT / "charts" / "mcptasks"), "--wait", "--timeout", "180s"]
    try:
        for manifest in RIGHTS:
            found.kubectl("apply", "--filename", "-", given=json.dumps(manifest))
        found.helm(*chart, *settings)
        found.kubectl("apply", "--filename", str(TOOLS))
        found.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "mcptools", "--all")
        yield found
    finally:
        found.helm("uninstall", RELEASE, "--ignore-not-found", "--wait")
        found.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


async def _install_crds(kubeconfig: Path) -> None:
    async with await Kube.connect(kubeconfig=kubeconfig) as kube:
        await install_crds(kube)


@pytest.fixture
def seed(show: Callable[[str], None]) -> int:
    """What all that is random follows from; it is shown, and can be given again."""
    seed = int(os.environ.get(SEED_VARIABLE) or random.randrange(2**32))
    show(f"{SEED_VARIABLE}={seed}")
    return seed


@pytest.fixture
async def endpoint(release: Release, seed: int) -> AsyncIterator[str]:
    """The MCP endpoint's URL: a proxy on loopback that sends each request to a random replica."""
    async with AsyncExitStack() as stack:
        urls = [
            await stack.enter_async_context(forwarded(pod, PORT, kubeconfig=release.kubeconfig, namespace=NAMESPACE))
            for pod in release.replicas
        ]
        assert len(urls) == REPLICAS
        judge = PassingJudge()
        proxy = await stack.enter_async_context(SpreadingProxy.running(urls, seed=seed, look=judge))
        yield f"{proxy.url}/mcp"
        assert all(replica.answered for replica in proxy.replicas)
        assert judge.judged
        assert judge.refused == []


@pytest.fixture
def show(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Says something to whoever started the tests, at their end, whether they pass or not."""
    return pytestconfig.stash.setdefault(SHOWN, []).append


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write what was to be shown."""
    if lines := config.stash.get(SHOWN, []):
        terminalreporter.section("official conformance suite")
        for line in lines:
            terminalreporter.write_line(line)
