"""What a run has shown, judged: every sentence here is one that the product promises."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcptasks_crds import jsontext, names
from mcptasks_crds.base import Json
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_devcluster.faults import Request

from .outages import ENDING_OF, Excuse, Outage, excuse, further_starts, has_succeeded, surplus
from .plan import Call, Fate, Plan, Tool
from .recording import Recording, Version
from .tools import Ending, is_kept, right_endings, right_texts
from .versions import wrong_steps

MOST_REQUESTS: Final = 80
"""Of the operator, for one task, whatever goes wrong."""
MOST_REQUESTS_A_TASK: Final = 40
"""Of the operator, in the mean, all that is no watch."""
_OVER: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """Something that should not be."""

    what: str
    task: str | None = None
    """The task that it is about."""

    def __str__(self) -> str:
        return self.what if self.task is None else f"{self.task}: {self.what}"


def unsettled(recording: Recording, calls: Iterable[Call], ids: Mapping[int, str]) -> list[Complaint]:
    """What is not as it is to be once all is over, by what the recorder has seen."""
    found: list[Complaint] = []
    tasks = {each["metadata"]["name"]: each for each in recording.living(lambda it: it.tasks)}
    for call in calls:
        task = ids.get(call.number)
        if task is None:
            found.append(Complaint(what=f"call {call.number} was never answered"))
        elif is_kept(call):
            phase = tasks.get(task, {}).get("status", {}).get("phase")
            if phase is None or not Phase(phase).is_terminal:
                found.append(Complaint(what=f"is still {phase}", task=task))
        elif task in tasks:
            found.append(Complaint(what="is still there", task=task))
    for kind, living in (
        ("Job", recording.living(lambda it: it.jobs)),
        ("pod", recording.living(lambda it: it.pods)),
    ):
        found += _left_over(kind, living, tasks)
    for task, document in tasks.items():
        if "deletionTimestamp" in document["metadata"]:
            found.append(Complaint(what="is being deleted and does not go", task=task))
    return found


def _left_over(kind: str, living: Iterable[Json], tasks: Mapping[str, Json]) -> Iterator[Complaint]:
    for each in living:
        metadata = each["metadata"]
        task = metadata.get("labels", {}).get(names.TASK_LABEL, metadata["name"])
        if task not in tasks:
            yield Complaint(what=f"its {kind} {metadata['name']} is left without it", task=task)
        elif "deletionTimestamp" in metadata:
            yield Complaint(what=f"its {kind} {metadata['name']} is being deleted and does not go", task=task)
        elif kind == "pod" and each.get("status", {}).get("phase") not in _OVER:
            yield Complaint(what=f"its pod {metadata['name']} still runs", task=task)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a run has left to judge by."""

    recording: Recording
    ids: Mapping[int, str]
    """The task of each call."""
    diary: Sequence[str]
    """What the programs wrote on the node."""
    outages: Sequence[Outage] = ()
    """When components of the cluster were killed."""
    requests: Sequence[Request] = ()
    """The operator's."""


def judge(planned: Plan, evidence: Evidence) -> list[Complaint]:
    """What was wrong in a whole run."""
    recording, ids = evidence.recording, evidence.ids
    found = [
        Complaint(what=what, task=key.partition("/")[0])
        for key, versions in recording.tasks.items()
        for what in wrong_steps([version.document for version in versions if not version.is_gone])
    ]
    diary = [line.split() for line in evidence.diary]
    lines = Counter((word, task) for word, _, task, _ in diary)
    in_pods = Counter((task, pod) for word, _, task, pod in diary if word == "started")
    for call in planned.calls:
        task = ids[call.number]
        pods = list(recording.pods_of(task))
        excused = excuse(pods, evidence.outages)
        found += _wrong_end(recording, call, task, excused)
        runs = _Runs(
            started=lines["started", task],
            ended=lines["ended", task],
            in_one_pod=max((count for (each, _), count in in_pods.items() if each == task), default=0),
            again=further_starts(pods, evidence.outages),
            pods=len(pods),
            surplus=surplus(list(recording.pods_of(task, which=0)), recording.jobs_of(task), evidence.outages),
            excused=excused,
        )
        found += _wrong_starts(call, task, runs, is_unseen=_was_deleted_unseen(recording, call, task))
    found += _finalizers(recording)
    found += _too_many_requests(evidence.requests, ids)
    return found


def _wrong_end(recording: Recording, call: Call, task: str, excused: Excuse | None) -> Iterator[Complaint]:
    known = recording.task_of.get(call.number, set())
    # What is deleted in the moment after it was made may have come and gone while the recorder's own watch was cut.
    if known != {task} and (known or is_kept(call)):
        yield Complaint(what=f"call {call.number} has the tasks {sorted(known)}", task=task)
    ends = [status for status in recording.statuses(task) if Phase(status["phase"]).is_terminal]
    if not ends:
        if is_kept(call):
            yield Complaint(what="was never seen to end", task=task)
        return  # deleted before its end, or it ended and went while the recorder's watch was cut
    end = ends[-1]
    ending = (Phase(end["phase"]), Reason(end["reason"]))
    right = right_endings(call) | _unseen_endings(recording, call, task)
    if excused is not None:
        right |= {ENDING_OF[excused]}
    if ending not in right:
        said = f"{end.get('message')!r}, {end.get('error')}"
        yield Complaint(what=f"call {call.number} ({call.tool}, {call.fate}) ended as {ending}: {said}", task=task)
        return
    texts, given = right_texts(call, ending[1]), _texts(end)
    if texts is not None and texts != given:
        yield Complaint(what=f"its result is {given}, not {texts}", task=task)


def _unseen_endings(recording: Recording, call: Call, task: str) -> frozenset[Ending]:
    """How a task may end whose pod somebody deleted while the operator was cut off: it can go by the Job alone."""
    if call.fate is not Fate.DELETE_POD:
        return frozenset()
    if any(has_succeeded(pod) for pod in recording.pods_of(task)):
        return frozenset({(Phase.FAILED, Reason.RESULT_LOST)})
    if any("podName" in status.get("job", {}) for status in recording.statuses(task)):
        return frozenset()
    return frozenset({(Phase.FAILED, Reason.JOB_FAILED)})


def _texts(status: Json) -> list[str]:
    """The texts of a task's result, wherever it stands: in order, those first that its program added before."""
    report = status.get("report", {})
    is_reported = status.get("result", {}).get("from") == "report"
    result = jsontext.parse(
        (report if is_reported else status.get("result", {})).get("result" if is_reported else "inline", "{}")
    )
    added = jsontext.parse(report.get("content", "[]"))
    blocks = [*added, *result.get("content", ())]
    return [str(block.get("text", "")).strip() for block in blocks]


_MOST_STARTS: Final[Mapping[Excuse | None, int]] = {Excuse.NOT_STARTED: 0, Excuse.BROKEN_OFF: 1}
"""How often a program may have begun whose container was not to be started; it has no end."""


@dataclass(frozen=True, kw_only=True)
class _Runs:
    """What the diary has of one task's program, its pods, and what outages may have to do with it."""

    started: int
    ended: int
    in_one_pod: int
    """How often it started in the pod in which it did so most often."""
    again: int
    """How often the node may have started it once more."""
    pods: int
    surplus: int
    """How many of these the Job controller may have made too many."""
    excused: Excuse | None


def _wrong_starts(call: Call, task: str, runs: _Runs, *, is_unseen: bool) -> Iterator[Complaint]:
    """One pod for a task, one start in the diary; and where its program's end counts, that end."""
    once = range(1, 2 + runs.again + runs.surplus)
    ran = f"its program started {runs.started} times and ended {runs.ended} times"
    if not is_unseen:
        if runs.pods > 1 + runs.surplus:
            yield Complaint(what=f"it had {runs.pods} pods", task=task)
        if runs.started > once[-1] or runs.in_one_pod > 1 + runs.again:
            yield Complaint(what=ran, task=task)
    if runs.excused in _MOST_STARTS:
        if runs.started > _MOST_STARTS[runs.excused] or runs.ended:
            yield Complaint(what=f"{ran}, and its pod says: {runs.excused}", task=task)
    elif call.fate in {Fate.NOTHING, Fate.AGAIN, Fate.ACCEPT} and not (runs.started in once and runs.ended in once):
        yield Complaint(what=ran, task=task)
    if (call.tool, call.fate) == (Tool.CONFIRM, Fate.DECLINE) and runs.started:
        yield Complaint(what=f"{ran}, and it was declined", task=task)


def _was_deleted_unseen(recording: Recording, call: Call, task: str) -> bool:
    """Whether somebody deleted the task's Job before the operator, cut off, could write down that there was one.

    Then nothing tells it from a Job that was never made (see docs/chaos.md).
    """
    uids = {key.partition("/")[2] for key in recording.jobs if key.startswith(f"{names.job_name(task)}/")}
    written = {status["job"]["uid"] for status in recording.statuses(task) if "job" in status}
    return call.fate is Fate.DELETE_JOB and bool(uids - written)


def _finalizers(recording: Recording) -> Iterator[Complaint]:
    for kept in (recording.tasks, recording.jobs, recording.pods):
        for key, versions in kept.items():
            held = _held_by(versions)
            if held:
                yield Complaint(what=f"{key} was held by {sorted(held)}")


def _held_by(versions: Iterable[Version]) -> set[str]:
    every = (name for version in versions for name in version.document["metadata"].get("finalizers", ()))
    return {name for name in every if "mcptasks" in name or "kopf" in name}


def _too_many_requests(requests: Sequence[Request], ids: Mapping[int, str]) -> Iterator[Complaint]:
    plain = [request for request in requests if not request.is_watch and not request.is_dry_run]
    if len(plain) > MOST_REQUESTS_A_TASK * len(ids):
        yield Complaint(what=f"the operator made {len(plain)} requests for {len(ids)} tasks")
    counts = Counter(match[0] for request in plain if (match := re.search(r"mt-[a-z2-7]{26,52}", request.path)))
    for task, count in counts.items():
        if count > MOST_REQUESTS:
            yield Complaint(what=f"the operator made {count} requests for it", task=task)
