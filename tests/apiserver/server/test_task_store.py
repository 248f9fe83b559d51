"""The real task store keeps the contract that its double keeps."""

from collections.abc import Mapping
from typing import Any

import pytest

from mcptasks_crds.kube import TASKS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.tasks import TaskStore
from mcptasks_server.testing.contract import Hand, TaskStoreContract


@pytest.mark.apiserver
class TestTheTaskStoreOnTheApiServer(TaskStoreContract):
    @pytest.fixture
    def store(self, replica: Backend) -> TaskStore:
        return replica.services.tasks

    @pytest.fixture
    def hand(self, kube: Kube, namespace: str, replica: Backend) -> Hand:
        """Writes, and waits for the replica's watch: a write from elsewhere is shown within the watch's lag."""

        async def write(task_id: str, patch: Mapping[str, Any]) -> None:
            document = await kube.patch(TASKS, namespace, task_id, {"status": dict(patch)}, subresource="status")
            version = int(document["metadata"]["resourceVersion"])

            async def has_arrived() -> bool:
                return replica.has_seen(task_id, version=version)

            await eventually(has_arrived, what="the watch shows the write", timeout_seconds=10)

        return write
