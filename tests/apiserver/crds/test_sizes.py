"""The largest task and status that can be written are created, ended and read back equal."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptasks_crds import limits, names
from mcptasks_crds.kube import TASKS, Kube, RejectedError
from mcptasks_crds.limits import keep_head, keep_tail, stored_bytes
from mcptasks_crds.phases import Phase
from mcptasks_crds.questions import QuestionTime, TaskQuestion
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import (
    Answer,
    ContentSource,
    JobSeen,
    McpTask,
    Progress,
    Question,
    Report,
    Stopping,
    TaskError,
    TaskResult,
    TaskSpec,
    TaskStatus,
    TooLarge,
    ToolReference,
    ToolSeen,
)

MakeTask = Callable[..., Awaitable[str]]

pytestmark = pytest.mark.apiserver

NOW: Final = datetime(2026, 12, 1, 12, 0, 0, 999000, tzinfo=UTC)
EVERYTHING: Final = '<>&"\\\0\x01\x1f\x7f\b\f\n\r\t\u2028\u2029é€😀\uffff'
FILLINGS: Final = {
    "six bytes a character": "<",
    "control characters": "\0",
    "line separators": "\u2028",
    "quotes": '"',
    "emoji": "😀",
    "plain": "x",
    "all kinds": EVERYTHING,
}


class Filling:
    """Texts of the largest size that a limit allows, all of one stuff."""

    def __init__(self, stuff: str) -> None:
        self._stuff = stuff

    def stored(self, size: int) -> str:
        """As a writer cuts it: so many bytes as stored."""
        return keep_head("".join(islice(cycle(self._stuff), size)), size)

    def characters(self, count: int) -> str:
        """As the API server would still take it: so many characters."""
        return "".join(islice(cycle(self._stuff), count))

    def utf8(self, size: int) -> str:
        """So many bytes of UTF-8."""
        return self.characters(size).encode()[:size].decode(errors="ignore")


def key(number: int) -> str:
    return f"{number:064d}"


def largest_spec(filling: Filling) -> TaskSpec:
    of_all = limits.ANSWERS_STORED_BYTES // limits.MAX_ANSWERS
    answer = Answer(response=filling.stored(of_all - 6), by=filling.stored(6) or "x")
    of_questions = limits.TOOL_QUESTIONS_STORED_BYTES // limits.MAX_TOOL_QUESTIONS
    question = TaskQuestion(
        message=filling.stored(of_questions // 2),
        requested_schema=filling.stored(of_questions // 2),
        when=QuestionTime.BEFORE_START,
        expiry_seconds=2_592_000,
    )
    return TaskSpec(
        tool=ToolReference(name="t" * 128, uid=filling.characters(64), generation=2**63 - 1),
        arguments=filling.utf8(limits.ARGUMENTS_INLINE_BYTES),
        caller=filling.characters(limits.CALLER_STORED_BYTES),
        retention_seconds=31_536_000,
        poll_interval_ms=3_600_000,
        questions={key(number): question for number in range(limits.MAX_TOOL_QUESTIONS)},
        progress_token=filling.characters(limits.PROGRESS_TOKEN_STORED_BYTES),
        arguments_digest="f" * 64,
        answers={key(number): answer for number in range(limits.MAX_ANSWERS)},
        cancel_requested=True,
        detached=True,
    )


def largest_report(filling: Filling) -> Report:
    of_all = limits.QUESTIONS_STORED_BYTES // limits.MAX_QUESTIONS
    question = Question(message=filling.stored(of_all // 2), requested_schema=filling.stored(of_all // 2), asked_at=NOW)
    return Report(
        progress=Progress(
            progress=-1.7976931348623157e308,
            total=1.7976931348623157e308,
            message=filling.characters(limits.PROGRESS_MESSAGE_STORED_BYTES),
            display=filling.characters(limits.PROGRESS_DISPLAY_STORED_BYTES),
            pod_uid=filling.characters(64),
        ),
        questions={key(100 + number): question for number in range(limits.MAX_QUESTIONS)},
        content_keys=tuple(f"{number:016x}" for number in range(limits.MAX_CONTENT_POSTS)),
        content_from=ContentSource(posts=limits.MAX_CONTENT_POSTS, bytes=2**63 - 1),
        result=filling.stored(limits.RESULT_STORED_BYTES),
        too_large=TooLarge(
            bytes=2**63 - 1,
            limit=2**63 - 1,
            head=filling.stored(limits.REFUSED_END_STORED_BYTES),
            tail=filling.stored(limits.REFUSED_END_STORED_BYTES),
        ),
    )


def largest_status(filling: Filling) -> TaskStatus:
    return TaskStatus(
        phase=Phase.INPUT_REQUIRED,
        message=filling.characters(limits.MESSAGE_STORED_BYTES),
        last_updated_at=NOW,
        started_at=NOW,
        expires_at=NOW,
        attempts=2**63 - 1,
        exit_code=-(2**31),
        tool=ToolSeen(resource=filling.characters(253), uid=filling.characters(64), generation=2**63 - 1),
        job=JobSeen(
            name=filling.characters(253),
            uid=filling.characters(64),
            pod_name=filling.characters(253),
            pod_uid=filling.characters(64),
        ),
        stopping=Stopping(reason=Reason.RUN_LIMIT, at=NOW),
        log_tail=keep_tail(filling.characters(limits.LOG_TAIL_STORED_BYTES), limits.LOG_TAIL_STORED_BYTES),
        report=largest_report(filling),
    )


ENDS: Final = {
    "completed by its report": {
        "phase": Phase.COMPLETED,
        "reason": Reason.SUCCEEDED,
        "finished_at": NOW,
        "result": TaskResult(source="report"),
    },
    "failed": {"phase": Phase.FAILED, "reason": Reason.RESULT_TOO_LARGE, "finished_at": NOW},
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("stuff", FILLINGS)
@pytest.mark.requirement("failures/f1-13", "failures/f2-16")
async def test_the_largest_task_is_created_ended_and_read_back_equal(
    stuff: str, end: str, kube: Kube, namespace: str
) -> None:
    filling = Filling(FILLINGS[stuff])
    spec, alive = largest_spec(filling), largest_status(filling)
    error = TaskError(code=-32603, message=filling.characters(limits.MESSAGE_STORED_BYTES))
    ended = alive.model_copy(update=ENDS[end] | ({"error": error} if end == "failed" else {}))
    alive_fields = alive.manifest()
    ending = {field: value for field, value in ended.manifest().items() if alive_fields.get(field) != value}
    name = names.new_task_id()
    asked = {"metadata": {"name": name}, "spec": spec.model_copy(update={"answers": {}}).manifest()}
    await kube.create(TASKS, namespace, {"apiVersion": names.API_VERSION, "kind": names.TASK_KIND, **asked})
    for number in range(14):  # each approver with a client of its own, so that the managed fields grow
        some = dict(islice(spec.answers.items(), number * 6, number * 6 + 6))
        answers = {"spec": {"answers": {each: answer.manifest() for each, answer in some.items()}}}
        await kube.patch(TASKS, namespace, name, answers, fieldManager=f"{number:0128d}")
    for status in ({"job": alive_fields["job"]}, {"report": alive_fields.pop("report")}, alive_fields, ending):
        await kube.patch(TASKS, namespace, name, {"status": status}, subresource="status")

    raw = await kube.request("GET", TASKS.path(namespace, name))
    read = McpTask.model_validate_json(raw)
    assert read.spec == spec
    assert read.status == ended
    metadata = json.loads(raw)["metadata"]
    assert len(json.dumps(metadata)) < limits.METADATA_STORED_BYTES
    # The API server answers with the bytes that it stores, the resource version aside.
    assert limits.LOG_TAIL_STORED_BYTES < len(raw) < limits.OBJECT_STORED_BYTES
    await kube.patch(TASKS, namespace, name, {"metadata": {"labels": {"still": "editable"}}})


@given(text=st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(EVERYTHING)), max_size=300))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_the_api_server_takes_as_many_bytes_as_we_count(text: str, kube: Kube, namespace: str) -> None:
    async def written(arguments: str) -> bytes:
        task = {
            "apiVersion": names.API_VERSION,
            "kind": names.TASK_KIND,
            "metadata": {"name": "sized"},
            "spec": {"tool": {"name": "build"}, "arguments": arguments},
        }
        return await kube.request("POST", TASKS.path(namespace), body=task, query={"dryRun": "All"})

    empty, full = await written("{}"), await written("{}" + text)
    assert json.loads(full)["spec"]["arguments"] == "{}" + text
    assert len(full) - len(empty) == stored_bytes(text)


@pytest.mark.parametrize("character", sorted(EVERYTHING))
async def test_the_rule_counts_as_we_count(character: str, kube: Kube, namespace: str, make_task: MakeTask) -> None:
    """The longest log that fits by our count is taken, and one byte more is not."""
    name = await make_task(status={"phase": "Running"})
    log = Filling(character).stored(limits.LOG_TAIL_STORED_BYTES)
    log += "x" * (limits.LOG_TAIL_STORED_BYTES - stored_bytes(log))
    for text, accepted in ((log, True), (log + "x", False)):
        patch = {"status": {"logTail": text}}
        path = TASKS.path(namespace, name, subresource="status")
        answer = kube.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
        assert await taken(answer) is accepted


async def taken(answer: Awaitable[bytes]) -> bool:
    try:
        await answer
    except RejectedError:
        return False
    return True
