"""What becomes of a task whose pod gave its result over the task endpoint, or one that was too large."""

import json
from typing import Any

import pytest

from mcptasks_crds import limits
from mcptasks_crds.outcomes import result_text
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.schemas import digest
from mcptasks_crds.task import Report, ResultSource, TaskResult, TaskStatus, TooLarge
from mcptasks_operator.decide import decide
from mcptasks_operator.decision import ConfirmJob, ReadLog
from mcptasks_operator.observation import Absent, Observation
from mcptasks_operator.reported import NOT_CHECKED
from mcptasks_operator.samples import ended, execution, job, log, observation, pod, running, status, task

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
FROZEN = json.dumps(SCHEMA)
REFUSED = TooLarge(bytes=1_300_000, limit=limits.LARGE_RESULT_BYTES, head="it began so", tail="and ended so")


def seen(report: Report, *, schema: str | None = None, **fields: Any) -> Observation:
    """A running task with that report."""
    made = job(execution=execution(output_schema=schema))
    return observation(**{"task": task(status(report=report)), "job": made, "log": log("a line\n"), **fields})


def kept(**fields: Any) -> Report:
    """The report of a result that is in a Secret."""
    return Report(result_from=ResultSource(**{"secret_name": "mt-a-result-0", "bytes": 700_000, **fields}))


def outcome(observed: Observation) -> tuple[Phase | None, Reason | None]:
    decided = decide(observed).status
    return decided.phase, decided.reason


def given(**members: Any) -> Report:
    return Report(result=json.dumps({"content": [{"type": "text", "text": "see there"}], **members}))


GOOD = (Phase.COMPLETED, Reason.SUCCEEDED)
INVALID = (Phase.COMPLETED, Reason.OUTPUT_INVALID)
ERROR = (Phase.COMPLETED, Reason.TOOL_ERROR)
LOST = (Phase.FAILED, Reason.RESULT_TOO_LARGE)


@pytest.mark.parametrize(
    ("report", "expected", "says"),
    [
        (given(structuredContent={"n": 1}), GOOD, "completed"),
        (given(structuredContent={"n": 1.5}), INVALID, "/n: 1.5 is not of type"),
        (given(structuredContent={}), INVALID, "/n: is required"),
        (given(), INVALID, "it has no structuredContent"),
        (given(structuredContent=[1]), INVALID, "must be a JSON object and is an array"),
        (given(isError=True), ERROR, "the tool reported an error"),
        (given(structuredContent={"n": "x"}, isError=True), ERROR, "the tool reported an error"),
        (Report(result='{"content":[],"structuredContent":{"n":123456789012345678901234567890}}'), GOOD, "completed"),
    ],
)
def test_a_result_in_the_report_is_held_against_the_schema_that_the_job_carries(
    report: Report, expected: tuple[Phase, Reason], says: str
) -> None:
    decided = decide(seen(report, schema=FROZEN)).status

    assert (decided.phase, decided.reason) == expected
    assert says in (decided.message or "")
    assert decided.result == TaskResult(source="report")


def test_a_tool_without_a_schema_may_give_what_it_likes() -> None:
    assert outcome(seen(given(structuredContent={"n": "x"}))) == GOOD
    assert outcome(seen(given())) == GOOD


def test_a_result_that_breaks_the_schema_is_shown_as_an_error_that_says_where_and_what() -> None:
    decided = decide(seen(given(structuredContent={"n": 1.50}), schema=FROZEN)).status
    shown = json.loads(result_text(decided) or "")

    assert shown["isError"] is True
    assert "structuredContent" not in shown
    assert [part["text"].partition(":")[0] for part in shown["content"]] == [
        "what the tool gave breaks its outputSchema",
        "see there",
    ]


def test_without_words_of_its_own_such_a_result_is_shown_as_it_was_written() -> None:
    report = Report(result='{"content":[],"structuredContent":{"n":1.50,"s":"é"}}')
    shown = json.loads(result_text(decide(seen(report, schema=FROZEN)).status) or "")

    assert shown["content"][1] == {"type": "text", "text": '{"n":1.50,"s":"é"}'}


@pytest.mark.parametrize(
    ("report", "expected", "says"),
    [
        (kept(), GOOD, NOT_CHECKED),
        (kept(schema_digest=digest(SCHEMA)), GOOD, "completed"),
        (kept(schema_digest=digest(SCHEMA), violation="/n: wrong"), INVALID, "breaks its outputSchema: /n: wrong"),
        (kept(schema_digest=digest({}), violation="/m: wrong"), GOOD, NOT_CHECKED),
        (kept(is_error=True), ERROR, "the tool reported an error"),
    ],
)
def test_of_a_result_in_a_secret_the_servers_word_counts_if_it_is_about_the_same_schema(
    report: Report, expected: tuple[Phase, Reason], says: str
) -> None:
    decided = decide(seen(report, schema=FROZEN)).status

    assert (decided.phase, decided.reason) == expected
    assert says in (decided.message or "")
    assert decided.result == TaskResult(source="report")


def test_what_the_server_found_by_a_schema_that_the_task_was_called_without_does_not_count() -> None:
    assert outcome(seen(kept(schema_digest=digest(SCHEMA), violation="/n: wrong"))) == GOOD


@pytest.mark.parametrize("frozen", ["{", "[]", '{"type": 3}'])
def test_a_schema_that_somebody_has_spoilt_keeps_no_task_from_ending(frozen: str) -> None:
    for report in (kept(schema_digest=digest(SCHEMA)), given(structuredContent={"n": 1}), given()):
        assert decide(seen(report, schema=frozen)).status.phase is Phase.COMPLETED


@pytest.mark.parametrize("report", [given(), kept()])
def test_the_job_is_looked_for_before_a_result_is_judged_without_its_schema(report: Report) -> None:
    unknown = seen(report, job=Absent.UNKNOWN)
    gone = seen(report, job=Absent.CONFIRMED)

    assert decide(unknown).need == ConfirmJob()
    assert outcome(gone) == GOOD


@pytest.mark.parametrize("report", [given(isError=True), kept(is_error=True)])
def test_the_log_is_kept_beside_an_error_that_was_reported(report: Report) -> None:
    observed = seen(report, log=None)

    assert isinstance(decide(observed).need, ReadLog)
    assert decide(seen(report)).status.log_tail == "a line\n"


def test_the_log_is_kept_beside_a_result_that_breaks_its_schema() -> None:
    assert decide(seen(given(), schema=FROZEN)).status.log_tail == "a line\n"


@pytest.mark.parametrize("report", [given(), kept()])
def test_the_log_of_a_success_is_not_waited_for(report: Report) -> None:
    decision = decide(seen(report, log=None))

    assert decision.need is None
    assert decision.status.log_tail is None


def test_an_error_whose_pod_is_gone_ends_without_a_log() -> None:
    assert outcome(seen(given(isError=True), pods=(), log=None)) == ERROR


def exits(code: int, message: str = "", *, report: Report | None = None) -> TaskStatus:
    """The end of a program whose result was too large."""
    report = report or Report(too_large=REFUSED)
    return decide(seen(report, pods=(pod(ended(code, message)),), log=log("what it printed\n"))).status


def test_a_program_that_ends_well_though_its_result_was_refused_has_lost_it() -> None:
    decided = exits(0)

    assert (decided.phase, decided.reason) == LOST
    assert decided.error is not None
    for words in ("1300000 bytes", str(limits.LARGE_RESULT_BYTES), REFUSED.head, REFUSED.tail):
        assert words in decided.error.message
    assert decided.log_tail == "what it printed\n"


def test_a_program_that_fails_because_of_that_says_so_too() -> None:
    decided = exits(22)
    shown = result_text(decided) or ""

    assert (decided.phase, decided.reason) == (Phase.COMPLETED, Reason.EXIT_CODE)
    assert json.loads(shown)["isError"] is True
    assert all(words in shown for words in ("what it printed", "exit code 22", REFUSED.head, REFUSED.tail))


def test_a_program_that_writes_another_result_instead_has_that_one() -> None:
    decided = exits(0, "see the bucket")

    assert (decided.phase, decided.reason) == GOOD
    assert "see the bucket" in (result_text(decided) or "")


def test_a_program_that_gives_a_smaller_result_instead_has_that_one() -> None:
    report = Report(too_large=REFUSED, result='{"content":[]}')

    assert outcome(seen(report, pods=(pod(running()),))) == GOOD


def test_the_words_about_a_result_that_was_refused_always_fit() -> None:
    ends = {"head": "<" * 85, "tail": "<" * 85}  # six bytes each as stored
    decided = exits(0, report=Report(too_large=TooLarge(bytes=2**62, limit=limits.LARGE_RESULT_BYTES, **ends)))

    assert ends["tail"] in (decided.message or "")
    assert limits.stored_bytes(decided.message or "") <= limits.MESSAGE_STORED_BYTES
