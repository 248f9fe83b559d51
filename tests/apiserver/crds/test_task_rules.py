"""Each of a task's rules: a patch that the real API server refuses, and its neighbour that it accepts."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import chain

import pytest

from mcptasks_crds import limits
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, Kube, RejectedError
from mcptasks_crds.phases import SUCCESSORS, Phase, may_follow
from mcptasks_crds.rules import TASK_IS_OVER, TASK_RULES

MakeTask = Callable[..., Awaitable[str]]

pytestmark = pytest.mark.apiserver

TASK = "THE-TASK"
"""In a status or a patch: the name of the task that it is tried on."""
JOB: Json = {"name": "j", "uid": "job-1", "podName": "p", "podUID": "pod-1"}
QUESTION: Json = {"message": "Sure?", "requestedSchema": "{}", "askedAt": "2026-12-01T00:00:00Z"}
TOOL_QUESTION: Json = {
    "message": "Sure?",
    "requestedSchema": '{"type":"object"}',
    "when": "beforeStart",
    "modelMayAnswer": False,
    "expirySeconds": 60,
}
PROGRESS: Json = {"progress": 3, "total": 10, "message": "on it", "display": "3/10", "podUID": "pod-1"}
RUNNING: Json = {
    "phase": "Running",
    "attempts": 1,
    "expiresAt": "2026-12-01T00:00:00.500Z",
    "tool": {"resource": "build", "uid": "tool-1", "generation": 1},
    "job": JOB,
    "report": {"progress": PROGRESS, "questions": {"q1": QUESTION}},
}
STOPPING: Json = RUNNING | {"phase": "Stopping", "stopping": {"reason": "Cancelled", "at": "2026-12-01T00:00:00Z"}}
REPORTED: Json = RUNNING | {"report": {"result": '{"content":[]}', "progress": PROGRESS}}
ADDED: Json = RUNNING | {"report": {"content": "[1]", "contentKeys": ["0123456789abcdef"]}}
KEPT_APART: Json = {"secretName": f"{TASK}-result-0123456789abcdef", "bytes": 700_000}
REPORTED_APART: Json = RUNNING | {"report": {"resultFrom": KEPT_APART}}
ADDED_APART: Json = RUNNING | {
    "report": {
        "content": "[1]",
        "contentKeys": ["0123456789abcdef", "0123456789abcdee"],
        "contentFrom": {"posts": 1, "bytes": 1000},
    }
}
TOO_LARGE: Json = {"bytes": 2_000_000, "limit": 1_048_576, "head": "a", "tail": "z"}
COMPLETED: Json = RUNNING | {
    "phase": "Completed",
    "reason": "Succeeded",
    "result": {"inline": '{"content":[]}'},
    "exitCode": 0,
    "startedAt": "2026-12-01T00:00:00Z",
    "finishedAt": "2026-12-01T00:00:01Z",
    "logTail": "done",
}
FAILED: Json = RUNNING | {"phase": "Failed", "reason": "JobFailed", "error": {"code": -32603, "message": "lost"}}
ANSWERED_BY_SOMEBODY: Json = {
    "road": "approver",
    "at": "2026-12-01T00:00:00Z",
    "by": "<" * limits.ANSWERER_SEEN_STORED_BYTES,
}
ANSWERED: Json = {"answers": {"q1": {"response": '{"action":"accept"}', "by": "alice"}}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One rule tried."""

    says: str
    """What the refusal says; the same words as the rule's message where it is a rule that refuses."""
    refused: Json
    """The merge patch that must be refused."""
    accepted: Json
    """Its neighbour, which must be accepted."""
    spec: Json = field(default_factory=dict)
    status: Json | None = None
    part: str = "status"


def on_spec(says: str, refused: Json, accepted: Json, spec: Json | None = None) -> Case:
    return Case(says=says, refused={"spec": refused}, accepted={"spec": accepted}, spec=spec or {}, part="spec")


def on_status(says: str, refused: Json | None, accepted: Json, status: Json | None = None) -> Case:
    return Case(says=says, refused={"status": refused}, accepted={"status": accepted}, status=status)


def frozen(name: str, value: object) -> Case:
    says = f"{name} does not change after the call: a task runs what was asked for"
    return on_spec(says, {name: value}, {"detached": True})


def over(change: Json | None, status: Json = COMPLETED) -> Case:
    return on_status(TASK_IS_OVER, change, {"expiresAt": "2099-01-01T00:00:00.000Z"}, status)


def merged(document: Json, patch: Json) -> Json:
    """What a JSON merge patch (RFC 7396) makes of a document."""
    result = dict(document)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name, {}), value) if isinstance(value, dict) else value
    return result


def named(document: Json, name: str) -> Json:
    """The document with the task's name where it speaks of that."""
    result: Json = json.loads(json.dumps(document).replace(TASK, name))
    return result


SPEC_CASES = {
    "another tool": frozen("tool", {"name": "deploy"}),
    "a field more of the tool": frozen("tool", {"uid": "u"}),
    "other arguments": frozen("arguments", '{"a":1}'),
    "no arguments": frozen("arguments", None),
    "arguments from elsewhere": frozen("argumentsFrom", {"secretName": "s"}),
    "another caller": frozen("caller", "mallory"),
    "the caller removed": frozen("caller", None),
    "another retention": frozen("retentionSeconds", 60),
    "another interval": frozen("pollIntervalMs", 500),
    "another question": frozen("questions", {"sure": TOOL_QUESTION}),
    "another progress token": frozen("progressToken", "2"),
    "another digest": frozen("argumentsDigest", "1" * 64),
    "cancel taken back": on_spec(
        "a cancellation cannot be taken back",
        {"cancelRequested": False},
        {"cancelRequested": True, "detached": True},
        {"cancelRequested": True},
    ),
    "cancel removed": on_spec(
        "a cancellation cannot be taken back", {"cancelRequested": None}, {"detached": True}, {"cancelRequested": True}
    ),
    "detached taken back": on_spec(
        "a task's id that was handed out cannot be taken back",
        {"detached": False},
        {"cancelRequested": True},
        {"detached": True},
    ),
    "another answer": on_spec(
        "an answer cannot be changed or removed: the first one for a key stays",
        {"answers": {"q1": {"response": '{"action":"decline"}'}}},
        {"answers": {"q2": {"response": '{"action":"decline"}'}}},
        ANSWERED,
    ),
    "an answer removed": on_spec(
        "an answer cannot be changed or removed: the first one for a key stays",
        {"answers": {"q1": None}},
        {"answers": {"q1": ANSWERED["answers"]["q1"]}},
        ANSWERED,
    ),
    "all answers removed": on_spec(
        "an answer cannot be changed or removed: the first one for a key stays",
        {"answers": None},
        {"cancelRequested": True},
        ANSWERED,
    ),
    "a key with a space": on_spec(
        f"a key of answers must match {limits.QUESTION_KEY_PATTERN}",
        {"answers": {"q 1": {"response": "{}"}}},
        {"answers": {"q.1_a-B": {"response": "{}"}}},
    ),
    "a key that is too long": on_spec(
        f"a key of answers must match {limits.QUESTION_KEY_PATTERN}",
        {"answers": {"q" * 65: {"response": "{}"}}},
        {"answers": {"q" * 64: {"response": "{}"}}},
    ),
    "answers too large as stored": on_spec(
        f"answers take more than {limits.ANSWERS_STORED_BYTES} bytes as stored, all together",
        {"answers": {"q1": {"response": "<" * (limits.ANSWERS_STORED_BYTES // 6), "by": "alice"}}},
        {"answers": {"q1": {"response": "<" * (limits.ANSWERS_STORED_BYTES // 6)}}},
    ),
    "too many answers": on_spec(
        "must have at most 80 items",
        {"answers": {f"q{n}": {"response": "{}"} for n in range(81)}},
        {"answers": {f"q{n}": {"response": "{}"} for n in range(80)}},
    ),
}

STATUS_CASES = {
    "the phase removed": on_status("phase cannot be removed", {"phase": None}, {"message": "hm"}, RUNNING),
    "back to pending from stopping": on_status(
        "the phase cannot follow the one that stands", {"phase": "Pending"}, {"phase": "Cancelled"}, STOPPING
    ),
    "an unknown phase": on_status("Unsupported value", {"phase": "Done"}, {"phase": "Pending"}, RUNNING),
    "completed without a result": on_status(
        "result and the phase Completed come together, in one write",
        {"phase": "Completed"},
        {"phase": "Completed", "result": {"inline": "{}"}},
        RUNNING,
    ),
    "a result while it runs": on_status(
        "result and the phase Completed come together, in one write",
        {"result": {"inline": "{}"}},
        {"report": {"result": "{}"}},
        RUNNING,
    ),
    "failed without an error": on_status(
        "error and the phase Failed come together, in one write",
        {"phase": "Failed"},
        {"phase": "Failed", "error": {"code": -32603, "message": "lost"}},
        RUNNING,
    ),
    "an error while it runs": on_status(
        "error and the phase Failed come together, in one write",
        {"error": {"code": -32603, "message": "lost"}},
        {"phase": "Cancelled"},
        RUNNING,
    ),
    "stopping without a why": on_status(
        "the phase Stopping needs stopping: why and since when",
        {"phase": "Stopping"},
        {"phase": "Stopping", "stopping": STOPPING["stopping"]},
        RUNNING,
    ),
    "another why of stopping": on_status(
        "why and since when a task is being stopped is written once",
        {"stopping": {"reason": "RunLimit"}},
        {"stopping": STOPPING["stopping"], "message": "cancelling"},
        STOPPING,
    ),
    "a result once it is being stopped": on_status(
        "the task is being stopped: no result is taken any more",
        {"report": {"result": "{}"}},
        {"report": {"progress": {"progress": 4}}},
        STOPPING,
    ),
    "a result apart once it is being stopped": on_status(
        "the task is being stopped: no result is taken any more",
        {"report": {"resultFrom": KEPT_APART}},
        {"report": {"content": "[1]", "contentKeys": ["0123456789abcdef"]}},
        STOPPING,
    ),
    "stopping removed": on_status(
        "why and since when a task is being stopped is written once",
        {"stopping": None},
        {"phase": "Cancelled"},
        STOPPING,
    ),
    "the job removed": on_status("job cannot be removed", {"job": None}, {"message": "hm"}, RUNNING),
    "another job's uid": on_status(
        "a task has one Job: its uid is written once",
        {"job": {"uid": "job-2"}},
        {"job": {"podName": "p2", "podUID": "pod-2"}},
        RUNNING,
    ),
    "another job's name": on_status(
        "a task has one Job: its name is written once", {"job": {"name": "k"}}, {"job": JOB}, RUNNING
    ),
    "a job without its uid": on_status("Required value", {"job": {"uid": None}}, {"job": {"podUID": None}}, RUNNING),
    "another tool seen": on_status(
        "the tool that the task runs is written once", {"tool": {"generation": 2}}, {"tool": RUNNING["tool"]}, RUNNING
    ),
    "the tool seen removed": on_status(
        "the tool that the task runs is written once", {"tool": None}, {"phase": "Pending"}, RUNNING
    ),
    "expiry lowered": on_status(
        "expiresAt never moves back: a client was told that long",
        {"expiresAt": "2026-12-01T00:00:00.499Z"},
        {"expiresAt": "2026-12-01T01:00:00.501+01:00"},
        RUNNING,
    ),
    "expiry removed": on_status(
        "expiresAt never moves back: a client was told that long",
        {"expiresAt": None},
        {"expiresAt": "2026-12-01T00:00:00.500Z"},
        RUNNING,
    ),
    "fewer attempts": on_status("attempts never become fewer", {"attempts": 0}, {"attempts": 2}, RUNNING),
    "attempts removed": on_status("attempts never become fewer", {"attempts": None}, {"attempts": 1}, RUNNING),
    "the report removed": on_status("report cannot be removed", {"report": None}, {"report": {}}, RUNNING),
    "progress that falls": on_status(
        "progress never falls within one attempt",
        {"report": {"progress": {"progress": 2.9}}},
        {"report": {"progress": {"progress": 3, "message": "still on it"}}},
        RUNNING,
    ),
    "progress removed": on_status(
        "progress never falls within one attempt",
        {"report": {"progress": None}},
        {"report": {"progress": {"progress": 3.5}}},
        RUNNING,
    ),
    "progress that falls by hiding its pod": on_status(
        "progress never falls within one attempt",
        {"report": {"progress": {"progress": 1, "podUID": None}}},
        {"report": {"progress": {"progress": 10}}},
        RUNNING,
    ),
    "progress of another pod": on_status(
        "progress is taken from the pod of the current attempt alone",
        {"report": {"progress": {"progress": 5, "podUID": "pod-2"}}},
        {"job": {"podUID": "pod-2"}, "report": {"progress": {"progress": 1, "podUID": "pod-2"}}},
        RUNNING,
    ),
    "late progress of the pod before": on_status(
        "progress is taken from the pod of the current attempt alone",
        {"report": {"progress": {"progress": 4}}},
        {"report": {"progress": {"progress": 1, "podUID": "pod-2"}}},
        RUNNING | {"job": JOB | {"podUID": "pod-2"}, "report": {"progress": {"progress": 3, "podUID": "pod-1"}}},
    ),
    "another result reported": on_status(
        "a result is given once",
        {"report": {"result": '{"content":[1]}'}},
        {"report": {"result": '{"content":[]}'}},
        REPORTED,
    ),
    "the reported result removed": on_status(
        "a result is given once", {"report": {"result": None}}, {"message": "ending"}, REPORTED
    ),
    "a result both here and apart": on_status(
        "exactly one of result and resultFrom may be given",
        {"report": {"result": "{}", "resultFrom": KEPT_APART}},
        {"report": {"resultFrom": KEPT_APART}},
        RUNNING,
    ),
    "a result here after one apart": on_status(
        "exactly one of result and resultFrom may be given",
        {"report": {"result": "{}"}},
        {"phase": "Completed", "result": {"from": "report"}},
        REPORTED_APART,
    ),
    "another result apart": on_status(
        "a result is given once",
        {"report": {"resultFrom": {"bytes": 700_001}}},
        {"report": {"resultFrom": KEPT_APART}},
        REPORTED_APART,
    ),
    "the result apart removed": on_status(
        "a result is given once", {"report": {"resultFrom": None}}, {"message": "ending"}, REPORTED_APART
    ),
    "a result in somebody else's Secret": on_status(
        "the result is in a Secret whose name begins with the task's and -result-",
        {"report": {"resultFrom": KEPT_APART | {"secretName": "database-password"}}},
        {"report": {"resultFrom": KEPT_APART}},
        RUNNING,
    ),
    "a result inline and apart": on_status(
        "a result is kept once: inline, or in the report with result.from: report",
        {"phase": "Completed", "result": {"inline": "{}"}},
        {"phase": "Completed", "result": {"from": "report"}},
        REPORTED_APART,
    ),
    "words about a result apart that are too long": on_status(
        f"violation takes more than {limits.VIOLATION_STORED_BYTES} bytes as stored",
        {"report": {"resultFrom": KEPT_APART | {"violation": "<" * 86}}},
        {"report": {"resultFrom": KEPT_APART | {"violation": "<" * 85}}},
        RUNNING,
    ),
    "parts apart taken back": on_status(
        "parts of the result are only added, and behind those that are in Secrets",
        {"report": {"contentFrom": {"posts": 2, "bytes": 999}}},
        {"report": {"contentFrom": {"posts": 2, "bytes": 2000}}},
        ADDED_APART,
    ),
    "parts apart removed": on_status(
        "parts of the result are only added, and behind those that are in Secrets",
        {"report": {"contentFrom": None}},
        {"message": "adding"},
        ADDED_APART,
    ),
    "a part here after one apart": on_status(
        "parts of the result are only added, and behind those that are in Secrets",
        {"report": {"content": "[1,2]"}},
        {"report": {"result": '{"content":[]}'}},
        ADDED_APART,
    ),
    "more parts apart than there are": on_status(
        "contentFrom counts more posts than there are",
        {"report": {"contentFrom": {"posts": 3, "bytes": 3000}}},
        {"report": {"contentFrom": {"posts": 2, "bytes": 3000}}},
        ADDED_APART,
    ),
    "a beginning that is too long": on_status(
        f"head takes more than {limits.REFUSED_END_STORED_BYTES} bytes as stored",
        {"report": {"tooLarge": TOO_LARGE | {"head": "<" * 86}}},
        {"report": {"tooLarge": TOO_LARGE | {"head": "<" * 85}}},
        RUNNING,
    ),
    "an end that is too long": on_status(
        f"tail takes more than {limits.REFUSED_END_STORED_BYTES} bytes as stored",
        {"report": {"tooLarge": TOO_LARGE | {"tail": "\n" * 257}}},
        {"report": {"tooLarge": TOO_LARGE | {"tail": "\n" * 256}}},
        RUNNING,
    ),
    "the parts before the result removed": on_status(
        "content cannot be removed", {"report": {"content": None}}, {"report": {"result": '{"content":[]}'}}, ADDED
    ),
    "a part changed": on_status(
        "parts of the result are only added",
        {"report": {"content": "[2,3]"}},
        {"report": {"content": "[1,3]"}},
        ADDED,
    ),
    "parts that are too large": on_status(
        f"content takes more than {limits.RESULT_STORED_BYTES} bytes as stored",
        {"report": {"content": f"[1,{'<' * (limits.RESULT_STORED_BYTES // 6 + 1)}]"}},
        {"report": {"content": f"[1,{'<' * (limits.RESULT_STORED_BYTES // 6 - 1)}]"}},
        ADDED,
    ),
    "a reported result too large beside its parts": on_status(
        f"result and content take more than {limits.RESULT_STORED_BYTES} bytes as stored, both together",
        {"report": {"result": "x" * (limits.RESULT_STORED_BYTES - 2)}},
        {"report": {"result": "x" * (limits.RESULT_STORED_BYTES - 3)}},
        ADDED,
    ),
    "a result too large beside its parts": on_status(
        f"the result and the parts before it take more than {limits.RESULT_STORED_BYTES} bytes as stored",
        {"phase": "Completed", "result": {"inline": "x" * (limits.RESULT_STORED_BYTES - 2)}},
        {"phase": "Completed", "result": {"inline": "x" * (limits.RESULT_STORED_BYTES - 3)}},
        ADDED,
    ),
    "how a question was closed changed": on_status(
        "how a question was closed cannot be changed or removed",
        {"answers": {"q1": {"road": "caller"}}},
        {"answers": {"q2": {"road": "caller", "at": "2026-12-01T00:00:00Z"}}},
        RUNNING | {"answers": {"q1": {"road": "expired", "at": "2026-12-01T00:00:00Z"}}},
    ),
    "too much said of answers": on_status(
        f"answers take more than {limits.ANSWERS_SEEN_STORED_BYTES} bytes as stored, all together",
        {"answers": {f"q{n}": ANSWERED_BY_SOMEBODY for n in range(23)}},
        {"answers": {f"q{n}": ANSWERED_BY_SOMEBODY for n in range(22)}},
        RUNNING,
    ),
    "a question changed": on_status(
        "a question cannot be changed or removed",
        {"report": {"questions": {"q1": {"message": "Really?"}}}},
        {"report": {"questions": {"q2": QUESTION}}},
        RUNNING,
    ),
    "a question removed": on_status(
        "a question cannot be changed or removed",
        {"report": {"questions": {"q1": None}}},
        {"report": {"questions": {"q1": QUESTION}}},
        RUNNING,
    ),
    "all questions removed": on_status(
        "a question cannot be changed or removed", {"report": {"questions": None}}, {"message": "asking"}, RUNNING
    ),
    "a question's key with a slash": on_status(
        f"a key of questions must match {limits.QUESTION_KEY_PATTERN}",
        {"report": {"questions": {"a/b": QUESTION}}},
        {"report": {"questions": {"a.b": QUESTION}}},
        RUNNING,
    ),
    "a pod's question with the key of the tool's": Case(
        says="a pod's question has another key than the tool's own: one answer would answer both",
        refused={"status": {"report": {"questions": {"sure": QUESTION}}}},
        accepted={"status": {"report": {"questions": {"other": QUESTION}}}},
        spec={"questions": {"sure": TOOL_QUESTION}},
    ),
    "questions too large as stored": on_status(
        f"questions take more than {limits.QUESTIONS_STORED_BYTES} bytes as stored, all together",
        {"report": {"questions": {f"q{n}": QUESTION | {"requestedSchema": "&" * 2730} for n in range(3)}}},
        {"report": {"questions": {f"q{n}": QUESTION | {"requestedSchema": "&" * 2720} for n in range(3)}}},
    ),
    "the result here and in the report": on_status(
        "a result is kept once: inline, or in the report with result.from: report",
        {"phase": "Completed", "result": {"inline": "{}"}},
        {"phase": "Completed", "result": {"from": "report"}},
        REPORTED,
    ),
    "a result in a report without one": on_status(
        "a result is kept once: inline, or in the report with result.from: report",
        {"phase": "Completed", "result": {"from": "report"}},
        {"phase": "Completed", "result": {"inline": "{}"}},
        RUNNING,
    ),
    "a result that is nowhere": on_status(
        "exactly one of inline and from must be given",
        {"phase": "Completed", "result": {}},
        {"phase": "Completed", "result": {"inline": "{}"}},
        RUNNING,
    ),
    "a result too large as stored": on_status(
        f"inline takes more than {limits.RESULT_STORED_BYTES} bytes as stored",
        {"phase": "Completed", "result": {"inline": "<" * (limits.RESULT_STORED_BYTES // 6) + "12345"}},
        {"phase": "Completed", "result": {"inline": "<" * (limits.RESULT_STORED_BYTES // 6) + "1234"}},
        RUNNING,
    ),
    "a reported result too large as stored": on_status(
        f"result takes more than {limits.RESULT_STORED_BYTES} bytes as stored",
        {"report": {"result": "\u2028" * (limits.RESULT_STORED_BYTES // 6) + "12345"}},
        {"report": {"result": "\u2028" * (limits.RESULT_STORED_BYTES // 6) + "1234"}},
        RUNNING,
    ),
    "a log too large as stored": on_status(
        f"logTail takes more than {limits.LOG_TAIL_STORED_BYTES} bytes as stored",
        {"logTail": "\n" * (limits.LOG_TAIL_STORED_BYTES // 2) + "1"},
        {"logTail": "\n" * (limits.LOG_TAIL_STORED_BYTES // 2)},
        RUNNING,
    ),
    "a message too long": on_status(
        "Too long", {"message": "m" * (limits.MESSAGE_STORED_BYTES + 1)}, {"message": "m" * limits.MESSAGE_STORED_BYTES}
    ),
    "another phase after the end": over({"phase": "Running"}),
    "another result after the end": over({"result": {"inline": "{}"}}),
    "no result after the end": over({"result": None}),
    "an error after the end": over({"error": {"message": "found"}}, FAILED),
    "another reason after the end": over({"reason": "ToolError"}),
    "another message after the end": over({"message": "something false"}),
    "another moment after the end": over({"lastUpdatedAt": "2099-01-01T00:00:00Z"}),
    "no log after the end": over({"logTail": None}),
    "another exit code after the end": over({"exitCode": 1}),
    "another end after the end": over({"finishedAt": "2026-12-01T00:00:02Z"}),
    "another start after the end": over({"startedAt": None}),
    "another attempt after the end": over({"attempts": 2}),
    "another pod after the end": over({"job": {"podName": "p2"}}),
    "a stop after the end": over({"stopping": {"reason": "RunLimit", "at": "2026-12-01T00:00:02Z"}}),
    "progress after the end": over({"report": {"progress": {"progress": 4}}}),
    "a question after the end": over({"report": {"questions": {"q9": QUESTION}}}),
    "a result reported after a cancellation": over({"report": {"result": "{}"}}, STOPPING | {"phase": "Cancelled"}),
    "a result apart after a cancellation": over(
        {"report": {"resultFrom": KEPT_APART}}, STOPPING | {"phase": "Cancelled"}
    ),
    "a result reported after a failure": over({"report": {"result": "{}"}}, FAILED),
}


@pytest.mark.requirement("ext-tasks/keys-unique", "ext-tasks/status-machine")
@pytest.mark.parametrize("case", [*SPEC_CASES.values(), *STATUS_CASES.values()], ids=[*SPEC_CASES, *STATUS_CASES])
async def test_the_api_server_refuses(case: Case, kube: Kube, namespace: str, make_task: MakeTask) -> None:
    name = await make_task(case.spec)
    if case.status is not None:
        await kube.patch(TASKS, namespace, name, {"status": named(case.status, name)}, subresource="status")
    subresource = "status" if case.part == "status" else None
    before = await kube.get(TASKS, namespace, name)
    with pytest.raises(RejectedError) as refusal:
        await kube.patch(TASKS, namespace, name, named(case.refused, name), subresource=subresource)
    assert refusal.value.status == 422
    assert case.says in str(refusal.value)
    assert await kube.get(TASKS, namespace, name) == before
    accepted = named(case.accepted, name)
    after = await kube.patch(TASKS, namespace, name, accepted, subresource=subresource)
    assert after[case.part] == merged(before.get(case.part, {}), accepted[case.part])


async def test_the_status_cannot_be_removed_as_a_whole(kube: Kube, namespace: str, make_task: MakeTask) -> None:
    name = await make_task(status=RUNNING)
    with pytest.raises(RejectedError, match="status cannot be removed"):
        await kube.patch(TASKS, namespace, name, {"status": None}, subresource="status")
    with pytest.raises(RejectedError, match="phase cannot be removed"):
        await kube.patch(TASKS, namespace, name, {"status": dict.fromkeys(RUNNING)}, subresource="status")


async def test_the_status_cannot_be_replaced_by_less(kube: Kube, namespace: str, make_task: MakeTask) -> None:
    name = await make_task(status=COMPLETED)
    task = await kube.get(TASKS, namespace, name)
    path = TASKS.path(namespace, name, subresource="status")
    for status in ({}, {"phase": "Completed"}, {"phase": "Pending"}):
        with pytest.raises(RejectedError, match=TASK_IS_OVER):
            await kube.request("PUT", path, body=task | {"status": status})


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"arguments": None}, "exactly one of arguments and argumentsFrom must be given"),
        ({"argumentsFrom": {"secretName": "s"}}, "exactly one of arguments and argumentsFrom must be given"),
        ({"arguments": "é" * 8193}, "arguments take more than 16384 bytes: give argumentsFrom, a Secret"),
        ({"arguments": "x" * 16385}, "Too long"),
        ({"tool": {"name": "no such tool"}}, "should match"),
        ({"tool": {}}, "Required value"),
        ({"caller": ""}, "at least 1 chars long"),
        ({"retentionSeconds": 0}, "greater than or equal to 1"),
        ({"retentionSeconds": 1.5}, "must be of type integer"),
        ({"pollIntervalMs": 49}, "greater than or equal to 50"),
        ({"answers": {"q": {"response": "x" * (limits.ANSWER_STORED_BYTES + 1)}}}, "Too long"),
        ({"answers": {"q": {}}}, "Required value"),
        ({"questions": {"a b": TOOL_QUESTION}}, "a key of the tool's questions must match"),
        ({"questions": {f"q{n}": TOOL_QUESTION for n in range(17)}}, "must have at most 16 items"),
        ({"questions": {"q": {"message": "Sure?", "requestedSchema": "{}"}}}, "Required value"),
        (
            {"questions": {f"q{n}": TOOL_QUESTION | {"message": "<" * 2731} for n in range(2)}},
            "questions take more than 32768 bytes as stored, all together",
        ),
        ({"progressToken": "1" * 257}, "Too long"),
        ({"argumentsDigest": "A" * 64}, "should match"),
    ],
)
async def test_a_task_is_refused_at_creation(spec: Json, says: str, make_task: MakeTask) -> None:
    with pytest.raises(RejectedError, match=says):
        await make_task(spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"arguments": None, "argumentsFrom": {"secretName": "s"}},
        {"arguments": "é" * 8192},
        {"arguments": "<" * 16384},
        {"tool": {"name": "A.b_c-1"}},
        {"retentionSeconds": 1},
        {"pollIntervalMs": 50},
        {"answers": {"q": {"response": "x" * limits.ANSWER_STORED_BYTES}}},
        {"questions": {f"q{n}": TOOL_QUESTION | {"message": "<" * 2725} for n in range(2)}},
        {"questions": {f"q{n}": TOOL_QUESTION for n in range(16)}, "answers": ANSWERED["answers"]},
        {"progressToken": "1" * 256, "argumentsDigest": "0" * 64},
    ],
)
async def test_a_task_at_a_bound_is_accepted(spec: Json, make_task: MakeTask) -> None:
    assert await make_task(spec)


@pytest.mark.parametrize("name", ["a.b", "x" * 64])
async def test_a_name_that_cannot_be_its_jobs_is_refused(name: str, kube: Kube, namespace: str) -> None:
    task = {
        "apiVersion": "mcptasks.dev/v1alpha1",
        "kind": "McpTask",
        "metadata": {"name": name},
        "spec": {"tool": {"name": "build"}, "arguments": "{}"},
    }
    with pytest.raises(RejectedError, match=r"metadata\.name"):
        await kube.create(TASKS, namespace, task)


STATUS_OF: dict[Phase, Json] = {
    Phase.STOPPING: {"stopping": STOPPING["stopping"]},
    Phase.COMPLETED: {"result": {"inline": "{}"}},
    Phase.FAILED: {"error": {"code": -32603, "message": "lost"}},
}


@pytest.mark.requirement("ext-tasks/status-machine")
@pytest.mark.parametrize("current", [None, *Phase])
async def test_a_phase_is_followed_by_its_successors_alone(
    current: Phase | None, kube: Kube, namespace: str, make_task: MakeTask
) -> None:
    status = None if current is None else {"phase": current} | STATUS_OF.get(current, {})
    name = await make_task(status=status)
    allowed = set()
    for following in Phase:
        leaving = {"result": None, "error": None} if following not in {current, Phase.COMPLETED, Phase.FAILED} else {}
        patch = {"status": leaving | {"phase": following} | STATUS_OF.get(following, {})}
        try:
            await kube.patch(TASKS, namespace, name, patch, subresource="status", dryRun="All")
        except RejectedError:
            continue
        allowed.add(following)
    assert allowed == {following for following in Phase if may_follow(current, following)}
    assert current is None or allowed == SUCCESSORS[current] | {current}


def test_every_rule_has_a_patch_that_it_refuses() -> None:
    tried = {case.says for case in chain(SPEC_CASES.values(), STATUS_CASES.values())}
    tried |= {
        "status cannot be removed",
        "exactly one of arguments and argumentsFrom must be given",
        "arguments take more than 16384 bytes: give argumentsFrom, a Secret",
        f"a key of the tool's questions must match {limits.QUESTION_KEY_PATTERN}",
        f"questions take more than {limits.TOOL_QUESTIONS_STORED_BYTES} bytes as stored, all together",
    }  # the tests of creation and of the whole status
    assert {rule.message for rule in chain.from_iterable(TASK_RULES.values())} <= tried


async def test_a_finished_task_can_be_labelled_kept_longer_and_deleted(
    kube: Kube, namespace: str, make_task: MakeTask
) -> None:
    name = await make_task({"cancelRequested": True, **ANSWERED}, COMPLETED)
    labelled = {"metadata": {"labels": {"seen": "yes"}, "annotations": {"note": "<kept>"}}}
    task = await kube.patch(TASKS, namespace, name, labelled)
    assert task["metadata"]["labels"] == {"seen": "yes"}
    longer = {"status": {"expiresAt": "2027-01-01T00:00:00Z"}}
    await kube.patch(TASKS, namespace, name, longer, subresource="status")
    await kube.delete(TASKS, namespace, name, uid=task["metadata"]["uid"])
    assert (await kube.list(TASKS, namespace))["items"] == []


async def test_a_refusal_does_not_repeat_what_the_tool_said(kube: Kube, namespace: str, make_task: MakeTask) -> None:
    name = await make_task(status=REPORTED)
    for secret in ("hunter2", "hunter2<" * 40_000):
        with pytest.raises(RejectedError) as refusal:
            await kube.patch(TASKS, namespace, name, {"status": {"report": {"result": secret}}}, subresource="status")
        assert "hunter2" not in str(refusal.value)
