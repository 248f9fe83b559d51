"""Real clusters: up, used, crashed, and gone without a trace."""

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcptasks_devcluster import cgroups
from mcptasks_devcluster.paths import ClusterPaths, cluster_paths
from mcptasks_devcluster.polling import becomes_so
from mcptasks_devcluster.processes import marked, namespace_init

pytestmark = pytest.mark.timeout(1200)  # the first run on a machine builds everything


def devcluster(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "mcptasks_devcluster", *arguments], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def kubectl(paths: ClusterPaths, *arguments: str) -> str:
    command = [devcluster("bin", "kubectl", "--name", paths.name), "--kubeconfig", str(paths.kubeconfig), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def report(paths: ClusterPaths) -> Any:
    command = [sys.executable, "-m", "mcptasks_devcluster", "status", "--json", "--name", paths.name]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout)


def leaves_nothing(paths: ClusterPaths) -> bool:
    mounts = Path("/proc/self/mounts").read_text()
    return (
        not marked(paths.state)
        and not paths.state.exists()
        and not paths.lock.exists()
        and not cgroups.leftovers(paths.control_group)
        and str(paths.state) not in mounts
    )


@pytest.fixture
def paths() -> Iterator[ClusterPaths]:
    paths = cluster_paths(f"lifecycle-{secrets.token_hex(3)}")
    yield paths
    devcluster("down", "--name", paths.name)


@pytest.mark.apiserver
def test_a_light_cluster_serves_and_is_gone_after_its_supervisor_was_killed(paths: ClusterPaths) -> None:
    assert devcluster("up", "--light", "--provider", "local", "--name", paths.name) == str(paths.kubeconfig)
    before = report(paths)
    assert before["ready"]

    kubectl(paths, "create", "job", "one", "--image=none")
    assert becomes_so(lambda: "one-" in kubectl(paths, "get", "pods", "--output=name"), within=20)
    devcluster("up", "--light", "--provider", "local", "--name", paths.name)
    assert report(paths)["components"] == before["components"]

    supervisor = next(pid for pid in marked(paths.state) if b"supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(supervisor, signal.SIGKILL)
    assert becomes_so(lambda: not report(paths)["ready"], within=20)
    devcluster("down", "--name", paths.name)
    assert leaves_nothing(paths)
    devcluster("down", "--name", paths.name)
    assert leaves_nothing(paths)


@pytest.mark.apiserver
def test_a_broken_cluster_is_made_anew(paths: ClusterPaths) -> None:
    devcluster("up", "--light", "--provider", "local", "--name", paths.name)
    for pid in marked(paths.state):
        os.kill(pid, signal.SIGKILL)
    devcluster("up", "--light", "--provider", "local", "--name", paths.name)
    assert report(paths)["ready"]


@pytest.mark.apiserver
def test_an_up_that_was_killed_halfway_is_cleaned_up(paths: ClusterPaths) -> None:
    command = [
        sys.executable,
        "-m",
        "mcptasks_devcluster",
        "up",
        "--light",
        "--provider",
        "local",
        "--name",
        paths.name,
    ]
    with subprocess.Popen(command) as up:
        assert becomes_so(lambda: bool(marked(paths.state)), within=600)
        up.kill()
    devcluster("down", "--name", paths.name)
    assert leaves_nothing(paths)


@pytest.mark.cluster
@pytest.mark.skipif(os.geteuid() != 0, reason="a whole local cluster needs root")
def test_a_whole_cluster_outlives_its_kubelet_and_is_gone_after_process_1_was_killed(paths: ClusterPaths) -> None:
    devcluster("up", "--provider", "local", "--name", paths.name)
    before = report(paths)
    assert before["checks"] == {"dns": True}
    assert cgroups.leftovers(paths.control_group)

    devcluster("restart", "kubelet", "--name", paths.name)
    after = report(paths)["components"]
    assert after["kubelet"]["pid"] != before["components"]["kubelet"]["pid"]
    assert after["etcd"] == before["components"]["etcd"]
    assert "10.96.0.0/16" in devcluster("exec", "--name", paths.name, "--", "ip", "route")

    init = namespace_init(paths.state)
    assert init is not None
    os.kill(init, signal.SIGKILL)
    assert becomes_so(lambda: not marked(paths.state), within=20)
    devcluster("down", "--name", paths.name)
    assert leaves_nothing(paths)
