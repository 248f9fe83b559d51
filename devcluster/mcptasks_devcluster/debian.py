"""The packages that the local cluster takes from Debian: container runtime, network plugins, tools."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from mcptasks_devcluster.errors import UnavailableError
from mcptasks_devcluster.shell import run, say
from mcptasks_devcluster.versions import DEBIAN_PACKAGES


def missing_packages(packages: Mapping[str, str] = DEBIAN_PACKAGES) -> list[str]:
    """Which of them are not installed (by the file that each is needed for)."""
    return [package for package, witness in packages.items() if not Path(witness).exists()]


def ensure_packages(packages: Mapping[str, str] = DEBIAN_PACKAGES, *, purpose: str = "the local cluster") -> None:
    """Install what is missing; refuse with the command to run where this process may not."""
    missing = missing_packages(packages)
    if not missing:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise UnavailableError(f"{purpose} needs a Debian with: {' '.join(missing)}; as root: {' '.join(command)}")
    say(f"devcluster: installing from Debian: {' '.join(missing)}")
    patient = ["-o", "DPkg::Lock::Timeout=600"]
    noninteractive = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", *patient, "update"], env=noninteractive)
    run([*command, *patient], env=noninteractive)
