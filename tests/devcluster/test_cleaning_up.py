"""What is ours is found and removed, and nothing else is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcptasks_devcluster import cgroups
from mcptasks_devcluster.local import LocalCluster, supervisor_environment
from mcptasks_devcluster.locks import exclusive
from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.plan import Component, Plan
from mcptasks_devcluster.polling import becomes_so
from mcptasks_devcluster.processes import MARK, end_all, inner_to_outer, marked, namespace_ids
from mcptasks_devcluster.report import read_report

SOURCE = str(Path(cgroups.__file__).parent.parent)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: str(tmp_path)}) as process:
        yield process
        process.kill()


def test_a_process_is_ours_if_it_carries_the_mark(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    assert becomes_so(lambda: marked(tmp_path) == [sleeper.pid], within=5)
    assert marked(tmp_path / "other") == []
    assert marked(tmp_path.parent) == []


def test_ours_are_ended_and_others_are_not(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    assert becomes_so(lambda: marked(tmp_path) == [sleeper.pid], within=5)
    assert end_all(tmp_path / "other") == 0
    assert sleeper.poll() is None
    assert end_all(tmp_path) == 1
    assert sleeper.wait(timeout=5) < 0


def test_a_process_that_is_gone_has_no_numbers() -> None:
    assert namespace_ids(os.getpid())[0] == os.getpid()
    assert inner_to_outer([os.getpid()])[namespace_ids(os.getpid())[-1]] == os.getpid()
    assert namespace_ids(2**22 + 1) == []


@pytest.mark.parametrize("version", [1, 2])
def test_control_groups_are_removed_by_name_with_all_below(version: int, tmp_path: Path) -> None:
    if version == 1:
        for hierarchy in ("cpu", "memory"):
            (tmp_path / hierarchy).mkdir()
        (tmp_path / "cpu,cpuacct").symlink_to("cpu")
    else:
        (tmp_path / "cgroup.controllers").touch()
    cgroups.create("one", tmp_path)
    cgroups.create("one-more", tmp_path)
    parents = cgroups.leftovers("one", tmp_path)
    assert len(parents) == (2 if version == 1 else 1)
    (parents[0] / "kubepods" / "pod1").mkdir(parents=True)

    cgroups.remove("one", tmp_path)

    assert cgroups.leftovers("one", tmp_path) == []
    assert len(cgroups.leftovers("one-more", tmp_path)) == len(parents)


def test_a_new_cpuset_is_filled_from_its_hierarchy(tmp_path: Path) -> None:
    parent = tmp_path / "cpuset" / "one"
    parent.mkdir(parents=True)
    (tmp_path / "cpuset" / "cpuset.cpus").write_text("0-1\n")
    (parent / "cpuset.cpus").write_text("\n")
    cgroups.create("one", tmp_path)
    assert (parent / "cpuset.cpus").read_text() == "0-1\n"


def test_whoever_waited_for_a_lock_that_was_removed_takes_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with exclusive(path):
        path.unlink()
    with exclusive(path):
        assert path.exists()


def test_down_of_what_never_was_leaves_nothing(tmp_path: Path) -> None:
    paths = ClusterPaths(name="never-was", cache=tmp_path)
    LocalCluster(paths).down()
    assert list((tmp_path / "clusters").iterdir()) == []


def test_a_component_that_ends_is_started_again_and_one_that_is_to_run_once_is_not(tmp_path: Path) -> None:
    paths = ClusterPaths(name="tiny", cache=tmp_path)
    paths.logs.mkdir(parents=True)
    Plan(
        components=(
            Component(name="first", argv=("true",), once=True),
            Component(name="second", argv=("sleep", "60"), after=("done:first",)),
            Component(name="never", argv=("sleep", "60"), after=(f"file:{tmp_path}/none",)),
        )
    ).write(paths.plan)
    environment = supervisor_environment(paths.state, SOURCE)
    with subprocess.Popen([sys.executable, "-m", "mcptasks_devcluster.supervisor", paths.state], env=environment) as it:
        try:
            assert becomes_so(lambda: _pid(paths, "second") is not None, within=10)
            LocalCluster(paths).restart("second")
            components = read_report(paths).components
            assert components["second"].starts == 2
            assert components["second"].last_exit == -9
            assert components["first"].done
            assert components["first"].starts == 1
            assert components["never"].starts == 0
        finally:
            LocalCluster(paths).down()
        assert it.wait(timeout=5) == -9
    assert not paths.state.exists()


def _pid(paths: ClusterPaths, name: str) -> int | None:
    component = read_report(paths).components.get(name)
    return None if component is None else component.pid
