"""One suite for the API server in memory and the real one: the double may not lie."""

from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, TASKS, TOOLS, ConflictError, Kind, NotFoundError, RejectedError
from mcptasks_operator.cluster import Cluster
from mcptasks_operator.testing.cluster import FakeCluster
from mcptasks_operator.testing.world import tool_manifest

pytestmark = pytest.mark.apiserver


@pytest.fixture(params=["in memory", "real"])
def place(request: pytest.FixtureRequest) -> tuple[Cluster, str]:
    """A cluster and a namespace of it."""
    if request.param == "real":
        return request.getfixturevalue("kube"), request.getfixturevalue("namespace")
    return FakeCluster(), "ns"


Place = tuple[Cluster, str]


def task(**labels: str) -> Json:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": names.new_task_id(), "labels": labels},
        "spec": {"tool": {"name": "echo"}, "arguments": "{}"},
    }


def job(name: str, **metadata: Any) -> Json:
    spec = {"containers": [{"name": "tool", "image": "example.invalid/x"}], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name} | metadata,
        "spec": {"suspend": True, "template": {"spec": spec}},
    }


async def test_what_is_made_is_there_with_a_uid_and_a_version_and_no_status(place: Place) -> None:
    cluster, namespace = place
    made = await cluster.create(TASKS, namespace, task() | {"status": {"phase": "Completed"}})

    found = await cluster.get(TASKS, namespace, made["metadata"]["name"])

    assert found["metadata"]["uid"]
    assert found["metadata"]["resourceVersion"].isdecimal()
    assert found["metadata"]["generation"] == 1
    assert "status" not in found


async def test_a_name_is_taken_once(place: Place) -> None:
    cluster, namespace = place
    await cluster.create(JOBS, namespace, job("mt-a"))

    with pytest.raises(ConflictError):
        await cluster.create(JOBS, namespace, job("mt-a"))


async def test_a_dry_run_makes_nothing(place: Place) -> None:
    cluster, namespace = place
    await cluster.create(JOBS, namespace, job("mt-a"), dryRun="All", fieldValidation="Strict")

    with pytest.raises(NotFoundError):
        await cluster.get(JOBS, namespace, "mt-a")


async def test_a_status_is_patched_by_its_subresource_and_by_no_other_way(place: Place) -> None:
    cluster, namespace = place
    name = (await cluster.create(TASKS, namespace, task()))["metadata"]["name"]

    await cluster.patch(TASKS, namespace, name, {"status": {"phase": "Running"}})
    assert "status" not in await cluster.get(TASKS, namespace, name)

    patch = {"status": {"phase": "Running"}, "spec": {"cancelRequested": True}}
    written = await cluster.patch(TASKS, namespace, name, patch, subresource="status")
    assert written["status"]["phase"] == "Running"
    assert not written["spec"].get("cancelRequested")


async def test_a_patch_changes_the_leaves_that_it_names_and_null_removes(place: Place) -> None:
    cluster, namespace = place
    name = (await cluster.create(TASKS, namespace, task()))["metadata"]["name"]
    first = {"status": {"phase": "Running", "message": "running", "job": {"name": name, "uid": "u"}}}
    await cluster.patch(TASKS, namespace, name, first, subresource="status")

    second = {"status": {"message": None, "job": {"podName": "p"}}}
    written = await cluster.patch(TASKS, namespace, name, second, subresource="status")

    assert written["status"] == {"phase": "Running", "job": {"name": name, "uid": "u", "podName": "p"}}


async def test_a_patch_of_another_version_is_a_conflict(place: Place) -> None:
    cluster, namespace = place
    made = await cluster.create(TASKS, namespace, task())
    name, version = made["metadata"]["name"], made["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "status": {"phase": "Running"}}
    await cluster.patch(TASKS, namespace, name, patch, subresource="status")

    with pytest.raises(ConflictError):
        await cluster.patch(TASKS, namespace, name, patch | {"status": {"message": "x"}}, subresource="status")


@pytest.mark.parametrize("kind", [TASKS, JOBS], ids=["a custom resource", "a Job"])
async def test_a_patch_of_another_object_of_the_name_is_refused(place: Place, kind: Kind) -> None:
    cluster, namespace = place
    made = await cluster.create(kind, namespace, task() if kind is TASKS else job("mt-a"))
    name = made["metadata"]["name"]
    changes = {"detached": True} if kind is TASKS else {"activeDeadlineSeconds": 1}

    with pytest.raises(RejectedError):
        await cluster.patch(kind, namespace, name, {"metadata": {"uid": "another"}, "spec": changes})
    patched = await cluster.patch(
        kind, namespace, name, {"metadata": {"uid": made["metadata"]["uid"]}, "spec": changes}
    )

    assert changes.items() <= patched["spec"].items()


async def test_versions_grow_with_every_change_and_with_none_other(place: Place) -> None:
    cluster, namespace = place
    made = await cluster.create(TASKS, namespace, task())
    name = made["metadata"]["name"]
    patch = {"spec": {"cancelRequested": True}}
    changed = await cluster.patch(TASKS, namespace, name, patch)
    same = await cluster.patch(TASKS, namespace, name, patch)

    versions = [int(each["metadata"]["resourceVersion"]) for each in (made, changed, same)]
    assert versions[0] < versions[1] == versions[2]
    assert changed["metadata"]["generation"] == same["metadata"]["generation"] == 2


async def test_what_is_over_stays_as_it_is(place: Place) -> None:
    cluster, namespace = place
    name = (await cluster.create(TASKS, namespace, task()))["metadata"]["name"]
    end = {"status": {"phase": "Cancelled", "reason": "Cancelled"}}
    await cluster.patch(TASKS, namespace, name, end, subresource="status")

    with pytest.raises(RejectedError) as refused:
        await cluster.patch(TASKS, namespace, name, {"status": {"phase": "Running"}}, subresource="status")
    assert refused.value.status == 422


async def test_a_deletion_wants_the_right_uid_and_is_not_done_twice(place: Place) -> None:
    cluster, namespace = place
    made = await cluster.create(TASKS, namespace, task())
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]

    with pytest.raises(ConflictError):
        await cluster.delete(TASKS, namespace, name, uid="another")
    await cluster.delete(TASKS, namespace, name, uid=uid)
    with pytest.raises(NotFoundError):
        await cluster.delete(TASKS, namespace, name, uid=uid)


async def test_a_list_has_what_the_label_says_in_pages_and_a_version_of_its_own(place: Place) -> None:
    cluster, namespace = place
    ours = {(await cluster.create(TASKS, namespace, task(color="blue")))["metadata"]["name"] for _ in range(3)}
    await cluster.create(TASKS, namespace, task(color="red"))

    first = await cluster.list_metadata(TASKS, namespace, labelSelector="color=blue", limit="2")
    rest = await cluster.list_metadata(
        TASKS, namespace, labelSelector="color=blue", limit="2", **{"continue": first["metadata"]["continue"]}
    )
    whole = await cluster.list(TASKS, namespace, labelSelector="color=blue")

    assert {item["metadata"]["name"] for item in (*first["items"], *rest["items"])} == ours
    assert [len(first["items"]), len(rest["items"])] == [2, 1]
    assert "spec" not in first["items"][0]
    assert not rest["metadata"].get("continue")
    assert whole["items"][0]["spec"]["tool"]["name"] == "echo"
    assert whole["metadata"]["resourceVersion"].isdecimal()


async def test_an_empty_list_of_metadata_has_no_items(place: Place) -> None:
    cluster, namespace = place

    assert not (await cluster.list_metadata(TASKS, namespace))["items"]


async def test_a_tools_edit_is_a_new_generation_and_its_status_is_not(place: Place) -> None:
    cluster, namespace = place
    await cluster.create(TOOLS, namespace, tool_manifest("echo"))

    edited = await cluster.patch(TOOLS, namespace, "echo", {"spec": {"timeoutSeconds": 5}})
    judged = await cluster.patch(TOOLS, namespace, "echo", {"status": {"observedGeneration": 2}}, subresource="status")

    assert (edited["metadata"]["generation"], judged["metadata"]["generation"]) == (2, 2)
