"""What the probes are told of a replica."""

from collections.abc import Callable
from typing import Any

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, Kind, Kube
from mcptasks_devcluster.eventually import eventually
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
