"""What the command line and the kind stand-in do with a cluster, whichever provider it is of."""

import json
from dataclasses import asdict
from typing import assert_never

from mcptasks_devcluster.context import ContextCluster
from mcptasks_devcluster.controlplane import Tuning
from mcptasks_devcluster.errors import WrongClusterError
from mcptasks_devcluster.kind import KindCluster
from mcptasks_devcluster.local import LocalCluster
from mcptasks_devcluster.paths import ClusterPaths, cluster_paths
from mcptasks_devcluster.processes import marked
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.providers import Choice, Named, choose
from mcptasks_devcluster.readiness import is_up
from mcptasks_devcluster.record import Record, Size, read_record
from mcptasks_devcluster.report import read_report
from mcptasks_devcluster.shell import answers


def bring_up(
    name: str,
    *,
    choice: Choice,
    size: Size,
    named: Named | None,
    tuning: Tuning,
    image: str | None = None,
    config: str | None = None,
) -> ClusterPaths:
    """Make the cluster be there, and give its paths. ``image`` and ``config`` are kind's own and only for it."""
    paths = cluster_paths(name)
    provider = choose(choice, size=size, named=named, existing=read_record(paths.record))
    match provider:
        case "context":
            if named is None:
                # It was named when it was first brought up; the copy of its kubeconfig is what there is.
                named = Named(kubeconfig=str(paths.kubeconfig), context=None)
            ContextCluster(paths).up(named)
        case "kind":
            KindCluster(paths).up(image=image, config=config)
        case "local":
            LocalCluster(paths).up(size=size, tuning=tuning)
        case _:
            assert_never(provider)
    return paths


def take_down(name: str) -> None:
    """Make the cluster be gone. Without a record there may still be processes, so the local provider looks for them."""
    provider_of(cluster_paths(name)).down()


def provider_of(paths: ClusterPaths) -> ContextCluster | KindCluster | LocalCluster:
    """The cluster as its provider knows it."""
    record = read_record(paths.record)
    if record is None:
        return LocalCluster(paths)
    match record.provider:
        case "context":
            return ContextCluster(paths)
        case "kind":
            return KindCluster(paths)
        case "local":
            return LocalCluster(paths)
        case _:
            assert_never(record.provider)


def existing(name: str) -> tuple[ClusterPaths, Record]:
    """Paths and record of a cluster that must have been brought up."""
    paths = cluster_paths(name)
    record = read_record(paths.record)
    if record is None:
        raise WrongClusterError(f"there is no cluster {name}: python -m mcptasks_devcluster up --name {name}")
    return paths, record


def status(name: str) -> dict[str, object]:
    """What there is of the cluster, for people and for scripts. Process ids are the host's."""
    paths = cluster_paths(name)
    record = read_record(paths.record)
    if record is None:
        return {"name": name, "ready": False, "provider": None, "processes": len(marked(paths.state))}
    common = {"name": name, "provider": record.provider, "size": record.size, "kubeconfig": str(paths.kubeconfig)}
    if record.provider != "local":
        kubectl = program("kubectl", prefer_path=True)
        command = [kubectl, "--kubeconfig", str(paths.kubeconfig), "version", "--request-timeout=5s"]
        return {**common, "ready": answers(command, timeout=15)}
    report = read_report(paths)
    return {
        **common,
        "ready": is_up(paths, record),
        "server": f"https://127.0.0.1:{record.port}",
        "logs": str(paths.logs),
        "processes": len(marked(paths.state)),
        "components": {name: asdict(state) for name, state in report.components.items()},
        "checks": report.checks,
    }


def status_json(content: dict[str, object]) -> str:
    """``status`` for scripts."""
    return json.dumps(content, indent=2)


def status_text(content: dict[str, object]) -> str:
    """``status`` for people: one line for each value, the nested ones indented."""
    lines: list[str] = []
    for key, value in content.items():
        if not isinstance(value, dict):
            lines.append(f"{key}: {value}")
            continue
        lines.append(f"{key}:")
        for name, item in value.items():
            shown = ", ".join(f"{word} {part}" for word, part in item.items()) if isinstance(item, dict) else item
            lines.append(f"  {name}: {shown}")
    return "\n".join(lines)
