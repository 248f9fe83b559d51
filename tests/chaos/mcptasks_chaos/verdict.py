"""What a run has shown, judged: every sentence here is one that the product promises."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcptasks_crds import jsontext, names
from mcptasks_crds.base import Json
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_devcluster.faults import Request

from .plan import NODE, Call, Fate, Plan
from .recorder import Recorder, Version
from .tools import NODE_TROUBLE, is_kept, right_endings, right_text
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


def unsettled(recorder: Recorder, calls: Iterable[Call], ids: Mapping[int, str]) -> list[Complaint]:
    """What is not as it is to be once all is over, by what the recorder has seen."""
    found: list[Complaint] = []
    tasks = {each["metadata"]["name"]: each for each in recorder.living(lambda it: it.tasks)}
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
        ("Job", recorder.living(lambda it: it.jobs)),
        ("pod", recorder.living(lambda it: it.pods)),
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


def judge(
    recorder: Recorder, planned: Plan, ids: Mapping[int, str], diary: Sequence[str], requests: list[Request]
) -> list[Complaint]:
    """What was wrong in a whole run."""
    calls = planned.calls
    spoiled = _spoiled_starts(recorder, planned, ids, diary)
    found = [
        Complaint(what=what, task=key.partition("/")[0])
        for key, versions in recorder.tasks.items()
        for what in wrong_steps([version.document for version in versions if not version.is_gone])
    ]
    for call in calls:
        if ids[call.number] not in spoiled:
            found += _wrong_end(recorder, call, ids[call.number])
    found += _wrong_starts(recorder, [call for call in calls if ids[call.number] not in spoiled], ids, diary)
    found += _finalizers(recorder)
    found += _too_many_requests(requests, ids)
    return found


def _spoiled_starts(recorder: Recorder, planned: Plan, ids: Mapping[int, str], diary: Sequence[str]) -> frozenset[str]:
    """The tasks whose container a node in trouble could not start, and did not: they tell just that."""
    if not any(event.component in NODE for event in planned.events):
        return frozenset()
    started = {line.split()[2] for line in diary}
    return frozenset(
        task
        for task in ids.values()
        if task not in started
        and any((status["phase"], status.get("reason")) == NODE_TROUBLE for status in _statuses(recorder, task))
    )


def _wrong_end(recorder: Recorder, call: Call, task: str) -> Iterator[Complaint]:
    known = recorder.task_of.get(call.number, set())
    if known != {task}:
        yield Complaint(what=f"call {call.number} has the tasks {sorted(known)}", task=task)
    ends = [status for status in _statuses(recorder, task) if Phase(status["phase"]).is_terminal]
    if not ends:
        if is_kept(call):
            yield Complaint(what="was never seen to end", task=task)
        return  # deleted before its end, or it ended and went while the recorder's watch was cut
    end = ends[-1]
    ending = (Phase(end["phase"]), Reason(end["reason"]))
    if ending not in right_endings(call):
        said = f"{end.get('message')!r}, {end.get('error')}"
        yield Complaint(what=f"call {call.number} ({call.tool}, {call.fate}) ended as {ending}: {said}", task=task)
        return
    text = right_text(call, ending[1])
    given = end.get("result", {}).get("inline")
    if text is not None and text not in _text(given):
        yield Complaint(what=f"its result is {given!r}, not {text!r}", task=task)


def _statuses(recorder: Recorder, task: str) -> list[Json]:
    return [
        version.document["status"]
        for key, versions in recorder.tasks.items()
        if key.startswith(f"{task}/")
        for version in versions
        if version.document.get("status", {}).get("phase")
    ]


def _text(result: str | None) -> str:
    document = jsontext.parse(result or "{}")
    blocks = document.get("content", ()) if isinstance(document, dict) else ()
    return "\n".join(str(block.get("text", "")) for block in blocks)


def _wrong_starts(
    recorder: Recorder, calls: Sequence[Call], ids: Mapping[int, str], diary: Sequence[str]
) -> Iterator[Complaint]:
    """One pod for a task, one start in the diary; and where its program's end counts, that end."""
    lines = Counter((line.split()[0], line.split()[2]) for line in diary)
    pods = _pods(recorder)
    for call in calls:
        task = ids[call.number]
        started, ended = lines["started", task], lines["ended", task]
        if started > 1 and _runtime_started_it_again(recorder, task):
            started = ended = 1
        if not _was_deleted_unseen(recorder, call, task):
            if len(pods[task]) > 1:
                yield Complaint(what=f"it had the pods {sorted(pods[task])}", task=task)
            if started > 1:
                yield Complaint(what=f"its program started {started} times", task=task)
        if call.fate in {Fate.NOTHING, Fate.AGAIN, Fate.ACCEPT} and (started, ended) != (1, 1):
            yield Complaint(what=f"its program started {started} times and ended {ended} times", task=task)
        if call.fate is Fate.DECLINE and started:
            yield Complaint(what="its program started though it was declined", task=task)


def _pods(recorder: Recorder) -> Mapping[str, set[str]]:
    """The names of each task's pods."""
    pods: defaultdict[str, set[str]] = defaultdict(set)
    for versions in recorder.pods.values():
        metadata = versions[-1].document["metadata"]
        pods[metadata.get("labels", {}).get(names.TASK_LABEL, "")].add(metadata["name"])
    return pods


def _was_deleted_unseen(recorder: Recorder, call: Call, task: str) -> bool:
    """Whether somebody deleted the task's Job before the operator, cut off, could write down that there was one.

    Then nothing tells it from a Job that was never made (see docs/chaos.md).
    """
    uids = {key.partition("/")[2] for key in recorder.jobs if key.startswith(f"{names.job_name(task)}/")}
    written = {status["job"]["uid"] for status in _statuses(recorder, task) if "job" in status}
    return call.fate is Fate.DELETE_JOB and bool(uids - written)


def _runtime_started_it_again(recorder: Recorder, task: str) -> bool:
    """Whether the kubelet started the container of the one pod a second time, and says so.

    It does that with a container whose start it lost sight of when the runtime was killed, whatever the `restartPolicy`
    (see docs/chaos.md).
    """
    statuses = (
        status
        for versions in recorder.pods.values()
        if versions[-1].document["metadata"].get("labels", {}).get(names.TASK_LABEL) == task
        for status in versions[-1].document.get("status", {}).get("containerStatuses", ())
    )
    return any(status["restartCount"] > 0 for status in statuses)


def _finalizers(recorder: Recorder) -> Iterator[Complaint]:
    for kept in (recorder.tasks, recorder.jobs, recorder.pods):
        for key, versions in kept.items():
            held = _held_by(versions)
            if held:
                yield Complaint(what=f"{key} was held by {sorted(held)}")


def _held_by(versions: Iterable[Version]) -> set[str]:
    every = (name for version in versions for name in version.document["metadata"].get("finalizers", ()))
    return {name for name in every if "mcptasks" in name or "kopf" in name}


def _too_many_requests(requests: list[Request], ids: Mapping[int, str]) -> Iterator[Complaint]:
    plain = [request for request in requests if not request.is_watch and not request.is_dry_run]
    if len(plain) > MOST_REQUESTS_A_TASK * len(ids):
        yield Complaint(what=f"the operator made {len(plain)} requests for {len(ids)} tasks")
    counts = Counter(match[0] for request in plain if (match := re.search(r"mt-[a-z2-7]{26,52}", request.path)))
    for task, count in counts.items():
        if count > MOST_REQUESTS:
            yield Complaint(what=f"the operator made {count} requests for it", task=task)
