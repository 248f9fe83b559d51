"""The rung about a result that a pod gave over the task endpoint.

A result that was taken ends its task, whatever its program does from then on. It is held against the output schema that
the Job carries: here where it stands in the report, by the server where it is in a Secret, which the operator does not
read. The server knows the tool as it is now, so it says which schema it used.
"""

from dataclasses import dataclass
from typing import Final

from mcptasks_crds import limits, schemas
from mcptasks_crds.jsontext import JsonTextError, members, parse
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Report, ResultSource, TaskResult

from .decision import ConfirmJob
from .results import log_tail, needs_log
from .situation import Situation
from .structured import Rejected, check
from .toolresults import says_error
from .verdicts import Ask, End, Verdict, failed

NOT_CHECKED: Final = "completed; what it gave was not held against its outputSchema, which was edited while it ran"
_NO_STRUCTURE: Final = "it has no structuredContent"


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """What there is to say of a result."""

    reason: Reason
    message: str


def gave_a_result(situation: Situation) -> Verdict | None:
    """The pod reported its result and the API server accepted it: that was first, whatever came after."""
    report = situation.status.report
    if report is None or not report.has_result:
        return None
    if situation.job is None and not situation.job_is_confirmed_missing:
        return Ask(need=ConfirmJob())  # the schema stands there
    try:
        judged = _judged(report, situation.execution.output_schema)
    except JsonTextError as error:
        return failed(Reason.RESULT_LOST, f"the result that the tool reported cannot be read: {error}")
    if judged.reason is not Reason.SUCCEEDED and (ask := needs_log(situation)) is not None:
        return ask
    return End(
        phase=Phase.COMPLETED,
        reason=judged.reason,
        message=limits.clip(judged.message, limits.MESSAGE_STORED_BYTES),
        result=TaskResult(source="report"),
        log_tail=log_tail(situation.log),
    )


def _judged(report: Report, schema: str | None) -> _Judged:
    if report.result_from is not None:
        return _judged_by_the_server(report.result_from, schema)
    assert report.result is not None
    if says_error(report.result):
        return _ERROR
    rejected = None if schema is None else _rejected(report.result, schema)
    return _GOOD if rejected is None else _breaks(rejected.why)


def _judged_by_the_server(source: ResultSource, schema: str | None) -> _Judged:
    if source.is_error:
        return _ERROR
    if schema is None:
        return _GOOD
    if source.schema_digest != _digest(schema):
        return _Judged(reason=Reason.SUCCEEDED, message=NOT_CHECKED)
    return _GOOD if source.violation is None else _breaks(source.violation)


def _rejected(result: str, schema: str) -> Rejected | None:
    structured = members(result).get("structuredContent")
    return Rejected(why=_NO_STRUCTURE) if structured is None else check(structured, schema)


def _digest(schema: str) -> str | None:
    try:
        document = parse(schema)
    except JsonTextError:
        return None
    return schemas.digest(document)


def _breaks(why: str) -> _Judged:
    return _Judged(reason=Reason.OUTPUT_INVALID, message=f"what the tool gave breaks its outputSchema: {why}")


_GOOD: Final = _Judged(reason=Reason.SUCCEEDED, message="completed")
_ERROR: Final = _Judged(reason=Reason.TOOL_ERROR, message="the tool reported an error")
