"""Which seeds are run, how many tasks each has, and where."""

import os
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_chaos.run import Place
from mcptasks_crds.kube import Kube
from mcptasks_devcluster.local import LocalCluster
from mcptasks_devcluster.paths import cluster_paths
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.record import read_record

FIRST_SEED: Final = int(os.environ.get("MCPTASKS_CHAOS_FIRST_SEED") or 1)
SEEDS: Final = int(os.environ.get("MCPTASKS_CHAOS_SEEDS") or 6)
TASKS: Final = int(os.environ.get("MCPTASKS_CHAOS_TASKS") or 60)
TAG: Final = "test"
REPORTS: Final = Path(__file__).parents[2] / "dist" / "chaos"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a seed."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))


@pytest.fixture
def tasks() -> int:
    """How many tasks a seed's run has."""
    return TASKS


@pytest.fixture(scope="session")
def image(cluster: Any) -> str:
    """The product's image, on the node: it has a shell, and `mcptasks.job`."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    return image_name("runtime", tag=TAG)


@pytest.fixture
async def place(cluster: Any, kube: Kube, image: str, tmp_path: Path, seed: int) -> Place:
    """A whole cluster whose node is this machine: its components are killed, and its pods write into a directory."""
    paths = cluster_paths(cluster.name)
    record = read_record(paths.record)
    if record is None or record.provider != "local":
        pytest.skip("the node of this kind of cluster is not this machine")
    return Place(
        kube=kube,
        cluster=LocalCluster(paths),
        image=image,
        directory=tmp_path / "run",
        reports=REPORTS / f"seed-{seed}",
    )
