"""The main job, from nothing, as `make demo` runs it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcptasks_crds.kube import Kube

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[3]
NAMESPACE = "demo-test"


@pytest.fixture
def demo_cluster(cluster: Any) -> Iterator[Any]:
    """The cluster; afterwards nothing of the demo is left in it."""
    yield cluster
    cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


def test_the_demo_works_twice_in_a_row(demo_cluster: Any, kube: Kube) -> None:
    # The tests' own fixture has put the CRDs there, so this release must leave them alone.
    demo = [sys.executable, "examples/demo.py", "--cluster", demo_cluster.name, "--namespace", NAMESPACE]

    for _ in range(2):
        ended = subprocess.run(
            [*demo, "--set", "crds.install=false"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout
        assert "--> the unit tests pass in the pod, and the exit code is 0" in ended.stdout
        assert "--> the result says isError, and the exit code is 1" in ended.stdout
        assert "--> all rows of more than 100 MB were read" in ended.stdout
        assert "--> kubectl says of it what the client says" in ended.stdout
        assert "--> the result has the figures, and the learning curve as a picture" in ended.stdout
        assert "--> the shop runs the version 1.1" in ended.stdout
        assert "--> while it waits, no pod of it is there" in ended.stdout
        assert "--> it is on record that anna has approved it" in ended.stdout
        assert "--> the shop runs the version 1.2" in ended.stdout
        assert "--> nothing was deployed, and why" in ended.stdout
