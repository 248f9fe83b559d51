"""What the operator asks of the API server for one task, from creation to deletion: counted in the API server's own
audit log, and listed by name. Watches and the resync's lists are not counted: they do not grow with the tasks.
"""

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import yaml
from benchmarks.rig import Rig, rig

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, Kube, NotFoundError
from mcptasks_devcluster.eventually import eventually

COUNTED_VERBS: Final = frozenset({"create", "get", "list", "patch", "update", "delete"})
"""Of the lists, only those that ask for one task."""


async def measure(
    *, kubeconfig: Path, audit_log: Path, tools: Sequence[Json], name: str, count: int = 10
) -> dict[str, float]:
    """Run tasks that are kept for half a minute, and count what the operator asked for them; returns requests a task.

    Half a minute, so that no lease has to be renewed while a task lives: that is a matter of hours in real use.
    """
    short = [{**tool, "spec": {**tool["spec"], "retentionSeconds": 30}} for tool in tools]
    async with rig(kubeconfig=kubeconfig, operator=True, tools=short, operator_identity=operator_identity) as running:
        tasks = [await running.client.call(name, {}) for _ in range(count)]
        for task in tasks:
            await eventually(partial(_is_gone, running, task), what=f"{task} is deleted", timeout_seconds=120)
        counted = Counter(_requests(audit_log, namespace=running.namespace, tasks=tasks))
    return {
        "tasks": count,
        **{what: number / count for what, number in sorted(counted.items())},
        "total": counted.total() / count,
    }


def _requests(audit_log: Path, *, namespace: str, tasks: Sequence[str]) -> list[str]:
    """The operator's requests for these tasks, each as `verb resource/subresource`."""
    found: list[str] = []
    for line in audit_log.read_text().splitlines():
        event = json.loads(line)
        about = event.get("objectRef", {})
        if (
            event["stage"] == "ResponseComplete"
            and event["user"]["username"] == f"system:serviceaccount:{namespace}:{OPERATOR}"
            and event["verb"] in COUNTED_VERBS
            and "dryRun" not in event["requestURI"]
            # A create of a Job or an Event names no object in its address.
            and (event["verb"] == "create" or any(task in event["requestURI"] for task in tasks))
        ):
            found.append("/".join(filter(None, (f"{event['verb']} {about['resource']}", about.get("subresource")))))
    return found


async def _is_gone(running: Rig, task: str) -> bool:
    try:
        await running.kube.get(TASKS, running.namespace, task)
    except NotFoundError:
        return True
    return False


OPERATOR: Final = "operator"


async def operator_identity(kube: Kube, kubeconfig: Path, namespace: str, directory: Path) -> Path:
    """A kubeconfig for a service account of its own, so that the audit log tells the operator from everybody else."""
    account = {"metadata": {"name": OPERATOR}}
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await kube.request("POST", accounts, body=account)
    binding = {
        "metadata": {"name": f"{namespace}-{OPERATOR}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": OPERATOR, "namespace": namespace}],
    }
    await kube.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body=binding)
    answer = await kube.request("POST", f"{accounts}/{OPERATOR}/token", body={"spec": {"expirationSeconds": 3600}})
    return _with_token(kubeconfig, token=json.loads(answer)["status"]["token"], path=directory / "operator.kubeconfig")


def _with_token(kubeconfig: Path, *, token: str, path: Path) -> Path:
    document = yaml.safe_load(kubeconfig.read_text())
    for user in document["users"]:
        user["user"] = {"token": token}
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document))
    return path
