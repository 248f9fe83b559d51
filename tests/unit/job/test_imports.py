"""The helper may be put into any image: it needs the standard library alone, and its examples are true."""

import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

JOB = Path(__file__).parents[3] / "client" / "mcptasks" / "job"
MODULES = sorted(
    ".".join(path.relative_to(JOB.parents[1]).with_suffix("").parts)
    for path in JOB.rglob("*.py")
    if path.name != "__init__.py"
)


@pytest.mark.parametrize("module", ["mcptasks.job", "mcptasks.job.aio", "mcptasks.job.run"])
def test_importing_it_loads_the_standard_library_alone(module: str) -> None:
    program = (
        f"import sys; before = set(sys.modules); import {module}\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(names - sys.stdlib_module_names))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout == "['mcptasks']\n"


def test_every_public_name_is_there() -> None:
    package = import_module("mcptasks.job")

    assert all(hasattr(package, name) for name in package.__all__)
    assert list(package.__all__) == sorted(package.__all__)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_its_docstrings_are_true(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0
