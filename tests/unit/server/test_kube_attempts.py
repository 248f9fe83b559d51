"""Which pods of a task may be its next attempt's, by what the API server has of them."""

from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kind, NotFoundError, RetryableError
from mcptasks_crds.task import McpTask
from mcptasks_server.cluster.kube_attempts import KubeAttempts
from mcptasks_server.errors import UnavailableError
from mcptasks_server.testing.pods import InMemoryReports

TASK = names.new_task_id()
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": names.job_name(TASK), "uid": "job-uid", "controller": True}


def pod(phase: str = "Running", **metadata: Any) -> Json:
    """A pod that the task's Job has made."""
    made = {"name": "pod-2", "uid": "uid-2", "labels": {names.TASK_LABEL: TASK}, "ownerReferences": [OWNER]}
    return {"metadata": {**made, **metadata}, "status": {"phase": phase}}


class OnePod:
    """An API server with that pod; or with an error."""

    def __init__(self, found: Json | Exception) -> None:
        self._found = found

    async def get(self, _kind: Kind, _namespace: str, _name: str) -> Json:
        """See `Kube`."""
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


async def is_alive(found: Json | Exception, *, name: str = "pod-2") -> bool:
    store = InMemoryReports()
    store.add(TASK)
    task: McpTask = store.task(TASK)
    return await KubeAttempts(OnePod(found), namespace="ns").is_alive(task, pod_name=name, pod_uid="uid-2")


@pytest.mark.parametrize("found", [pod(), pod("Pending")], ids=["it runs", "it starts"])
async def test_a_pod_of_the_tasks_job_is_alive_while(found: Json) -> None:
    assert await is_alive(found)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(pod("Succeeded"), id="it has succeeded"),
        pytest.param(pod("Failed"), id="it has failed"),
        pytest.param(pod(deletionTimestamp="2026-01-01T00:00:00Z"), id="it goes"),
        pytest.param(pod(uid="uid-3"), id="another one has its name"),
        pytest.param(pod(ownerReferences=[]), id="nobody has made it"),
        pytest.param(pod(ownerReferences=[{**OWNER, "uid": "job-2"}]), id="another Job has made it"),
        pytest.param(pod(ownerReferences=[{**OWNER, "controller": False}]), id="the Job has not made it"),
        pytest.param(pod(labels={}), id="it is not labelled"),
        pytest.param(NotFoundError("no such pod"), id="it is gone"),
    ],
)
async def test_a_pod_is_not_where(found: Json | Exception) -> None:
    assert not await is_alive(found)


async def test_what_can_be_no_name_is_not_asked_for() -> None:
    assert not await is_alive(AssertionError("asked"), name="../secrets/s")


async def test_where_the_api_server_does_not_say_nothing_is_known() -> None:
    with pytest.raises(UnavailableError):
        await is_alive(RetryableError("away"))
