"""The layout's own promises, which no linter knows."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTAINERS = ("operator", "server", "crds", "client", "devcluster")


@pytest.mark.parametrize("folder", CONTAINERS)
def test_a_container_folder_holds_one_package_and_is_none_itself(folder: str) -> None:
    packages = [path.parent.name for path in (ROOT / folder).glob("*/__init__.py")]

    assert not (ROOT / folder / "__init__.py").exists()
    assert len(packages) == 1


def test_the_standard_librarys_operator_is_found_from_the_root() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import operator; print(operator.__file__)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip().endswith("/operator.py")


def test_tests_hold_no_packages_but_those_that_are_installed_as_one() -> None:
    found = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("__init__.py")}

    assert found == {Path("fixtures/conformance_pack/conformance_pack")}


@pytest.mark.parametrize(
    "package", ["crds/mcptasks_crds", "operator/mcptasks_operator", "server/mcptasks_server", "client/mcptasks"]
)
def test_every_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


def test_files_stay_small_rooms() -> None:
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for folder in CONTAINERS
        for path in (ROOT / folder).rglob("*.py")
    }

    assert {name: size for name, size in sizes.items() if size > 400} == {}
