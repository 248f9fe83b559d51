"""Deploys a version of the shop, and waits until all its replicas run it.

The tool `deploy-shop`: its pod starts only once somebody has answered the tool's question; what was answered is in
`task.answers`. Its service account may change this one Deployment.
"""

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcptasks.job import ToolError, task

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEPLOYMENT: Final = "shop"
PAUSE_SECONDS: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The API server, as this pod's own account sees it."""

    url: str
    token: str
    namespace: str

    def deployment(self, patch: dict[str, Any] | None = None) -> Any:
        """The shop as it is, after a merge patch where there is one."""
        request = urllib.request.Request(
            f"{self.url}/apis/apps/v1/namespaces/{self.namespace}/deployments/{DEPLOYMENT}",
            method="GET" if patch is None else "PATCH",
            data=None if patch is None else json.dumps(patch).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/merge-patch+json",
            },
        )
        authority = ACCOUNT / "ca.crt"
        context = ssl.create_default_context(cafile=authority) if authority.exists() else None
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ToolError(f"the API server refuses: {json.load(error).get('message', error.reason)}") from error


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """How far a Deployment is."""

    wanted: int
    updated: int
    """Replicas of the new version that can be used."""
    is_over: bool


def rollout_of(deployment: Any) -> Rollout:
    """Read it from the object. What is stated of an older generation does not count."""
    status, wanted = deployment.get("status", {}), deployment["spec"]["replicas"]
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return Rollout(wanted=wanted, updated=0, is_over=False)
    fresh, usable = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    all_there = status.get("replicas", 0) == wanted
    return Rollout(
        wanted=wanted, updated=min(fresh, usable), is_over=fresh == wanted and usable == wanted and all_there
    )


def in_cluster(environment: Mapping[str, str]) -> Cluster:
    """The API server that every pod can reach; `SHOP_API_SERVER` names another one (`kubectl proxy`, a test)."""
    host = f"https://{environment.get('KUBERNETES_SERVICE_HOST')}:{environment.get('KUBERNETES_SERVICE_PORT')}"
    namespace = ACCOUNT / "namespace"
    return Cluster(
        url=environment.get("SHOP_API_SERVER", host),
        token=(ACCOUNT / "token").read_text() if (ACCOUNT / "token").exists() else "",
        namespace=namespace.read_text() if namespace.exists() else "default",
    )


def main(version: str = "1.1") -> dict[str, Any]:
    """Deploy it."""
    approval = task.answers["approve"]["content"]
    if approval.get("approved") is not True:
        raise ToolError("not approved: " + approval.get("note", "the box was not ticked"))
    cluster = in_cluster(os.environ)
    began = time.monotonic()
    before = cluster.deployment()
    labels = before["spec"]["template"]["metadata"]["labels"]
    deployment = cluster.deployment({"spec": {"template": {"metadata": {"labels": {**labels, "version": version}}}}})
    while not (rollout := rollout_of(deployment)).is_over:
        task.progress(
            rollout.updated, rollout.wanted, f"{version} runs in {rollout.updated} of {rollout.wanted} replicas"
        )
        time.sleep(PAUSE_SECONDS)
        deployment = cluster.deployment()
    task.progress(rollout.wanted, rollout.wanted, f"{version} runs everywhere")
    return {
        "version": version,
        "previous": labels.get("version", "none"),
        "replicas": rollout.wanted,
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    task.run(main)
