"""The operator before a real cluster: real pods, run by a real kubelet."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcptasks_crds.kube import Kube
from mcptasks_devcluster.productimage.base import base_image
from mcptasks_devcluster.productimage.engines import find_engine
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_operator.testing.kubelet import FakeKubelet
from mcptasks_operator.testing.world import World


@pytest.fixture(scope="session")
def python_image(cluster: Any) -> str:
    """A plain Python, on the node."""
    image = base_image(find_engine(), None)
    cluster.load_docker_image(image)
    return image


@pytest.fixture
async def idle(kube: Kube, namespace: str, tmp_path: Path) -> AsyncIterator[World]:
    """A namespace with a proxy before its API server; no operator is at work yet."""
    async with FaultProxy.running(kube.configuration) as proxy:
        yield World(
            kube=kube,
            namespace=namespace,
            kubelet=FakeKubelet(kube=kube, namespace=namespace),
            proxy=proxy,
            kubeconfig=proxy.write_kubeconfig(tmp_path / "kubeconfig"),
        )


@pytest.fixture
async def operated(idle: World) -> AsyncIterator[World]:
    """A namespace where an operator is at work."""
    async with idle.operator():
        yield idle
