"""The product as people install it, with two server replicas and the conformance suite's tools."""

import os
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_devcluster.forwarding import forwarded
from mcptasks_devcluster.productimage.building import TARGETS, build_image
from mcptasks_devcluster.releases import PORT, Release, installed
from mcptasks_devcluster.spreading import SpreadingProxy
from mcptasks_server.testing.passing import PassingJudge

ROOT: Final = Path(__file__).parents[3]
TOOLS: Final = ROOT / "tests" / "fixtures" / "conformance_tools"
TAG: Final = "test"
NAMESPACE: Final = "conformance-test"
RELEASE: Final = "conformance"
REPLICAS: Final = 2

SEED_VARIABLE: Final = "MCPTASKS_TEST_SEED"

RIGHTS: Final[tuple[dict[str, Any], ...]] = (
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
"""The right that the fixture which changes a tool needs beyond the server's own."""


@pytest.fixture(scope="module")
def release(cluster: Any) -> Iterator[Release]:
    """The chart, installed with two server replicas whose image has the suite's tool pack; and the suite's McpTools."""
    for target in ("runtime", "conformance"):
        cluster.load_docker_image(str(build_image(target, tag=TAG)))
    values = {"image.repository": TARGETS["conformance"], "image.tag": TAG, "server.replicas": str(REPLICAS)}
    kubeconfig = Path(cluster.kubeconfig_path)
    with installed(RELEASE, namespace=NAMESPACE, kubeconfig=kubeconfig, values=values, before=RIGHTS) as release:
        release.kubectl("apply", "--filename", str(TOOLS))
        release.kubectl("wait", "--for=condition=Ready", "--timeout=60s", "mcptools", "--all")
        yield release


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
            for pod in release.servers()
        ]
        assert len(urls) == REPLICAS
        judge = PassingJudge()
        proxy = await stack.enter_async_context(SpreadingProxy.running(urls, seed=seed, look=judge))
        yield f"{proxy.url}/mcp"
        assert all(replica.answered for replica in proxy.replicas)
        assert judge.judged
        assert judge.refused == []
