"""A service account with the very rights that the chart gives a component, and no others."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Final, Literal

import yaml

from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kube
from mcptasks_devcluster.programs import program

CHART: Final = Path(__file__).parents[2] / "charts" / "mcptasks"


async def restricted_kubeconfig(
    kube: Kube, namespace: str, *, component: Literal["operator", "server"], file: Path
) -> Path:
    """Make the component's Role in a namespace, and an account that it is bound to; writes a kubeconfig of that.

    `kube`: a connection that may do all of this.
    """
    account = f"{component}-restricted"
    core, rbac = f"/api/v1/namespaces/{namespace}", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    await _made(kube, f"{core}/serviceaccounts", {"metadata": {"name": account}})
    for document in await asyncio.to_thread(_role, namespace, component):
        if document["kind"] == "RoleBinding":
            document["subjects"] = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
        await _made(kube, f"{rbac}/{document['kind'].lower()}s", document)
    path = f"{core}/serviceaccounts/{account}/token"
    token = (await _made(kube, path, {"spec": {"expirationSeconds": 3600}}))["status"]["token"]
    await asyncio.to_thread(file.write_text, yaml.safe_dump(_kubeconfig(kube, token)))
    return file


def _kubeconfig(kube: Kube, token: str) -> Json:
    cluster = {"server": kube.configuration.host, "certificate-authority": kube.configuration.ssl_ca_cert}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": {"token": token}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }


def _role(namespace: str, component: str) -> tuple[Json, ...]:
    """The Role and RoleBinding as the chart renders them."""
    template = [program("helm"), "template", "x", str(CHART), "-s", f"templates/{component}/role.yaml"]
    command = [*template, "--namespace", namespace, "--kube-version", "1.35.0"]
    rendered = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return tuple(document for document in yaml.safe_load_all(rendered.stdout) if document)


async def _made(kube: Kube, path: str, manifest: Json) -> Json:
    document: Json = json.loads(await kube.request("POST", path, body=manifest))
    return document
