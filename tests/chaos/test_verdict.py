"""The judge, held against recordings that are made up: what it must complain of, and what it must excuse."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from mcptasks_chaos.outages import Outage
from mcptasks_chaos.plan import Call, Component, Fate, Plan, Tool
from mcptasks_chaos.recording import Recording, Version
from mcptasks_chaos.tools import arguments
from mcptasks_chaos.verdict import Evidence, judge, unsettled
from mcptasks_crds import names
from mcptasks_devcluster.faults import Request

KILLED = datetime(2026, 1, 1, 12, 0, 10, 300_000, tzinfo=UTC)
BACK = KILLED + timedelta(seconds=2)
TASK = f"mt-{'a' * 26}"
GOOD = '{"content":[{"type":"text","text":"number 0"}]}'


def at(seconds: float) -> str:
    """A moment as Kubernetes writes it, so many seconds after the kill."""
    return (KILLED + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def killed(component: Component = "containerd") -> Outage:
    return Outage(component=component, began=KILLED, ended=BACK)


def call(fate: Fate = Fate.NOTHING, *, tool: Tool = Tool.WORK) -> Call:
    return Call(number=0, tool=tool, tenths=1, fate=fate)


def task(phase: str, reason: str | None = None, *, result: str | None = None) -> dict[str, Any]:
    status = {"phase": phase} if reason is None else {"phase": phase, "reason": reason}
    return {
        "metadata": {"name": TASK, "uid": "t"},
        "spec": {"arguments": json.dumps(arguments(call()))},
        "status": status if result is None else status | {"result": {"inline": result}},
    }


def pod(state: dict[str, Any], *, restarts: int = 0, scheduled: float = -3, container: str = "tool") -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"{TASK}-x",
            "uid": "p",
            "labels": {names.TASK_LABEL: TASK},
            "creationTimestamp": at(scheduled),
            "resourceVersion": "1",
        },
        "spec": {"nodeName": "n"},
        "status": {
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(scheduled)}],
            "containerStatuses": [{"name": container, "restartCount": restarts, "state": state}],
        },
    }


def over(reason: str, *, began: float | None = -2, ended: float = 1, code: int = 0) -> dict[str, Any]:
    end = {"reason": reason, "exitCode": code, "finishedAt": at(ended)}
    return {"terminated": end if began is None else end | {"startedAt": at(began)}}


def complaints(
    *objects: dict[str, Any],
    diary: Sequence[str] = ("started", "ended"),
    hosts: Sequence[str] = ("x", "x", "x", "x"),
    outages: Sequence[Outage] = (),
    fate: Fate = Fate.NOTHING,
    tool: Tool = Tool.WORK,
    requests: Sequence[Request] = (),
) -> list[str]:
    """What the judge says of one call whose task went through these versions, and had these pods."""
    recording = Recording()
    for document in objects:
        into = recording.tasks if document["metadata"]["name"] == TASK else recording.pods
        into = recording.jobs if document.get("kind") == "Job" else into
        recording.take(into, Version(at=0.0, document=document))
    evidence = Evidence(
        recording=recording,
        ids={0: TASK},
        diary=[f"{word} 0 {TASK} {host}" for word, host in zip(diary, hosts, strict=False)],
        outages=outages,
        requests=requests,
    )
    return [str(each) for each in judge(Plan(seed=0, calls=(call(fate, tool=tool),), events=()), evidence)]


SUCCEEDED = task("Completed", "Succeeded", result=GOOD)
UNSEEN = task("Failed", "EndUnknown")
NEVER_RAN = task("Failed", "ContainerCannotRun")
ENDED = pod(over("Completed"))


def test_a_task_that_ends_once_with_its_result_is_right() -> None:
    assert complaints(task("Running"), SUCCEEDED, ENDED) == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (complaints(task("Running")), "was never seen to end"),
        (complaints(task("Completed", "Succeeded", result='{"content":[]}'), ENDED), "its result is"),
        (complaints(task("Completed", "ExitCode", result=GOOD), ENDED), "ended as"),
        (complaints(task("Cancelled", "Cancelled"), ENDED), "ended as"),
        (complaints(SUCCEEDED, ENDED, diary=("started", "started", "ended")), "started 2 times"),
        (complaints(SUCCEEDED, ENDED, diary=("started",)), "ended 0 times"),
        (complaints(SUCCEEDED, ENDED, diary=()), "started 0 times"),
        (
            complaints(task("Completed", "Declined"), diary=("started",), fate=Fate.DECLINE, tool=Tool.CONFIRM),
            "it was declined",
        ),
        (complaints(SUCCEEDED, ENDED, {"metadata": ENDED["metadata"] | {"name": "y", "uid": "q"}}), "it had 2 pods"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_must_not_be_is_complained_of(found: list[str], words: str) -> None:
    assert any(words in each for each in found), found


def test_an_end_that_nobody_saw_is_excused_where_the_runtime_was_killed_under_the_container() -> None:
    assert complaints(UNSEEN, pod(over("Unknown", code=255)), outages=[killed()]) == []


@pytest.mark.parametrize(
    ("why", "document", "outages"),
    [
        ("nothing was killed", pod(over("Unknown")), []),
        ("the kubelet was killed", pod(over("Unknown")), [killed("kubelet")]),
        ("the API server was killed", pod(over("Unknown")), [killed("kube-apiserver")]),
        ("it had ended before", pod(over("Unknown", began=-9, ended=-5)), [killed()]),
        ("it began afterwards", pod(over("Unknown", began=4, ended=5)), [killed()]),
        ("its pod says another thing", pod(over("Error", code=1)), [killed()]),
        ("its pod still runs", pod({"running": {"startedAt": at(-2)}}), [killed()]),
        ("another container of the pod says so", pod(over("Unknown"), container="sidecar"), [killed()]),
    ],
)
def test_an_end_that_nobody_saw_is_excused_by_nothing_else(
    why: str, document: dict[str, Any], outages: list[Outage]
) -> None:
    assert any("ended as" in each for each in complaints(UNSEEN, document, outages=outages)), why


def test_whose_end_nobody_saw_ran_once_and_to_its_end_all_the_same() -> None:
    document = pod(over("Unknown"))

    assert complaints(UNSEEN, document, outages=[killed()], diary=("started", "started", "ended"))
    assert complaints(UNSEEN, document, outages=[killed()], diary=("started",))


def test_an_outage_excuses_no_other_end_than_the_one_that_the_pod_tells() -> None:
    for wrong in (NEVER_RAN, task("Failed", "PodFailed"), task("Failed", "PodDeleted"), task("Failed", "JobFailed")):
        assert complaints(wrong, pod(over("Unknown")), outages=[killed()]), wrong
    assert complaints(UNSEEN, not_started(), outages=[killed("kubelet")], diary=())


NOT_MADE = "failed to create containerd task: failed to create shim task: context canceled: unknown"
BROKEN_OFF = 'failed to start containerd task "d196767f": context canceled: unknown'


def not_started(
    message: str = NOT_MADE, *, reason: str = "StartError", ended: float = 2, **fields: Any
) -> dict[str, Any]:
    state = over(reason, began=None, ended=ended)
    state["terminated"]["message"] = message
    return pod(state, **fields)


def test_a_start_that_the_kubelet_left_off_is_excused_where_it_was_killed_in_that_moment() -> None:
    assert complaints(NEVER_RAN, not_started(), outages=[killed("kubelet")], diary=()) == []


@pytest.mark.parametrize("diary", [(), ("started",)])
def test_a_start_that_was_broken_off_may_have_begun(diary: Sequence[str]) -> None:
    assert complaints(NEVER_RAN, not_started(BROKEN_OFF), outages=[killed("kubelet")], diary=diary) == []


@pytest.mark.parametrize(
    ("why", "document", "outages", "diary"),
    [
        ("nothing was killed", not_started(), [], ()),
        ("etcd was killed", not_started(), [killed("etcd")], ()),
        ("the runtime was killed", not_started(), [killed()], ()),
        ("it was before", not_started(ended=-2), [killed("kubelet")], ()),
        ("its pod came to the node later", not_started(scheduled=1), [killed("kubelet")], ()),
        ("its program has started", not_started(), [killed("kubelet")], ("started",)),
        ("its program has started twice", not_started(BROKEN_OFF), [killed("kubelet")], ("started", "started")),
        ("its program has ended", not_started(BROKEN_OFF), [killed("kubelet")], ("started", "ended")),
        ("it cannot be started", not_started("no such file"), [killed("kubelet")], ()),
        ("its pod says another thing", pod(over("Error", code=1)), [killed("kubelet")], ()),
        ("its program said so", not_started(reason="Error"), [killed("kubelet")], ()),
    ],
)
def test_a_container_that_was_not_started_is_excused_by_nothing_else(
    why: str, document: dict[str, Any], outages: list[Outage], diary: Sequence[str]
) -> None:
    assert complaints(NEVER_RAN, document, outages=outages, diary=diary), why


def made(seconds: float, *, uid: str, version: int, maker: str = "j") -> dict[str, Any]:
    """A pod of that age."""
    metadata = ENDED["metadata"] | {
        "name": f"{TASK}-{uid}",
        "uid": uid,
        "creationTimestamp": at(seconds),
        "resourceVersion": str(version),
        "ownerReferences": [{"kind": "Job", "uid": maker}],
    }
    return ENDED | {"metadata": metadata}


def counting(version: int) -> dict[str, Any]:
    """The Job, once its controller counts a pod."""
    return {
        "kind": "Job",
        "metadata": {"name": names.job_name(TASK), "uid": "j", "resourceVersion": str(version)},
        "status": {"active": 1},
    }


FIRST: Final = made(0, uid="p", version=5)
SECOND: Final = made(3, uid="q", version=6)


@pytest.mark.parametrize("component", ["kube-apiserver", "etcd"])
@pytest.mark.parametrize("diary", [("started", "ended"), ("started", "started", "ended")])
def test_a_second_pod_is_excused_where_the_api_server_died_before_the_job_controller_knew_of_the_first(
    component: Component, diary: Sequence[str]
) -> None:
    objects = (SUCCEEDED, FIRST, SECOND, counting(7))

    assert complaints(*objects, outages=[killed(component)], diary=diary, hosts=("p", "q", "q")) == []


def test_two_starts_in_one_of_two_pods_are_complained_of() -> None:
    objects = (SUCCEEDED, FIRST, SECOND, counting(7))

    assert complaints(*objects, outages=[killed("etcd")], diary=("started", "started", "ended")) != []


@pytest.mark.parametrize(
    ("why", "objects", "outages"),
    [
        ("nothing was killed", (FIRST, SECOND, counting(7)), []),
        ("the kubelet was killed", (FIRST, SECOND, counting(7)), [killed("kubelet")]),
        ("the controller knew of the first", (FIRST, SECOND, counting(5)), [killed("etcd")]),
        ("it is another Job's", (FIRST, made(3, uid="q", version=6, maker="k"), counting(7)), [killed("etcd")]),
        ("both were made before", (made(-5, uid="p", version=5), made(-4, uid="q", version=6)), [killed("etcd")]),
        ("both were made afterwards", (made(5, uid="p", version=5), made(6, uid="q", version=6)), [killed("etcd")]),
        ("there is a third", (FIRST, SECOND, made(4, uid="r", version=7)), [killed("etcd")]),
    ],
)
def test_a_second_pod_is_excused_by_nothing_else(
    why: str, objects: Sequence[dict[str, Any]], outages: list[Outage]
) -> None:
    assert any("it had" in each for each in complaints(SUCCEEDED, *objects, outages=outages)), why


TWICE = ("started", "started", "ended")


def test_a_second_start_is_excused_where_the_runtime_was_killed_and_the_pod_counts_it() -> None:
    again = pod(over("Completed", began=2, ended=3), restarts=1)

    assert complaints(SUCCEEDED, again, outages=[killed()], diary=TWICE) == []
    assert complaints(SUCCEEDED, again, outages=[killed()], diary=("started", *TWICE, "ended")) != []


@pytest.mark.parametrize(
    ("why", "document", "outages"),
    [
        ("nothing was killed", pod(over("Completed", began=2, ended=3), restarts=1), []),
        ("the kubelet was killed", pod(over("Completed", began=2, ended=3), restarts=1), [killed("kubelet")]),
        ("its pod does not count it", pod(over("Completed", began=2, ended=3)), [killed()]),
        ("its pod came to the node later", pod(over("Completed", began=8), restarts=1, scheduled=7), [killed()]),
        ("it was before", pod(over("Completed", began=-2, ended=1), restarts=1), [killed()]),
        ("another container counts it", pod(over("Completed", began=2), restarts=1, container="sidecar"), [killed()]),
    ],
)
def test_a_second_start_is_excused_by_nothing_else(why: str, document: dict[str, Any], outages: list[Outage]) -> None:
    assert complaints(SUCCEEDED, document, outages=outages, diary=TWICE), why


def test_too_many_requests_are_complained_of() -> None:
    request = Request(
        method="GET", path=f"/apis/mcptasks.dev/v1alpha1/namespaces/n/mcptasks/{TASK}", is_watch=False, is_dry_run=False
    )

    assert complaints(SUCCEEDED, ENDED, requests=[request] * 40) == []
    assert complaints(SUCCEEDED, ENDED, requests=[request] * 41) != []


def test_a_finalizer_of_ours_is_complained_of() -> None:
    held = SUCCEEDED | {"metadata": SUCCEEDED["metadata"] | {"finalizers": ["kopf.zalando.org/KopfFinalizerMarker"]}}

    assert any("was held by" in each for each in complaints(held, ENDED))


@pytest.mark.parametrize(
    ("objects", "fate", "words"),
    [
        ([task("Running")], Fate.NOTHING, "is still Running"),
        ([SUCCEEDED], Fate.DELETE, "is still there"),
        ([ENDED], Fate.DELETE, "is left without it"),
        ([SUCCEEDED, pod({"running": {"startedAt": at(0)}})], Fate.NOTHING, "still runs"),
        ([SUCCEEDED | {"metadata": SUCCEEDED["metadata"] | {"deletionTimestamp": at(0)}}], Fate.NOTHING, "does not go"),
    ],
)
def test_what_is_not_over_is_unsettled(objects: list[dict[str, Any]], fate: Fate, words: str) -> None:
    recording = Recording()
    for document in objects:
        into = recording.tasks if document["metadata"]["name"] == TASK else recording.pods
        recording.take(into, Version(at=0.0, document=document))

    assert any(words in str(each) for each in unsettled(recording, [call(fate)], {0: TASK}))


def test_a_call_without_an_answer_is_unsettled() -> None:
    assert unsettled(Recording(), [call()], {})


def reported(*, parts: int = 1, text: str = "number 0") -> dict[str, Any]:
    """A task whose program gave its result over the task endpoint."""
    part, block = {"type": "text", "text": "part 0"}, {"type": "text", "text": text}
    report = {"content": json.dumps([part] * parts), "result": json.dumps({"content": [block]})}
    over = task("Completed", "Succeeded")
    return over | {"status": over["status"] | {"result": {"from": "report"}, "report": report}}


def test_what_a_program_gave_over_the_task_endpoint_is_there_once() -> None:
    assert complaints(reported(), ENDED, tool=Tool.TALK) == []
    for wrong in (reported(parts=2), reported(parts=0), reported(text="number 1"), SUCCEEDED):
        assert any("its result is" in each for each in complaints(wrong, ENDED, tool=Tool.TALK)), wrong


LOST: Final = task("Failed", "ResultLost")
BY_THE_JOB: Final = task("Failed", "JobFailed")
KNOWN: Final = task("Running") | {"status": {"phase": "Running", "job": {"uid": "j", "podName": f"{TASK}-x"}}}
WAITING: Final = pod({"waiting": {"reason": "ContainerCreating"}})


@pytest.mark.parametrize(
    ("objects", "fate", "is_right"),
    [
        ((task("Failed", "PodDeleted"), WAITING), Fate.DELETE_POD, True),
        ((task("Failed", "PodDeleted"), WAITING), Fate.NOTHING, False),
        ((LOST, ENDED), Fate.DELETE_POD, True),
        ((LOST, WAITING), Fate.DELETE_POD, False),
        ((LOST, ENDED), Fate.NOTHING, False),
        ((BY_THE_JOB, WAITING), Fate.DELETE_POD, True),
        ((KNOWN, BY_THE_JOB, WAITING), Fate.DELETE_POD, False),
        ((BY_THE_JOB, WAITING), Fate.NOTHING, False),
    ],
)
def test_whose_pod_was_deleted_unseen_ends_by_its_job_and_nothing_else_does(
    objects: Sequence[dict[str, Any]], fate: Fate, is_right: bool
) -> None:
    assert any("ended as" in each for each in complaints(*objects, fate=fate)) is not is_right


def test_a_task_that_was_deleted_may_have_come_and_gone_unseen_and_no_other() -> None:
    assert complaints(diary=(), fate=Fate.DELETE) == []
    assert any("has the tasks []" in each for each in complaints(diary=()))
