"""The lines: who waits, who has a place, and who is woken when one becomes free."""

from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS
from mcptasks_operator.lines import Lines
from mcptasks_operator.observation import LineSeen
from mcptasks_operator.store import Store


class Room:
    """A store, its lines, and who was woken."""

    def __init__(self) -> None:
        self.store, self.version = Store(), 100
        self.woken: list[str] = []
        self.lines = Lines(self.store, wake=self.woken.append)

    def put(self, kind: Any, document: Json) -> None:
        self.version += 1
        document["metadata"]["resourceVersion"] = str(self.version)
        self.store.put(kind, document)

    def task(
        self, name: str, *, second: int = 0, tool: str = "echo", phase: str | None = "Pending", **spec: Any
    ) -> None:
        created = f"2026-11-30T00:00:{second:02}Z"
        status = {} if phase is None else {"phase": phase}
        metadata = {"name": name, "creationTimestamp": created}
        self.put(TASKS, {"metadata": metadata, "spec": {"tool": {"name": tool}} | spec, "status": status})

    def job(self, name: str, *, suspended: bool = True, limit: int | None = 1, done: str = "", **spec: Any) -> None:
        kept = (
            '{"tool_resource":"echo","tool_uid":"u","tool_generation":1,"container":"tool","start_deadline_seconds":1,'
            '"timeout_seconds":1,"grace_seconds":1,"output_schema":null,"running_limit":%s}'
        ) % ("null" if limit is None else limit)
        annotations = {names.EXECUTION_ANNOTATION: kept, names.RELEASED_ANNOTATION: "" if suspended else "then"}
        conditions = [{"type": done, "status": "True"}] if done else []
        metadata = {
            "name": name,
            "uid": f"{name}-job",
            "creationTimestamp": "2026-11-30T00:00:00Z",
            "annotations": annotations,
            "ownerReferences": [owner("McpTask", name)],
        }
        self.put(
            JOBS,
            {
                "metadata": metadata,
                "spec": {"suspend": suspended, "backoffLimit": 0} | spec,
                "status": {"conditions": conditions},
            },
        )

    def pod(self, name: str, phase: str) -> None:
        metadata = {
            "name": f"{name}-pod",
            "uid": f"{name}-pod",
            "creationTimestamp": "2026-11-30T00:00:00Z",
            "labels": {names.TOOL_LABEL: "echo"},
            "ownerReferences": [owner("Job", name)],
        }
        self.put(PODS, {"metadata": metadata, "spec": {"containers": [{"name": "tool"}]}, "status": {"phase": phase}})

    def remove(self, kind: Any, name: str) -> None:
        self.version += 1
        self.store.remove(kind, name, version=str(self.version))

    def waits(self, name: str, **fields: Any) -> None:
        self.task(name, **{key: fields.pop(key) for key in ("second", "tool") if key in fields})
        self.job(name, **fields)

    def runs(self, name: str, **fields: Any) -> None:
        self.task(name, phase="Running", **fields)
        self.job(name, suspended=False)
        self.pod(name, "Running")


def owner(kind: str, name: str) -> Json:
    return {"kind": kind, "name": name, "uid": "u", "controller": True}


@pytest.fixture
def room() -> Room:
    return Room()


def test_they_stand_by_the_time_of_their_creation_then_by_name(room: Room) -> None:
    room.runs("r")
    for name, second in (("c", 1), ("a", 2), ("b", 1)):
        room.waits(name, second=second)

    assert [room.lines.seen(name).ahead for name in ("b", "c", "a")] == [0, 1, 2]
    assert room.lines.seen("a") == LineSeen(older=3, ahead=2, ahead_may_start=False, running=1)
    assert room.lines.waiting == 3


def test_each_tool_has_its_own_line(room: Room) -> None:
    room.runs("r", tool="other")
    room.waits("a")

    assert room.lines.seen("a") == LineSeen()


def test_a_place_is_left_for_one_who_was_made_before_and_is_about_to_join(room: Room) -> None:
    room.task("a", second=1, phase=None)
    room.waits("b", second=2, limit=1)
    room.waits("c", second=3, limit=2)

    assert room.lines.seen("b") == LineSeen(older=1, ahead=1)
    assert not room.lines.seen("c").ahead_may_start
    room.woken.clear()
    room.task("a", second=1, phase="InputRequired")
    assert room.woken == ["b", "c"]


def test_one_who_has_not_joined_yet_sees_its_place(room: Room) -> None:
    room.runs("r")
    room.waits("b", second=2)
    room.task("a", second=1, phase=None)
    room.task("c", second=3, phase=None)

    assert room.lines.seen("a").ahead == 0
    assert room.lines.seen("c").ahead == 2


@pytest.mark.parametrize(
    "end",
    [
        lambda room: room.job("r", suspended=False, done="Complete"),
        lambda room: (room.pod("r", "Succeeded"), room.task("r", phase="Completed")),
        lambda room: (room.pod("r", "Failed"), room.remove(JOBS, "r")),
        lambda room: (room.remove(TASKS, "r"), room.remove(JOBS, "r"), room.remove(PODS, "r-pod")),
    ],
    ids=["its Job is finished", "its task and its pod are over", "its Job is gone", "all of it is gone"],
)
def test_the_next_is_woken_once_somebody_is_really_over(room: Room, end: Any) -> None:
    room.runs("r")
    room.waits("a", second=1)
    room.waits("b", second=2)
    room.woken.clear()

    room.pod("r", "Failed")
    end(room)

    assert room.woken == ["a"]


@pytest.mark.parametrize(
    "half",
    [
        lambda room: room.task("r", phase="Cancelled"),
        lambda room: room.remove(JOBS, "r"),
        lambda room: room.remove(TASKS, "r"),
    ],
    ids=["its task is over and its pod is not", "its Job is gone and its pod is not", "only its pod is left"],
)
def test_a_pod_that_may_run_keeps_its_place(room: Room, half: Any) -> None:
    room.runs("r")
    room.waits("a", second=1)
    room.woken.clear()

    half(room)

    assert room.woken == []
    assert room.lines.seen("a").running == 1


def test_a_job_that_may_make_another_pod_keeps_its_place(room: Room) -> None:
    room.task("r", phase="Completed")
    room.job("r", suspended=False, backoffLimit=2)
    room.pod("r", "Failed")
    room.waits("a", second=1)

    assert room.lines.seen("a").running == 1
    room.job("r", suspended=False, backoffLimit=2, done="FailureTarget")
    assert room.lines.seen("a").running == 0


def test_a_pod_that_is_left_of_a_task_that_went_unseen_has_its_place(room: Room) -> None:
    room.pod("r", "Running")
    room.waits("a", second=1)

    assert room.lines.seen("a").running == 1
    room.remove(PODS, "r-pod")
    assert room.woken == ["a"]


def test_a_place_that_was_given_away_is_nobody_elses_until_the_answer_is_known(room: Room) -> None:
    room.waits("a", second=1)
    room.waits("b", second=2)
    room.lines.take("a")

    assert room.lines.seen("a").is_taken
    assert room.lines.seen("b") == LineSeen(older=1, ahead=0, running=1)
    room.job("a", suspended=True)
    assert room.lines.seen("b").running == 1
    room.job("a", suspended=False)
    room.job("a", suspended=False, done="Complete")
    assert room.lines.seen("b").running == 0


def test_a_place_that_was_given_away_is_free_once_the_job_is_gone(room: Room) -> None:
    room.waits("a", second=1)
    room.waits("b", second=2)
    room.lines.take("a")
    room.woken.clear()
    room.remove(JOBS, "a")

    assert room.woken == ["b"]


def test_who_leaves_the_line_wakes_those_behind_it_that_may_start(room: Room) -> None:
    """A task of the tool as it was before an edit: with its lower limit it held up those behind it."""
    room.runs("r")
    room.waits("a", second=1, limit=1)
    room.waits("b", second=2, limit=3)
    room.waits("c", second=3, limit=3)
    assert not room.lines.seen("b").ahead_may_start
    room.woken.clear()

    room.task("a", second=1, cancelRequested=True)

    assert room.woken == ["b", "c"]


@pytest.mark.parametrize("phase", [None, "InputRequired", "Stopping"])
def test_who_waits_for_something_else_is_in_no_line(room: Room, phase: str | None) -> None:
    room.runs("r")
    room.task("a", phase=phase)
    room.job("a")

    assert room.lines.waiting == 0


def test_a_job_whose_limit_nobody_knows_is_in_no_line(room: Room) -> None:
    room.waits("a", limit=None)

    assert room.lines.waiting == 0


def test_nothing_is_kept_of_what_is_over(room: Room) -> None:
    room.runs("r")
    room.waits("a", second=1)
    for name in ("r", "a"):
        room.remove(PODS, f"{name}-pod")
        room.remove(JOBS, name)
        room.task(name, phase="Completed")

    assert vars(room.lines)["_entries"] == {}
    assert vars(room.lines)["_lines"] == {}
