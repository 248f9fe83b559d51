"""Raw objects as the API server writes them, read into what decisions are made from."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.reasons import Reason
from mcptasks_operator import samples
from mcptasks_operator.decide import decide
from mcptasks_operator.executions import execution_to_json
from mcptasks_operator.observation import Execution
from mcptasks_operator.observe import job_view, pod_seen, pods_seen

CREATED = "2026-11-29T12:00:00Z"
EXECUTION = Execution(
    tool_resource="echo",
    tool_uid="tool-uid",
    tool_generation=3,
    container="main",
    start_deadline_seconds=300,
    timeout_seconds=3600,
    grace_seconds=5,
    output_schema=None,
)


def job(**status: Any) -> Json:
    return {
        "metadata": {
            "name": "mt-a",
            "uid": "job-uid",
            "creationTimestamp": CREATED,
            "ownerReferences": [{"uid": "task-uid"}],
            "annotations": {names.EXECUTION_ANNOTATION: execution_to_json(EXECUTION)},
        },
        "spec": {"activeDeadlineSeconds": 60},
        "status": status,
    }


def pod(
    name: str = "p", *, created: str = CREATED, owner: str = "job-uid", spec: Json | None = None, **status: Any
) -> Json:
    metadata = {"name": name, "uid": f"{name}-uid", "creationTimestamp": created, "ownerReferences": [{"uid": owner}]}
    return {"metadata": metadata, "spec": spec or {"containers": [{"name": "main"}]}, "status": status}


def container(state: Json, name: str = "main") -> Json:
    return {"name": name, "state": state}


def test_a_job_is_ours_by_its_owners_uid_alone() -> None:
    assert job_view(job(), task_uid="task-uid").is_ours
    assert not job_view(job(), task_uid="another").is_ours


def test_a_job_carries_along_what_of_the_tool_it_was_made_with() -> None:
    assert job_view(job(), task_uid="task-uid").execution == EXECUTION


@pytest.mark.parametrize("annotations", [{}, {names.EXECUTION_ANNOTATION: "{"}, {names.EXECUTION_ANNOTATION: "3"}])
def test_an_annotation_that_cannot_be_read_is_none(annotations: Json) -> None:
    document = job()
    document["metadata"]["annotations"] = annotations

    assert job_view(document, task_uid="task-uid").execution is None


@pytest.mark.parametrize(("value", "bound"), [(10**15, "most"), (10**400, "most"), (-(10**15), "least")])
def test_seconds_beyond_all_bounds_are_brought_within_and_nothing_else_is_lost(value: int, bound: str) -> None:
    edited = replace(EXECUTION, start_deadline_seconds=value, timeout_seconds=value, grace_seconds=value)
    document = job()
    document["metadata"]["annotations"] = {names.EXECUTION_ANNOTATION: execution_to_json(edited)}

    seen = job_view(document, task_uid="task-uid").execution

    assert seen is not None
    seconds = (seen.start_deadline_seconds, seen.timeout_seconds, seen.grace_seconds)
    assert seconds == ((604_800, 31_536_000, 86_400) if bound == "most" else (1, 1, 0))
    assert replace(seen, start_deadline_seconds=300, timeout_seconds=3600, grace_seconds=5) == EXECUTION


@pytest.mark.parametrize(
    ("conditions", "finished", "reason"),
    [
        ([], False, ""),
        ([{"type": "Complete", "status": "True"}], True, ""),
        ([{"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded"}], False, "DeadlineExceeded"),
        ([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}], True, "BackoffLimitExceeded"),
        ([{"type": "Failed", "status": "False", "reason": "BackoffLimitExceeded"}], False, ""),
    ],
)
def test_a_jobs_conditions_count_where_they_are_true(conditions: list[Json], finished: bool, reason: str) -> None:
    seen = job_view(job(conditions=conditions), task_uid="task-uid")

    assert (seen.finished, seen.failure_reason) == (finished, reason)


def test_only_the_jobs_own_pods_are_seen_the_oldest_first() -> None:
    documents = [
        pod("second", created="2026-11-29T12:00:02Z"),
        pod("foreign", owner="another"),
        pod("first"),
    ]

    seen = pods_seen(documents, job_uid=job_view(job(), task_uid="task-uid").uid, execution=None)

    assert [each.name for each in seen] == ["first", "second"]


def test_a_pod_of_which_nobody_said_anything_yet_has_no_container() -> None:
    seen = pod_seen(pod(), EXECUTION)

    assert (seen.container, seen.node, seen.phase, seen.unschedulable) == (None, None, "", "")


def test_why_no_node_takes_it_is_seen() -> None:
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]

    assert pod_seen(pod(conditions=conditions), EXECUTION).unschedulable == "0/3 nodes"


def test_the_tools_container_is_the_one_that_the_job_names() -> None:
    statuses = [container({"running": {"startedAt": CREATED}}, "proxy"), container({"waiting": {"reason": "X"}})]

    seen = pod_seen(pod(containerStatuses=statuses), EXECUTION).container

    assert seen is not None
    assert (seen.running_since, seen.waiting_reason) == (None, "X")


def test_a_running_container_runs_since_it_says_so() -> None:
    seen = pod_seen(pod(containerStatuses=[container({"running": {"startedAt": CREATED}})]), EXECUTION).container

    assert seen is not None
    assert seen.running_since == datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert (seen.waiting_reason, seen.termination) == ("", None)


def test_an_end_is_read_whole() -> None:
    state = {"terminated": {"exitCode": 137, "signal": 9, "reason": "OOMKilled", "message": "x", "finishedAt": CREATED}}

    seen = pod_seen(pod(containerStatuses=[container(state)]), EXECUTION).container

    assert seen is not None
    end = seen.termination
    assert end is not None
    assert (end.exit_code, end.signal, end.reason, end.message) == (137, 9, "OOMKilled", "x")
    assert (end.started_at, end.finished_at) == (None, datetime(2026, 11, 29, 12, tzinfo=UTC))


@pytest.mark.parametrize(("containers", "limit"), [(1, 4096), (3, 4096), (4, 3072), (12, 1024)])
def test_the_containers_of_a_pod_share_the_room_for_termination_messages(containers: int, limit: int) -> None:
    spec = {"containers": [{"name": "main"}], "initContainers": [{"name": f"i{n}"} for n in range(containers - 1)]}
    statuses = [container({"terminated": {"exitCode": 0}})]

    seen = pod_seen(pod(spec=spec, containerStatuses=statuses), EXECUTION).container

    assert seen is not None
    assert seen.termination is not None
    assert seen.termination.message_limit == limit


def test_an_init_container_that_waits_is_why_the_tool_waits() -> None:
    waits = container({"waiting": {"reason": "PodInitializing"}})
    init = [
        container({"terminated": {"exitCode": 0}}, "done"),
        container({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}, "fetch"),
    ]

    seen = pod_seen(pod(containerStatuses=[waits], initContainerStatuses=init), EXECUTION).container

    assert seen is not None
    assert (seen.waiting_reason, seen.waiting_message) == ("ErrImagePull", "init container fetch: no such image")


def test_an_init_container_that_failed_is_why_the_pod_failed() -> None:
    waits = container({"waiting": {"reason": "PodInitializing"}})
    init = [
        container({"terminated": {"exitCode": 0, "reason": "Completed"}}, "done"),
        container({"terminated": {"exitCode": 3, "reason": "Error", "message": "no route\n"}}, "fetch"),
    ]
    document = pod(phase="Failed", containerStatuses=[waits], initContainerStatuses=init)

    seen = pod_seen(document, EXECUTION)

    assert seen.container is not None
    decided = decide(samples.observation(pods=(seen,))).status
    assert decided.reason is Reason.INIT_FAILED
    assert decided.message == "init container fetch: exit code 3 (Error): no route: the tool never ran"


def test_an_init_container_that_will_be_started_again_is_no_failure() -> None:
    waits = container({"waiting": {"reason": "PodInitializing"}})
    init = [container({"terminated": {"exitCode": 3, "reason": "Error"}}, "proxy")]

    seen = pod_seen(pod(phase="Pending", containerStatuses=[waits], initContainerStatuses=init), EXECUTION).container

    assert seen is not None
    assert seen.waiting_reason == "PodInitializing"


@pytest.mark.parametrize(
    ("spec", "status", "words"),
    [
        ({"name": "fetch"}, {"state": {"running": {}}}, "init container fetch runs"),
        (
            {"name": "proxy", "restartPolicy": "Always"},
            {"state": {"running": {}}, "started": False},
            "sidecar proxy runs and has not passed its startup probe",
        ),
        ({"name": "proxy", "restartPolicy": "Always"}, {"state": {"running": {}}, "started": True}, ""),
    ],
)
def test_what_runs_before_the_tool_is_why_it_waits(spec: Json, status: Json, words: str) -> None:
    waits = container({"waiting": {"reason": "PodInitializing"}})
    document = pod(
        spec={"initContainers": [spec], "containers": [{"name": "main"}]},
        containerStatuses=[waits],
        initContainerStatuses=[{"name": spec["name"], **status}],
    )

    seen = pod_seen(document, EXECUTION).container

    assert seen is not None
    assert (seen.waiting_reason, seen.waiting_message) == ("PodInitializing", words)


def test_who_disrupts_a_pod_and_when_it_got_its_node_is_read_from_its_conditions() -> None:
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": CREATED},
        {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "evicting"},
    ]

    seen = pod_seen(pod(conditions=conditions), EXECUTION)

    assert seen.scheduled_at == datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert (seen.disruption, seen.disruption_message) == ("EvictionByEvictionAPI", "evicting")


def test_a_pod_that_is_being_deleted_or_was_evicted_says_so() -> None:
    document = pod(phase="Failed", reason="Evicted", message="disk")
    document["metadata"]["deletionTimestamp"] = CREATED

    seen = pod_seen(document, EXECUTION)

    assert (seen.phase, seen.reason, seen.message, seen.deleting) == ("Failed", "Evicted", "disk", True)


def annotated(released_at: str | None, *, suspend: bool, **status: Any) -> Json:
    document = job(**status)
    if released_at is not None:
        document["metadata"]["annotations"][names.RELEASED_ANNOTATION] = released_at
    document["spec"]["suspend"] = suspend
    return document


@pytest.mark.parametrize(
    ("document", "is_held_back"),
    [
        (job(), False),
        (annotated("", suspend=True), True),
        (annotated("", suspend=False), False),
        (annotated(None, suspend=True), False),
        (annotated(CREATED, suspend=True), False),
        (annotated("", suspend=True, conditions=[{"type": "Failed", "status": "True"}]), False),
    ],
)
def test_a_job_is_held_back_while_it_is_suspended_and_was_never_let_start(document: Json, is_held_back: bool) -> None:
    assert job_view(document, task_uid="task-uid").is_held_back is is_held_back


@pytest.mark.parametrize(
    ("annotation", "moment"),
    [
        ("2026-11-29T12:00:00.500Z", datetime(2026, 11, 29, 12, 0, 0, 500_000, tzinfo=UTC)),
        (None, None),
        ("", None),
        ("yesterday", None),
        ("2026-11-29T12:00:00", None),
    ],
)
def test_when_a_job_was_let_start_is_read_if_it_can_be(annotation: str | None, moment: datetime | None) -> None:
    assert job_view(annotated(annotation, suspend=False), task_uid="task-uid").released_at == moment


def test_of_a_job_that_is_let_start_again_the_time_before_is_not_taken_for_its_start() -> None:
    """The Job controller leaves it until it has looked; so it does where a start is new to it."""
    condition = {"type": "Suspended", "status": "True", "lastTransitionTime": "2026-03-02T12:00:00Z"}
    document = annotated("2026-03-01T12:00:00Z", suspend=False) | {
        "status": {"startTime": "2026-03-01T12:00:00Z", "conditions": [condition]},
    }

    assert job_view(document, task_uid="task-uid").active_since is None
    condition["status"] = "False"
    assert job_view(document, task_uid="task-uid").active_since == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_job_that_was_let_start_by_hand_began_when_the_job_controller_took_it_up() -> None:
    document = {
        "metadata": {
            "name": "mt-a",
            "uid": "job-uid",
            "creationTimestamp": "2026-03-01T12:00:00Z",
            "annotations": {names.RELEASED_ANNOTATION: ""},
        },
        "spec": {"suspend": False},
        "status": {"startTime": "2026-03-02T12:00:00Z"},
    }
    view = job_view(document, task_uid="task-uid")

    assert (view.is_held_back, view.is_suspended, view.passed_by_hand) == (False, False, True)
    assert view.released_at == view.active_since == datetime(2026, 3, 2, 12, tzinfo=UTC)
