"""Tasks' logs on a real API server: with the chart's own rights and no more, and only of the task's own pod."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, SECRETS, Kube, RejectedError
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_devcluster.rights import restricted_kubeconfig
from mcptasks_operator.testing.kubelet import FakeKubelet, running
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.projection import is_over
from mcptasks_server.tasklogs import LOG_META
from mcptasks_server.testing.contract import Hand, new_task, over, until
from mcptasks_server.testing.replicas import Serve, StartReplica
from mcptasks_server.testing.wire import Wire

pytestmark = pytest.mark.apiserver

CONTAINER = {"name": "tool", "image": "none", "env": [{"name": names.RESULT_VARIABLE, "value": "/dev/termination-log"}]}


@pytest.fixture
async def restricted(kube: Kube, namespace: str, tmp_path: Path) -> AsyncIterator[Kube]:
    """A connection with the rights that the chart gives the server."""
    file = await restricted_kubeconfig(kube, namespace, component="server", file=tmp_path / "restricted")
    async with await Kube.connect(kubeconfig=file) as connection:
        yield connection


@dataclass(frozen=True, kw_only=True)
class Hands:
    """The operator's and the kubelet's: they run tasks, and write their statuses."""

    kube: Kube
    namespace: str
    write: Hand

    async def run(self, backend: Backend, **job: str) -> str:
        """A task whose pod runs; `job`: what its status says otherwise of that."""
        task = (await backend.services.tasks.create(new_task(), caller=ANONYMOUS)).metadata.name
        template = {
            "metadata": {"labels": {names.TASK_LABEL: task}},
            "spec": {"restartPolicy": "Never", "containers": [CONTAINER]},
        }
        made = await self.kube.create(
            JOBS, self.namespace, {"metadata": {"name": task}, "spec": {"template": template}}
        )
        name = await FakeKubelet(kube=self.kube, namespace=self.namespace).run(task)
        pod = await self.kube.get(PODS, self.namespace, name)
        seen = {"name": task, "uid": made["metadata"]["uid"], "podName": name, "podUID": pod["metadata"]["uid"]}
        await self.write(task, {"phase": "Running", "job": seen | job})
        await until(backend.services.tasks, task, lambda shown: shown is not None and shown.status.job is not None)
        return task

    async def other_pod(self) -> Json:
        """The pod of somebody else's database."""
        manifest = {"metadata": {"name": "database-0"}, "spec": {"containers": [CONTAINER]}}
        await self.kube.create(PODS, self.namespace, manifest)
        await FakeKubelet(kube=self.kube, namespace=self.namespace).set("database-0", running(datetime.now(UTC)))
        return await self.kube.get(PODS, self.namespace, "database-0")


@pytest.fixture
def hands(kube: Kube, namespace: str, hand: Hand) -> Hands:
    """Who does the others' part."""
    return Hands(kube=kube, namespace=namespace, write=hand)


async def log_of(wire: Wire, task: str) -> Json:
    """What is known of a task's log."""
    [content] = (await wire.call("resources/read", {"uri": f"mcptask://{task}/log"})).result["contents"]
    found: Json = content["_meta"][LOG_META] | {"text": content["text"]}
    return found


async def test_the_charts_rights_suffice_to_read_a_log(
    restricted: Kube, start_replica: StartReplica, serve: Serve, hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    backend = await start_replica(restricted)
    wire = await serve(backend)
    task = await hands.run(backend)

    living = await log_of(wire, task)
    await hands.write(task, over() | {"logTail": "the end\n"})
    await until(backend.services.tasks, task, lambda shown: shown is not None and is_over(shown))
    ended = await log_of(wire, task)

    # No node has the pod, so its log is empty: that it could be asked for is what counts here.
    assert (living["source"], living["note"]) == ("pod", "[Nothing was printed so far.]")
    assert (ended["source"], ended["text"].splitlines()[1:]) == ("kept", ["the end"])
    assert [record for record in caplog.records if "orbidden" in record.getMessage()] == []


async def test_the_charts_rights_are_no_more_than_the_server_needs(restricted: Kube, namespace: str) -> None:
    paths = [
        PODS.path(namespace),
        PODS.path("default", "x"),
        PODS.path("default", "x", subresource="log"),
        PODS.path(namespace, "x", subresource="exec"),
        JOBS.path(namespace, "x"),
        SECRETS.path(namespace),
        SECRETS.path("default", "x"),
        "/api/v1/namespaces",
    ]
    for path in paths:
        with pytest.raises(RejectedError, match="forbidden"):
            await restricted.request("GET", path)
    for method in ("DELETE", "PATCH"):
        with pytest.raises(RejectedError, match="forbidden"):
            await restricted.request(method, PODS.path(namespace, "x"), body={}, content_type="application/json")


@pytest.mark.parametrize("attack", ["another's pod", "another task's pod", "another namespace's pod", "nobody's pod"])
async def test_a_status_that_names_a_pod_that_is_not_the_tasks_own_shows_nothing_of_it(  # noqa: PLR0917
    proxied: Kube, proxy: FaultProxy, start_replica: StartReplica, serve: Serve, hands: Hands, attack: str
) -> None:
    backend = await start_replica(proxied)
    wire = await serve(backend)
    named: dict[str, Any] = {"podName": "../../default/pods/x", "podUID": "x"}
    if attack == "another's pod":
        pod = await hands.other_pod()
        named = {"podName": pod["metadata"]["name"], "podUID": pod["metadata"]["uid"]}
    elif attack == "another task's pod":
        victim = (await backend.services.tasks.get(await hands.run(backend), caller=ANONYMOUS)).status.job
        assert victim is not None
        named = {"podName": victim.pod_name, "podUID": victim.pod_uid}
    elif attack == "nobody's pod":
        named = {"podName": "nobody-0", "podUID": "x"}
    task = await hands.run(backend, **named)

    log = await log_of(wire, task)

    assert log["source"] == "none"
    assert log["text"] == f"{log['note']}\n"
    assert "not there any more" in log["note"]
    assert [request.path for request in proxy.requests if request.path.endswith("/log")] == []
    assert [request.path for request in proxy.requests if "/default/" in request.path] == []
