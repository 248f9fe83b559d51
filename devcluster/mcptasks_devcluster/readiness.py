"""Whether a local cluster is up, as a list of named questions that ``up`` waits for in order."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcptasks_devcluster.addons import addon_objects
from mcptasks_devcluster.api import Api
from mcptasks_devcluster.errors import NotReadyError
from mcptasks_devcluster.node import node_name
from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.processes import marked
from mcptasks_devcluster.record import Record
from mcptasks_devcluster.report import read_report
from mcptasks_devcluster.shell import say

_POLL = 0.1
_TRIES = 5
_LOG_LINES = 15

Question = tuple[str, Callable[[], bool]]


def questions(paths: ClusterPaths, record: Record) -> list[Question]:
    """What must be so, each with the words it is reported in."""
    api = Api(port=record.port, pki=paths.pki)
    asked: list[Question] = [
        ("API server", api.ready),
        ("controllers", lambda: api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None),
    ]
    if record.size == "full":
        node = f"/api/v1/nodes/{node_name(paths.name)}"
        asked += [
            ("node", lambda: is_ready(api.get(node))),
            ("cluster DNS", lambda: read_report(paths).checks.get("dns", False)),
        ]
    return asked


def is_ready(node: dict[str, Any] | None) -> bool:
    """Whether the Node object says so."""
    if node is None:
        return False
    conditions = {item["type"]: item["status"] for item in node.get("status", {}).get("conditions", [])}
    return conditions.get("Ready") == "True"


def is_up(paths: ClusterPaths, record: Record) -> bool:
    """All at once, without waiting."""
    if not marked(paths.state) or not (paths.pki / "admin.key").exists():
        return False
    return all(answer() for _, answer in questions(paths, record))


def wait_until_up(paths: ClusterPaths, record: Record, *, timeout: float) -> None:
    """Until every question is answered yes; says why not, and where the logs are."""
    started = time.monotonic()
    for number, (name, answer) in enumerate(questions(paths, record)):
        while not answer():
            if reason := _hopeless(paths):
                raise NotReadyError(_explained(paths, reason))
            if time.monotonic() - started > timeout:
                raise NotReadyError(_explained(paths, f"no {name} after {timeout:.0f} s"))
            time.sleep(_POLL)
        say(f"devcluster: {name} ready after {time.monotonic() - started:.1f} s")
        if number == 0 and record.size == "full":
            api = Api(port=record.port, pki=paths.pki)
            for path, content in addon_objects():
                api.create(path, content)


def _hopeless(paths: ClusterPaths) -> str:
    """Why waiting longer is of no use; empty while it may be."""
    if not marked(paths.state):
        return "the supervisor ended"
    if failing := read_report(paths).restarting(beyond=_TRIES):
        return f"keeps ending: {', '.join(failing)}"
    return ""


def _explained(paths: ClusterPaths, reason: str) -> str:
    report = read_report(paths)
    suspects = report.restarting(beyond=1) or [name for name, state in report.components.items() if not state.starts]
    lines = [f"cluster {paths.name}: {reason}; all logs are in {paths.logs}"]
    for name in ["supervisor", *suspects]:
        log = paths.logs / f"{name}.log"
        if log.exists():
            lines += [f"--- {log}", *_tail(log)]
    return "\n".join(lines)


def _tail(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
