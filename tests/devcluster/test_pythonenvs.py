"""Python environments beside the project's own: pinned, made once, and without a network after that."""

import re
import sys
from pathlib import Path

import pytest

from mcptasks_devcluster import pythonenvs
from mcptasks_devcluster.errors import UnavailableError
from mcptasks_devcluster.pythonenvs import install
from mcptasks_devcluster.shell import run

SETS = sorted(path.parent for path in (Path(__file__).parents[1] / "clients").glob("*/requirements.txt"))


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set that pins nothing, so that making it needs no network."""
    monkeypatch.setenv("MCPTASKS_CACHE", str(tmp_path / "cache"))
    directory = tmp_path / "set"
    directory.mkdir()
    (directory / "requirements.txt").write_text("# nothing\n")
    return directory


@pytest.mark.parametrize("directory", SETS, ids=lambda path: path.name)
def test_a_lock_file_names_no_registry_and_a_hash_for_each_package(directory: Path) -> None:
    text = (directory / "requirements.txt").read_text()

    packages = re.findall(r"^[a-z].*?(?=^[a-z]|\Z)", text, re.MULTILINE | re.DOTALL)
    assert packages
    assert not [package for package in packages if "==" not in package or "--hash=sha256:" not in package]
    assert "://" not in text
    assert "index-url" not in text.replace("--no-emit-index-url", "")


@pytest.mark.parametrize("directory", SETS, ids=lambda path: path.name)
def test_every_set_asks_for_exact_versions(directory: Path) -> None:
    wanted = (directory / "requirements.in").read_text().split()

    assert wanted
    assert all(re.fullmatch(r"[a-z-]+==[0-9.]+", line) for line in wanted)


def test_an_environment_is_made_once_and_has_nothing_of_the_projects(pins: Path) -> None:
    made = install(pins)
    (made.path / "mark").touch()

    assert (install(pins).path / "mark").exists()
    assert Path(run([made.python, "-c", "import sys; print(sys.prefix)"]).strip()) == made.path
    with pytest.raises(Exception, match="No module named 'mcptasks'"):
        run([made.python, "-c", "import mcptasks"])


def test_a_changed_lock_file_is_another_environment(pins: Path) -> None:
    first = install(pins)
    (pins / "requirements.txt").write_text("# nothing either\n")

    assert install(pins).path != first.path


def test_an_environment_that_was_left_half_made_is_made_anew(pins: Path) -> None:
    made = install(pins)
    (made.path / ".ready").unlink()
    made.python.unlink()

    assert install(pins).python.exists()


def test_packages_that_cannot_be_got_are_named_with_the_set(pins: Path) -> None:
    (pins / "requirements.txt").write_text("no-version\n")

    with pytest.raises(UnavailableError, match=rf"{pins}(.|\n)*no-version"):
        install(pins)


def test_another_python_makes_another_environment(pins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pythonenvs._key(pins)
    monkeypatch.setattr(sys, "base_prefix", "/elsewhere")

    assert pythonenvs._key(pins) != first
