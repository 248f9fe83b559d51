"""Python environments beside the project's own, for tests: programs that pin other versions of what the project uses.

A set is a directory with a `requirements.txt` that pins versions and hashes. It is installed once into the cache
directory, under the hash of that file and of the Python that makes it; from then on no network is needed.
"""

import hashlib
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcptasks_devcluster.errors import CommandError, UnavailableError
from mcptasks_devcluster.locks import exclusive
from mcptasks_devcluster.paths import cache_dir
from mcptasks_devcluster.shell import run, say

PINS: Final = "requirements.txt"
_READY: Final = ".ready"
_INSTALL_SECONDS: Final = 900


@dataclass(frozen=True, kw_only=True)
class PythonEnvironment:
    """A set that is installed."""

    path: Path
    """A virtual environment. It is shared and kept: write nothing there."""

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.path / "bin" / "python"


def install(directory: Path) -> PythonEnvironment:
    """The set that this directory pins, installed if it is not yet; safe to be called by several processes at once.

    Raises:
        UnavailableError: the packages cannot be got, or do not have the hashes that are pinned.
    """
    home = cache_dir() / "clients" / _key(directory)
    if not (home / _READY).exists():
        with exclusive(home.with_name(f".{home.name}.lock")):
            if not (home / _READY).exists():
                say(f"devcluster: installing the Python packages of {directory.name} (once)")
                _install(directory, home)
    return PythonEnvironment(path=home)


def installed(directory: Path) -> PythonEnvironment | None:
    """The set that this directory pins, if it is installed already."""
    home = cache_dir() / "clients" / _key(directory)
    return PythonEnvironment(path=home) if (home / _READY).exists() else None


def _key(directory: Path) -> str:
    """A virtual environment is bound to the interpreter that made it."""
    maker = f"{sys.base_prefix} {platform.python_version()} {platform.machine()}\0"
    digest = hashlib.sha256(maker.encode() + (directory / PINS).read_bytes())
    return f"{directory.name}-{digest.hexdigest()[:12]}"


def _install(directory: Path, home: Path) -> None:
    """An environment cannot be moved, so it is made in its place, and a mark says when it is whole."""
    shutil.rmtree(home, ignore_errors=True)
    environment = PythonEnvironment(path=home)
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", environment.python, "install", "--quiet"]
    try:
        run([sys.executable, "-m", "venv", "--without-pip", home])
        run(
            [*pip, "--disable-pip-version-check", "--require-hashes", "--requirement", directory / PINS],
            timeout=_INSTALL_SECONDS,
        )
    except CommandError as error:
        raise UnavailableError(f"pip could not install the packages that {directory} pins: {error}") from error
    (home / _READY).touch()
