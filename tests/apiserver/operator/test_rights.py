"""The operator with the rights that the chart gives it, and no others."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, JOBS, TASKS, Kube, RejectedError
from mcptasks_crds.phases import Phase
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver

ROOT = Path(__file__).parents[3]


def charts_role(namespace: str) -> tuple[Json, ...]:
    """The operator's Role and RoleBinding as the chart renders them."""
    command = [sys.executable, "-m", "mcptasks_devcluster", "bin", "helm"]
    helm = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    template = [helm, "template", "x", "charts/mcptasks", "-s", "templates/operator/role.yaml"]
    rendered = subprocess.run(
        [*template, "--namespace", namespace, "--kube-version", "1.35.0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return tuple(document for document in yaml.safe_load_all(rendered.stdout) if document)


@pytest.fixture
async def restricted(world: World, tmp_path: Path) -> World:
    """The world, seen through a service account that has the chart's Role."""
    account = await made(
        world.kube, f"/api/v1/namespaces/{world.namespace}/serviceaccounts", {"metadata": {"name": "op"}}
    )
    assert account["metadata"]["name"] == "op"
    for document in await asyncio.to_thread(charts_role, world.namespace):
        plural = f"{document['kind'].lower()}s"
        if document["kind"] == "RoleBinding":
            document["subjects"] = [{"kind": "ServiceAccount", "name": "op", "namespace": world.namespace}]
        path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{world.namespace}/{plural}"
        await made(world.kube, path, document)
    path = f"/api/v1/namespaces/{world.namespace}/serviceaccounts/op/token"
    token = await made(world.kube, path, {"spec": {"expirationSeconds": 3600}})
    configuration = world.kube.configuration
    file = tmp_path / "restricted"
    file.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "op",
                "clusters": [
                    {
                        "name": "op",
                        "cluster": {
                            "server": configuration.host,
                            "certificate-authority": configuration.ssl_ca_cert,
                        },
                    }
                ],
                "users": [{"name": "op", "user": {"token": token["status"]["token"]}}],
                "contexts": [{"name": "op", "context": {"cluster": "op", "user": "op"}}],
            }
        )
    )
    return replace(world, kubeconfig=file)


async def made(kube: Kube, path: str, manifest: Json) -> Json:
    document: Json = json.loads(await kube.request("POST", path, body=manifest))
    return document


async def test_the_charts_rights_suffice_for_the_whole_life_of_a_task(
    restricted: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with restricted.operator() as operator:
        await restricted.tool()
        kept = await restricted.call()
        task = await restricted.call(retentionSeconds=1)
        stopped = await restricted.call()
        for each in (kept, task):
            await restricted.kubelet.run(each)
            await restricted.kubelet.finish(each)
        await restricted.status(kept, Phase.COMPLETED)
        await restricted.gone(TASKS, task)
        await restricted.job(stopped)
        await restricted.cancel(stopped)
        await restricted.status(stopped, Phase.CANCELLED)
        await restricted.until(EVENTS, names.event_name(kept, "Succeeded"), lambda _: True)
        text = operator.metrics.text().decode()

    assert 'code="403"' not in text
    assert 'resource="pods/log"' in text
    assert [record for record in caplog.records if "orbidden" in record.getMessage()] == []


async def test_the_charts_rights_are_no_more_than_the_operator_needs(restricted: World) -> None:
    async with await Kube.connect(kubeconfig=restricted.kubeconfig) as kube:
        for path in ("/api/v1/namespaces", f"/api/v1/namespaces/{restricted.namespace}/secrets"):
            with pytest.raises(RejectedError, match="forbidden"):
                await kube.request("GET", path)
        with pytest.raises(RejectedError, match="forbidden"):
            await kube.create(TASKS, restricted.namespace, {"metadata": {"name": names.new_task_id()}})
        with pytest.raises(RejectedError, match="forbidden"):
            await kube.patch(JOBS, restricted.namespace, "x", {"status": {}}, subresource="status")
