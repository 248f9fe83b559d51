"""What is kept of an object in memory decides just as the whole object would."""

import json
from copy import deepcopy
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TOOLS
from mcptasks_crds.tool import ToolJob
from mcptasks_operator import samples
from mcptasks_operator.jobs import render
from mcptasks_operator.kept import kept
from mcptasks_operator.observe import job_view, pod_seen
from mcptasks_operator.orphans import is_orphan, orphaned_secret
from mcptasks_operator.standing import standing
from mcptasks_operator.store import task_of, version_of
from mcptasks_operator.testing.cluster import pod_manifest

STARTED = "2026-03-01T11:59:00Z"
ENDED = {"exitCode": 3, "reason": "Error", "message": "no", "startedAt": STARTED, "finishedAt": STARTED}
POD = {
    "initContainers": [
        {"name": "proxy", "image": "example.com/proxy:1", "restartPolicy": "Always"},
        {"name": "fetch", "image": "example.com/fetch:1", "command": ["fetch"]},
    ],
    "containers": [{"name": "tool", "image": "example.com/tool:1", "env": [{"name": "KEY", "value": "value"}]}],
}
JOB_STATES: tuple[tuple[Json, Json], ...] = (
    ({"suspend": True}, {"conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": STARTED}]}),
    ({"suspend": False}, {"startTime": STARTED, "active": 1}),
    ({}, {"startTime": STARTED, "failed": 1, "uncountedTerminatedPods": {"failed": ["u"]}}),
    (
        {"ttlSecondsAfterFinished": 5},
        {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]},
    ),
    ({"backoffLimit": 0, "activeDeadlineSeconds": 1}, {"conditions": [{"type": "Complete", "status": "True"}]}),
)
POD_STATES: tuple[Json, ...] = (
    {},
    {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "no node"}]},
    {"phase": "Pending", "initContainerStatuses": [{"name": "proxy", "started": False, "state": {"running": {}}}]},
    {"phase": "Failed", "initContainerStatuses": [{"name": "fetch", "state": {"terminated": ENDED}}]},
    {"phase": "Running", "containerStatuses": [{"name": "tool", "state": {"running": {"startedAt": STARTED}}}]},
    {"phase": "Failed", "containerStatuses": [{"name": "tool", "state": {"terminated": ENDED}}]},
)


def job(spec: Json | None = None, status: Json | None = None, *, owned: bool = True, **task: Any) -> Json:
    """A Job as the operator makes it, in a state."""
    tool = samples.tool()
    with_pod = tool.spec.model_copy(update={"job": ToolJob(template={"spec": POD})})
    made = render(samples.task(**task), tool.model_copy(update={"spec": with_pod}), endpoint="http://endpoint:80")
    about = {
        "uid": "job-uid",
        "resourceVersion": "7",
        "creationTimestamp": STARTED,
        "managedFields": [{"manager": "x"}],
    }
    made["metadata"].update(about)
    if not owned:
        del made["metadata"]["ownerReferences"]
    made["spec"].update(spec or {})
    return {**made, "status": status or {}}


def pod(status: Json) -> Json:
    """A pod of that Job."""
    made = pod_manifest(job(), status=status)
    made["metadata"].update(uid="pod-uid", resourceVersion="8", creationTimestamp=STARTED)
    made["metadata"]["annotations"] = {names.ARGUMENTS_ANNOTATION: "x" * 16_000}
    made["spec"]["nodeName"] = "node-1"
    return made


@pytest.mark.parametrize(("spec", "status"), JOB_STATES)
@pytest.mark.parametrize("is_held_back", [False, True])
def test_a_job_is_seen_the_same(spec: Json, status: Json, *, is_held_back: bool) -> None:
    whole = job(spec, status)
    if is_held_back:
        whole["metadata"]["annotations"][names.RELEASED_ANNOTATION] = ""
    part = kept(JOBS, whole)

    assert job_view(part, task_uid=samples.TASK_UID) == job_view(whole, task_uid=samples.TASK_UID)
    assert job_view(part, task_uid=samples.TASK_UID).execution is not None
    assert standing(None, part, ()) == standing(None, whole, ())
    assert (task_of(part), version_of(part)) == (samples.TASK, "7")


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("secret", [None, names.arguments_secret_name(samples.TASK)])
def test_what_a_task_without_owner_has_left_is_found(secret: str | None, *, owned: bool) -> None:
    source = {} if secret is None else {"arguments": None, "arguments_from": {"secret_name": secret}}
    whole = job(owned=owned, **source)
    part = kept(JOBS, whole)

    assert orphaned_secret(part) == orphaned_secret(whole) == secret
    assert is_orphan(part) is is_orphan(whole) is not owned


@pytest.mark.parametrize("status", POD_STATES)
def test_a_pod_is_seen_the_same(status: Json) -> None:
    whole = pod(status)
    part = kept(PODS, whole)
    execution = job_view(job(), task_uid=samples.TASK_UID).execution

    assert pod_seen(part, execution) == pod_seen(whole, execution)
    assert pod_seen(part, None) == pod_seen(whole, None)
    assert standing(None, None, [part]) == standing(None, None, [whole])
    assert task_of(part) == task_of(whole) == samples.TASK


@pytest.mark.parametrize(("kind", "whole"), [(JOBS, job()), (PODS, pod(POD_STATES[4]))])
def test_little_is_kept_and_the_whole_is_left_as_it_is(kind: Any, whole: Json) -> None:
    before = deepcopy(whole)
    part = kept(kind, whole)

    assert whole == before
    assert len(json.dumps(part)) < len(json.dumps(whole)) * 0.7
    assert "example.com/tool:1" not in json.dumps(part)
    assert "x" * 100 not in json.dumps(part)


def test_what_is_the_same_in_all_objects_is_there_once() -> None:
    texts = [json.dumps(job()) for _ in range(2)]
    first, second = (kept(JOBS, json.loads(text)) for text in texts)

    assert [id(name) for name in first["spec"]] == [id(name) for name in second["spec"]]
    annotations = [part["metadata"]["annotations"][names.EXECUTION_ANNOTATION] for part in (first, second)]
    assert annotations[0] is annotations[1]


def test_a_tool_is_kept_whole() -> None:
    tool: Json = {"metadata": {"name": "t", "managedFields": []}, "spec": {"job": {"template": {"spec": POD}}}}

    assert kept(TOOLS, tool) == {"metadata": {"name": "t"}, "spec": {"job": {"template": {"spec": POD}}}}
