"""What is built, with which Go, and when it is built again."""

import shutil
from pathlib import Path

import pytest

from mcptasks_devcluster import versions
from mcptasks_devcluster.build import binary, build_command
from mcptasks_devcluster.golang import judge
from mcptasks_devcluster.versions import FULL, LIGHT, PROGRAMS, build_key, kubernetes_version, linker_flags


def test_every_program_has_a_pinned_module() -> None:
    for program in PROGRAMS.values():
        assert (versions.GOBUILD / program.module / "go.mod").is_file()


def test_everything_of_a_light_cluster_is_in_a_whole_one() -> None:
    assert set(LIGHT) < set(FULL)


def test_kubernetes_programs_say_their_version() -> None:
    flags = linker_flags(PROGRAMS["kubelet"])
    assert f"version.gitVersion={kubernetes_version()}" in flags
    assert "gitVersion" not in linker_flags(PROGRAMS["etcd"])


def test_a_program_is_built_from_its_package_into_one_file() -> None:
    command = build_command("/go", PROGRAMS["kubectl"], Path("/out"))
    assert command[:3] == ["/go", "build", "-trimpath"]
    assert command[-3:] == ["-o", "/out", "k8s.io/kubernetes/cmd/kubectl"]


def test_a_changed_pin_is_another_build_and_no_other_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {module: build_key(module) for module in ("etcd", "helm")}
    changed = tmp_path / "gobuild"
    shutil.copytree(versions.GOBUILD, changed)
    pins = changed / "etcd" / "go.mod"
    pins.write_text(pins.read_text() + "// another version\n")
    monkeypatch.setattr(versions, "GOBUILD", changed)
    build_key.cache_clear()
    try:
        assert build_key("etcd") != before["etcd"]
        assert build_key("helm") == before["helm"]
    finally:
        build_key.cache_clear()


def test_programs_are_kept_by_their_modules_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPTASKS_CACHE", str(tmp_path))
    assert binary("etcd") == tmp_path / "bin" / f"etcd-{build_key('etcd')}" / "etcd"


@pytest.mark.parametrize(
    ("line", "env"),
    [
        pytest.param("go version go1.26.8 linux/amd64", {}, id="new enough"),
        pytest.param("go version go2.0 linux/amd64", {}, id="newer"),
        pytest.param("go version go1.22.1 linux/amd64", {"GOTOOLCHAIN": "auto"}, id="fetches its successor"),
    ],
)
def test_a_go_that_will_do(line: str, env: dict[str, str]) -> None:
    go = judge("/go", line)
    assert go is not None
    assert go.env == env


@pytest.mark.parametrize("line", ["go version go1.19.8 linux/amd64", "no go at all"])
def test_a_go_that_is_of_no_use(line: str) -> None:
    assert judge("/go", line) is None
