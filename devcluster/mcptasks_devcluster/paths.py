"""Where everything is kept: one cache directory, and in it one directory for each cluster."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcptasks_devcluster.errors import WrongClusterError

DEFAULT_NAME = "mcptasks"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The one directory that this tool writes to: ``$MCPTASKS_CACHE``, else the user's cache directory."""
    env = os.environ if environ is None else environ
    if explicit := env.get("MCPTASKS_CACHE"):
        return Path(explicit).expanduser().absolute()
    base = env.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "mcptasks"


def check_name(name: str) -> str:
    """Refuse what cannot be a directory, a cgroup and a node's name at once."""
    if not _NAME.fullmatch(name):
        raise WrongClusterError(f"a cluster's name is at most 40 of a-z, 0-9 and inner '-', not {name!r}")
    return name


@dataclass(frozen=True, kw_only=True)
class ClusterPaths:
    """The files of one cluster."""

    name: str
    cache: Path

    @property
    def state(self) -> Path:
        """Everything of this cluster; ``down`` removes it."""
        return self.cache / "clusters" / self.name

    @property
    def control_group(self) -> str:
        """The name of its control groups: the same name below another cache directory is another cluster."""
        return f"mcptasks-{self.name}-{hashlib.sha256(str(self.state).encode()).hexdigest()[:8]}"

    @property
    def lock(self) -> Path:
        """Held by ``up`` and ``down``; beside the state, because ``down`` removes that."""
        return self.cache / "clusters" / f".{self.name}.lock"

    @property
    def record(self) -> Path:
        """Which provider made the cluster and how; see ``record.py``."""
        return self.state / "cluster.json"

    @property
    def kubeconfig(self) -> Path:
        """For whoever uses the cluster from this machine."""
        return self.state / "kubeconfig"

    @property
    def plan(self) -> Path:
        """What the supervisor is to run."""
        return self.state / "plan.json"

    @property
    def report(self) -> Path:
        """What the supervisor says of its components."""
        return self.state / "report.json"

    @property
    def logs(self) -> Path:
        """One file for each component, and the supervisor's own."""
        return self.state / "logs"

    @property
    def pki(self) -> Path:
        """Keys and certificates."""
        return self.state / "pki"

    @property
    def run(self) -> Path:
        """Becomes ``/run`` inside the cluster's mount namespace: short socket paths, nothing of the host's touched."""
        return self.state / "run"


def cluster_paths(name: str) -> ClusterPaths:
    """The paths of the cluster with this name."""
    return ClusterPaths(name=check_name(name), cache=cache_dir())


def known_clusters() -> list[str]:
    """The names that have a state directory, whatever is left of the cluster itself."""
    parent = cache_dir() / "clusters"
    if not parent.is_dir():
        return []
    return sorted(path.name for path in parent.iterdir() if path.is_dir() and _NAME.fullmatch(path.name))
