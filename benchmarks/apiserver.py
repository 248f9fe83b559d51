"""The API server as something to be measured beside: an account that it does not slow down, and what it has done."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, Kube

ACCOUNT: Final = "benchmark"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_FLOWS: Final = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
_REQUESTS: Final = re.compile(r"apiserver_request_total\{([^}]*)\} (\S+)")
_READS: Final = re.compile(r'verb="(GET|LIST)"')


@asynccontextmanager
async def service_account(kube: Kube, namespace: str) -> AsyncIterator[str]:
    """The token of an account that may read tasks, and whose requests the API server never queues."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await kube.request("POST", accounts, body={"metadata": {"name": ACCOUNT}})
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
    rule = {"apiGroups": [TASKS.group], "resources": [TASKS.plural], "verbs": ["get"]}
    await kube.request(
        "POST", f"{_RBAC}/namespaces/{namespace}/roles", body={"metadata": {"name": ACCOUNT}, "rules": [rule]}
    )
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT}
    binding = {"metadata": {"name": ACCOUNT}, "roleRef": reference, "subjects": [account]}
    await kube.request("POST", f"{_RBAC}/namespaces/{namespace}/rolebindings", body=binding)
    flow = f"{namespace}-{ACCOUNT}"
    await kube.request("POST", _FLOWS, body=_exempt(flow, namespace))
    try:
        answer = await kube.request("POST", f"{accounts}/{ACCOUNT}/token", body={"spec": {"expirationSeconds": 3600}})
        yield str(json.loads(answer)["status"]["token"])
    finally:
        await kube.request("DELETE", f"{_FLOWS}/{flow}")


def _exempt(name: str, namespace: str) -> Json:
    """Fifty connections of a common account would be measured by the API server's fair queueing, not by its speed."""
    subject = {"kind": "ServiceAccount", "serviceAccount": {"name": ACCOUNT, "namespace": namespace}}
    rule = {"apiGroups": [TASKS.group], "resources": [TASKS.plural], "verbs": ["get"], "namespaces": [namespace]}
    return {
        "metadata": {"name": name},
        "spec": {
            "matchingPrecedence": 10,
            "priorityLevelConfiguration": {"name": "exempt"},
            "rules": [{"subjects": [subject], "resourceRules": [rule]}],
        },
    }


async def reads_of_tasks(kube: Kube) -> float:
    """How often the API server was asked for tasks since it began, by its own count (watches aside)."""
    text = (await kube.request("GET", "/metrics", accept="*/*")).decode()
    return sum(
        float(number)
        for labels, number in _REQUESTS.findall(text)
        if f'resource="{TASKS.plural}"' in labels and _READS.search(labels)
    )
