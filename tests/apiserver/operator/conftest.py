"""The real operator before a real API server and its controllers; pods' status is written by the test."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcptasks_crds.kube import Kube
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_devcluster.rights import restricted_kubeconfig
from mcptasks_operator.testing.kubelet import FakeKubelet
from mcptasks_operator.testing.world import World


@pytest.fixture
async def world(kube: Kube, namespace: str, tmp_path: Path) -> AsyncIterator[World]:
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
async def operated(world: World) -> AsyncIterator[World]:
    """A namespace where an operator is at work and the tool `echo` is ready."""
    async with world.operator():
        await world.tool()
        yield world


@pytest.fixture
async def restricted(world: World, tmp_path: Path) -> World:
    """The world, seen through a service account that has the chart's Role."""
    file = await restricted_kubeconfig(world.kube, world.namespace, component="operator", file=tmp_path / "restricted")
    return replace(world, kubeconfig=file)
