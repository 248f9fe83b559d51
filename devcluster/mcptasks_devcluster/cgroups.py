"""The control groups of a cluster: one parent of a name of its own in each hierarchy, made before and removed after.

They belong to no process and outlive a killed cluster, so ``down`` looks for them by name.
"""

import errno
import os
from pathlib import Path

from mcptasks_devcluster.errors import DevclusterError
from mcptasks_devcluster.polling import becomes_so

MOUNT = Path("/sys/fs/cgroup")
_EMPTY_WITHIN = 20.0


def hierarchies(mount: Path = MOUNT) -> list[Path]:
    """Version 2 is one hierarchy; version 1 has one directory for each set of controllers (links are second names)."""
    if (mount / "cgroup.controllers").exists() or not mount.is_dir():
        return [mount]
    return sorted(path for path in mount.iterdir() if path.is_dir() and not path.is_symlink())


def create(group: str, mount: Path = MOUNT) -> None:
    """Make the parents."""
    for hierarchy in hierarchies(mount):
        parent = hierarchy / group
        parent.mkdir(exist_ok=True)
        # A new version 1 cpuset is empty and lets nothing in until it is filled.
        for name in ("cpuset.cpus", "cpuset.mems"):
            if (hierarchy / name).exists() and (parent / name).exists() and not (parent / name).read_text().strip():
                (parent / name).write_text((hierarchy / name).read_text())


def leftovers(group: str, mount: Path = MOUNT) -> list[Path]:
    """The parents that exist."""
    candidates = (hierarchy / group for hierarchy in hierarchies(mount))
    return [path for path in candidates if path.is_dir()]


def remove(group: str, mount: Path = MOUNT) -> None:
    """Remove the parents and all below; waits for the last processes in them to end."""

    def all_gone() -> bool:
        return all(_remove_tree(parent) for parent in leftovers(group, mount))

    if not becomes_so(all_gone, within=_EMPTY_WITHIN):
        raise DevclusterError(f"control groups still in use: {leftovers(group, mount)}")


def _remove_tree(parent: Path) -> bool:
    """Remove from the leaves up; False if a process is still in it."""
    for directory, _, _ in os.walk(parent, topdown=False):
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
    return True
