"""docs/endings.md lists every reason, and says of each what the operator decides and the server shows."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcptasks_crds.limits import RESULT_STORED_BYTES
from mcptasks_crds.phases import Phase
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Answer, ArgumentsSource, Report, Stopping
from mcptasks_crds.tool import McpTool
from mcptasks_operator.decide import decide
from mcptasks_operator.observation import Absent, ArgumentsSeen, LineSeen, Observation, PodSeen, Presence, Refusal
from mcptasks_operator.samples import (
    JOB_UID,
    NOW,
    ago,
    ended,
    event,
    execution,
    job,
    log,
    observation,
    pod,
    running,
    status,
    task,
    tool,
    waiting,
)
from mcptasks_operator.testing.endings import ALL
from mcptasks_server.ending import TaskCancelledError, TaskFailedError, outcome_of
from mcptasks_server.legacy.projection import task_members
from mcptasks_server.projection import detailed_task

ROOT = Path(__file__).parents[3]
PAGE = "docs/endings.md"
UNUSED = "Not used yet"
ANY_OBJECT = '{"type": "object"}'


def fresh(**fields: Any) -> Observation:
    return observation(**{"task": task(), "job": Absent.CONFIRMED, "pods": (), **fields})


def refused(reason: Reason) -> Observation:
    return fresh(refusal=Refusal(reason=reason, message="refused"))


def tool_ended(code: int, message: str = "said", **fields: Any) -> Observation:
    schema = fields.pop("schema", None)
    made = job(execution=execution(output_schema=schema))
    return observation(job=made, log=log(), pods=(pod(ended(code, message, **fields)),))


def reported(result: str) -> Observation:
    return observation(task=task(status(report=Report(result=result))), log=log())


def answered(response: str | None, *, when: QuestionTime = QuestionTime.BEFORE_START) -> Observation:
    """A task whose question was answered so, or has expired."""
    question = TaskQuestion(message="Sure?", requested_schema='{"type":"object"}', when=when, expiry_seconds=60)
    answers = {} if response is None else {"sure": Answer(response=response)}
    asking = task(status(Phase.INPUT_REQUIRED, pod=False), questions={"sure": question}, answers=answers)
    return observation(task=asking, job=job(is_held_back=True), pods=())


def stopped(reason: Any) -> Observation:
    stopping = Stopping(reason=reason, at=ago(3))
    over = pod(ended(143), phase="Failed", deleting=True)
    return observation(task=task(status(Phase.STOPPING, stopping=stopping)), pods=(over,), log=log())


def waits_for(reason: str, **fields: Any) -> Observation:
    waits = pod(waiting(reason), phase="Pending")
    return observation(task=task(status(Phase.PENDING, pod=False)), pods=(waits,), **fields)


def without_its_secret() -> Observation:
    source = ArgumentsSource(secret_name="mt-a-arguments")
    waits = task(status(Phase.PENDING, pod=False), arguments=None, arguments_from=source)
    missing = ArgumentsSeen(presence=Presence.MISSING, at=NOW)
    return observation(task=waits, pods=(), pods_confirmed=True, arguments=missing)


def limited(running: int, *, queued: int) -> McpTool:
    document: Any = tool().model_dump(by_alias=True)
    document["spec"]["limits"] = {"running": running, "queued": queued}
    return McpTool.model_validate(document)


def queued(*, for_seconds: float) -> Observation:
    made = job(is_held_back=True, created_at=ago(for_seconds), execution=execution(running_limit=1))
    return observation(task=task(status(Phase.PENDING, pod=False)), job=made, pods=(), line=LineSeen(running=1))


def late(waits: PodSeen) -> Observation:
    """A start over its deadline, with this pod."""
    made = job(created_at=ago(300))
    return observation(task=task(status(Phase.PENDING, pod=False)), job=made, pods=(waits,), pods_confirmed=True)


def not_made(why: str, *, after: float) -> Observation:
    """A pod that is refused, and was so for as long."""
    said = event("FailedCreate", f"Error creating: {why}", about=JOB_UID)
    made = job(created_at=ago(after))
    waits = task(status(Phase.PENDING, pod=False))
    return observation(task=waits, job=made, pods=(), pods_confirmed=True, events=(said,))


def disrupted(why: str) -> Observation:
    return observation(pods=(pod(running(), deleting=True, disruption=why),))


OBSERVATIONS: dict[Reason, Observation] = {
    Reason.SUCCEEDED: tool_ended(0),
    Reason.TOOL_ERROR: reported('{"content":[],"isError":true}'),
    Reason.EXIT_CODE: tool_ended(3),
    Reason.SIGNALLED: tool_ended(143),
    Reason.OUT_OF_MEMORY: tool_ended(137, reason="OOMKilled"),
    Reason.RUN_LIMIT: stopped(Reason.RUN_LIMIT),
    Reason.OUTPUT_INVALID: tool_ended(0, "[]", schema=ANY_OBJECT),
    Reason.DECLINED: answered('{"action":"decline"}'),
    Reason.QUESTION_EXPIRED: answered(None),
    Reason.ANSWER_INVALID: answered("{}", when=QuestionTime.BEFORE_TASK),
    Reason.CANCELLED: stopped(Reason.CANCELLED),
    Reason.TOOL_NOT_FOUND: fresh(tool=None),
    Reason.TOOL_INVALID: refused(Reason.TOOL_INVALID),
    Reason.ARGUMENTS_INVALID: refused(Reason.ARGUMENTS_INVALID),
    Reason.ARGUMENTS_LOST: without_its_secret(),
    Reason.JOB_REJECTED: refused(Reason.JOB_REJECTED),
    Reason.JOB_NAME_TAKEN: fresh(job=job(is_ours=False)),
    Reason.QUEUE_FULL: fresh(tool=limited(1, queued=0), line=LineSeen(older=1, running=1)),
    Reason.QUEUE_TIME_OVER: queued(for_seconds=90_000),
    Reason.IMAGE_INVALID: waits_for("InvalidImageName"),
    Reason.CONTAINER_CANNOT_RUN: tool_ended(128, reason="StartError"),
    Reason.QUOTA_EXCEEDED: not_made("exceeded quota: q", after=300),
    Reason.POD_REJECTED: not_made('violates PodSecurity "restricted:latest": forbidden', after=20),
    Reason.SERVICE_ACCOUNT_MISSING: not_made("error looking up service account ns/none", after=20),
    Reason.UNSCHEDULABLE: late(pod(phase="Pending", node=None, unschedulable="0/1 nodes are available")),
    Reason.VOLUME_UNAVAILABLE: late(pod(phase="Pending", node=None, unschedulable="unbound PersistentVolumeClaims")),
    Reason.CONFIG_MISSING: late(pod(waiting("CreateContainerConfigError", 'secret "x" not found'), phase="Pending")),
    Reason.IMAGE_PULL: late(pod(waiting("ErrImagePull"), phase="Pending")),
    Reason.IMAGE_ARCHITECTURE: tool_ended(128, "exec format error", reason="StartError"),
    Reason.INIT_FAILED: late(pod(phase="Failed", failed_init="init container x: exit code 3")),
    Reason.START_DEADLINE: late(pod(waiting("PodInitializing"), phase="Pending")),
    Reason.JOB_DELETED: observation(job=Absent.CONFIRMED, pods=()),
    Reason.POD_DELETED: observation(pods=(pod(running(), deleting=True),), job_confirmed=True),
    Reason.EVICTED: observation(pods=(pod(running(), phase="Failed", reason="Evicted"),)),
    Reason.PREEMPTED: disrupted("PreemptionByScheduler"),
    Reason.DRAINED: disrupted("EvictionByEvictionAPI"),
    Reason.NODE_LOST: disrupted("DeletionByTaintManager"),
    Reason.END_UNKNOWN: observation(pods=(pod(ended(255, reason="Unknown"), phase="Failed"),), log=log()),
    Reason.POD_FAILED: observation(pods=(pod(running(), phase="Failed", reason="OutOfcpu"),)),
    Reason.JOB_FAILED: observation(
        job=job(finished=True, failure_reason="BackoffLimitExceeded"),
        task=task(status(pod=False)),
        pods=(),
        pods_confirmed=True,
    ),
    Reason.RESULT_LOST: observation(job=job(finished=True), task=task(status(pod=False)), pods=(), pods_confirmed=True),
    Reason.RESULT_TOO_LARGE: tool_ended(0, '{"x": "' + "y" * RESULT_STORED_BYTES + '"}', schema=ANY_OBJECT),
}
"""For each reason something that is seen, from which the operator decides so."""


@pytest.fixture
def sections(page: Callable[[str], Any]) -> dict[str, str]:
    """Each heading of a reason, with the heading above it."""
    found = [(title, above) for above, title in page(PAGE).sections()]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_the_page_has_every_reason_and_no_other(sections: dict[str, str]) -> None:
    assert sections.keys() == set(Reason)


def test_what_is_not_used_yet_is_said_nowhere_in_the_code_and_all_else_is(sections: dict[str, str]) -> None:
    unused = {reason for reason in Reason if sections[reason] == UNUSED}
    source = "\n".join(path.read_text() for path in (ROOT / "operator" / "mcptasks_operator").glob("*.py"))
    said = set(re.findall(r"Reason\.([A-Z_]+)", source))

    assert {reason for reason in Reason if reason.name not in said} == unused
    assert set(OBSERVATIONS) == set(Reason) - unused


@pytest.mark.parametrize("reason", OBSERVATIONS, ids=str)
def test_every_reason_ends_in_the_phase_of_its_section(reason: Reason, sections: dict[str, str]) -> None:
    decision = decide(OBSERVATIONS[reason])
    shown = detailed_task(task().model_copy(update={"status": decision.status})).members()

    assert decision.status.reason == reason
    assert sections[reason].startswith(f"`{decision.status.phase}`")
    assert shown["status"] == str(decision.status.phase).lower()
    if decision.status.phase is Phase.FAILED:
        assert shown["error"]["code"] == -32603
        assert shown["error"]["data"] == {"reason": reason}
        assert shown["error"]["message"] == shown["statusMessage"] == decision.status.message
    if decision.status.phase is Phase.COMPLETED and decision.status.result and decision.status.result.inline:
        is_error = '"isError":true' in decision.status.result.inline
        assert is_error == ("a tool error" in sections[reason])


@pytest.mark.parametrize("reason", OBSERVATIONS, ids=str)
def test_every_reason_is_shown_to_older_clients_and_to_held_calls_as_the_table_says(
    reason: Reason, sections: dict[str, str]
) -> None:
    over = task().model_copy(update={"status": decide(OBSERVATIONS[reason]).status})
    shown = task_members(over, elicitation=False, now=NOW)
    phase, is_tool_error = over.status.phase, "a tool error" in sections[reason]

    if phase is Phase.COMPLETED:
        assert shown["status"] == ("failed" if is_tool_error else "completed")
        assert ('"isError":true' in outcome_of(over)) == is_tool_error
    elif phase is Phase.FAILED:
        assert shown["status"] == "failed"
        with pytest.raises(TaskFailedError) as failed:
            outcome_of(over)
        assert failed.value.data == {"reason": reason}
    else:
        assert shown["status"] == "cancelled"
        with pytest.raises(TaskCancelledError):
            outcome_of(over)


def test_an_end_on_a_real_node_stands_in_the_list_of_the_test_that_the_page_names(
    page: Callable[[str], Any], sections: dict[str, str]
) -> None:
    tried = {reason for reason in sections if "[test_each_end_is_what_the_page_says]" in page(PAGE).section(reason)}

    assert tried == {str(ending.reason) for ending in ALL}


def test_every_reason_that_is_used_names_a_test_that_exists(
    page: Callable[[str], Any], sections: dict[str, str]
) -> None:
    here = page(PAGE)
    for reason, above in sections.items():
        tests = re.findall(r"^Test:\s+\[([^\]]+)\]\(([^)]+)\)$", here.section(reason), re.MULTILINE)
        assert len(tests) == (above != UNUSED), reason
        for name, target in tests:
            file = (here.path.parent / target).resolve()
            assert file.name == name or f"def {name}(" in file.read_text("utf-8"), (reason, name)
