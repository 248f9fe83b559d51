"""What the probes are told of a replica."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from mcptasks_crds.base import Json
from mcptasks_crds.kube import MERGE_PATCH, TASKS, Kind, Kube, RejectedError
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.rights import restricted_kubeconfig
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.metrics import Metrics

pytestmark = pytest.mark.apiserver


class BrokenKube(Kube):
    """A connection with a defect: what it raises nobody has thought of."""

    def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        timeout_seconds: float,
        on_open: Callable[[], None] = lambda: None,
        **query: str,
    ) -> Any:
        if kind is TASKS:
            raise ZeroDivisionError
        return super().watch(kind, namespace, timeout_seconds=timeout_seconds, on_open=on_open, **query)


async def test_a_replica_whose_watch_has_ended_for_good_asks_to_be_started_anew(kube: Kube, namespace: str) -> None:
    backend = Backend(BrokenKube(kube._api), namespace=namespace, metrics=Metrics())
    async with backend.running():

        async def is_broken() -> bool:
            return backend.what_is_broken() != ""

        await eventually(is_broken, what="the replica says that it is broken")


async def test_an_object_that_cannot_be_read_hides_no_other(kube: Kube, namespace: str) -> None:
    class OddKube(Kube):
        """An API server of a later version, one of whose objects this one cannot read."""

        async def list(self, kind: Kind, namespace: str, **query: str) -> Json:
            page = await super().list(kind, namespace, **query)
            odd = {"metadata": {"name": "odd", "resourceVersion": "1"}, "spec": "another form"}
            return {**page, "items": [odd, *page["items"]]}

    backend = Backend(OddKube(kube._api), namespace=namespace, metrics=Metrics())
    async with backend.running():

        async def is_ready() -> bool:
            return backend.what_is_missing() == ""

        await eventually(is_ready, what="the replica is ready")
        assert backend.services.catalogue.tools() == ()
        assert backend.what_is_broken() == ""


async def test_a_replica_without_a_right_is_not_ready_names_it_and_starts_once_it_has_it(
    kube: Kube, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcptasks_crds.selfcheck.AGAIN_SECONDS", 0.5)
    file = await restricted_kubeconfig(kube, namespace, component="server", file=tmp_path / "restricted")
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/x-mcptasks-server"
    whole: Json = json.loads(await kube.request("GET", role))
    poorer = [rule for rule in whole["rules"] if rule["resources"] != ["secrets"]]
    await kube.request("PATCH", role, body={"rules": poorer}, content_type=MERGE_PATCH)

    async with await Kube.connect(kubeconfig=file) as restricted:
        backend = Backend(restricted, namespace=namespace, metrics=Metrics())
        async with backend.running():

            async def names_it() -> str | None:
                said = backend.what_is_missing()
                return said if "create secrets" in said else None

            async def is_ready() -> bool:
                return backend.what_is_missing() == ""

            said = await eventually(names_it, what="it names the right")
            assert f"the server may not do this in namespace {namespace}" in said
            await kube.request("PATCH", role, body={"rules": whole["rules"]}, content_type=MERGE_PATCH)
            await eventually(is_ready, what="it is ready")


async def test_a_replica_that_serves_goes_on_without_a_right_and_says_which_it_lacks(
    kube: Kube, namespace: str, tmp_path: Path
) -> None:
    file = await restricted_kubeconfig(kube, namespace, component="server", file=tmp_path / "restricted")
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/x-mcptasks-server"
    whole: Json = json.loads(await kube.request("GET", role))
    poorer = [rule for rule in whole["rules"] if rule["resources"] != ["secrets"]]

    with capture_logs() as logs:
        async with await Kube.connect(kubeconfig=file) as restricted:
            backend = Backend(restricted, namespace=namespace, metrics=Metrics())
            async with backend.running():

                async def is_ready() -> bool:
                    return backend.what_is_missing() == ""

                async def says_so() -> bool:
                    return any("create secrets" in str(line.get("wrong")) for line in logs)

                await eventually(is_ready, what="it is ready")
                await kube.request("PATCH", role, body={"rules": poorer}, content_type=MERGE_PATCH)
                with pytest.raises(RejectedError):
                    await restricted.request("POST", f"/api/v1/namespaces/{namespace}/secrets", body={"data": {}})
                await eventually(says_so, what="it says which right lacks")
                assert backend.what_is_missing() == ""
