"""What the API server enforces of a task's promises, whoever writes: the server, the operator, a pod, or kubectl.

Keys are paths of fields below the object; "" is the object itself. `manifest` puts the rules there.
"""

from typing import Final

from pydantic.fields import FieldInfo

from . import limits
from .cel import (
    Rule,
    Rules,
    append_only,
    fits,
    grows,
    kept,
    never_taken_back,
    one_of,
    same,
    stored_bytes,
    unchanged,
    write_once,
)
from .phases import SUCCESSORS, Phase
from .task import TaskSpec, TaskStatus

TASK_IS_OVER: Final = "the task is over: what came of it does not change any more"
"""What the API server says to a late result, report or cancellation."""

MUTABLE_SPEC: Final = frozenset({"answers", "cancelRequested", "detached"})
"""What of a task's spec may change after its creation, each in one direction."""
OPEN_AFTER_END: Final = frozenset({"expiresAt"})
"""What of a task's status may change after its end: how long it is kept."""

_TERMINAL: Final = one_of(phase for phase in Phase if phase.is_terminal)


def _names(model: type[TaskSpec | TaskStatus]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _always_there(field: FieldInfo) -> bool:
    """Whether the API server itself sees to it that the field is there: it is required or has a default."""
    return field.is_required() or (field.default is not None and field.default_factory is None)


def _frozen_spec() -> tuple[Rule, ...]:
    """A new field of the spec is frozen until somebody decides otherwise."""
    fields = {field.alias or name: field for name, field in TaskSpec.model_fields.items()}
    return tuple(
        Rule(
            # Each `has` costs: these rules run at every write of the status, too.
            rule=f"self.{name} == oldSelf.{name}" if _always_there(field) else same(name),
            message=f"{name} does not change after the call: a task runs what was asked for",
            reason="FieldValueForbidden",
            field_path=f".{name}",
        )
        for name, field in fields.items()
        if name not in MUTABLE_SPEC
    )


def _phase_successors() -> str:
    steps = [
        f"(oldSelf == '{phase}' && self in {one_of(following for following in Phase if following in successors)})"
        for phase, successors in SUCCESSORS.items()
        if successors
    ]
    return " || ".join(["self == oldSelf", *steps])


def _agrees(field: str, phase: Phase) -> Rule:
    return Rule(
        rule=f"has(self.{field}) == (has(self.phase) && self.phase == '{phase}')",
        message=f"{field} and the phase {phase} come together, in one write",
        field_path=f".{field}",
    )


def _write_once(field: str, message: str) -> Rule:
    return Rule(rule=write_once(field), message=message, reason="FieldValueForbidden", field_path=f".{field}")


def _kept(field: str) -> Rule:
    return Rule(
        rule=kept(field), message=f"{field} cannot be removed", reason="FieldValueForbidden", field_path=f".{field}"
    )


def _fits(field: str, max_stored: int) -> Rule:
    """Stands at the parent, for a rule at the text itself would repeat the text in its message."""
    return Rule(
        rule=f"!has(self.{field}) || ({unchanged(field)}) || {fits(f'self.{field}', max_stored)}",
        message=f"{field} takes more than {max_stored} bytes as stored",
        field_path=f".{field}",
        on_creation=True,
    )


def _all_fit(field: str, texts: str, max_stored: int) -> Rule:
    """`texts` is the text of one entry, by its `key`."""
    total = f"self.{field}.map(key, {texts}).map(text, {stored_bytes('text')}).sum()"
    return Rule(
        rule=f"!has(self.{field}) || ({unchanged(field)}) || {total} <= {max_stored}",
        message=f"{field} take more than {max_stored} bytes as stored, all together",
        field_path=f".{field}",
        on_creation=True,
    )


def _keys(field: str, called: str) -> Rule:
    pattern = limits.QUESTION_KEY_PATTERN
    return Rule(
        rule=f"!has(self.{field}) || ({unchanged(field)}) || self.{field}.all(key, key.matches(r'{pattern}'))",
        message=f"a key of {called} must match {pattern}",
        field_path=f".{field}",
        on_creation=True,
    )


def _together(first: str, second: str) -> str:
    """Two texts fit into what a result may take."""
    return f"{stored_bytes(first)} + {stored_bytes(second)} <= {limits.RESULT_STORED_BYTES}"


_OBJECT: Final = (
    _kept("status"),
    Rule(
        rule="!has(self.spec.questions) || !has(self.status) || !has(self.status.report)"
        " || !has(self.status.report.questions)"
        " || !self.status.report.questions.exists(key, key in self.spec.questions)",
        message="a pod's question has another key than the tool's own: one answer would answer both",
        field_path=".status.report.questions",
    ),
    Rule(
        # Whoever reads the result by the server would else read any Secret of the namespace by it.
        rule="!has(self.status) || !has(self.status.report) || !has(self.status.report.resultFrom)"
        " || self.status.report.resultFrom.secretName.startsWith(self.metadata.name + '-result-')",
        message="the result is in a Secret whose name begins with the task's and -result-",
        field_path=".status.report.resultFrom",
    ),
)

_QUESTION_TEXTS: Final = "self.questions[key].message + self.questions[key].requestedSchema"


def _approvers(kind: str) -> str:
    """The names of a question's approvers, as one text."""
    approvers = "self.questions[key].approvers"
    return f" + (has({approvers}) && has({approvers}.{kind}) ? {approvers}.{kind}.join('') : '')"


_APPROVERS: Final = _approvers("users") + _approvers("groups")


def _optional(field: str) -> str:
    """A text of an answer, empty where it is absent."""
    return f"(has(self.answers[key].{field}) ? self.answers[key].{field} : '')"


_SPEC: Final = (
    *_frozen_spec(),
    Rule(
        rule="has(self.arguments) != has(self.argumentsFrom)",
        message="exactly one of arguments and argumentsFrom must be given",
    ),
    Rule(
        rule=f"!has(self.arguments) || bytes(self.arguments).size() <= {limits.ARGUMENTS_INLINE_BYTES}",
        message=f"arguments take more than {limits.ARGUMENTS_INLINE_BYTES} bytes: give argumentsFrom, a Secret",
        field_path=".arguments",
    ),
    Rule(
        rule=never_taken_back("cancelRequested"),
        message="a cancellation cannot be taken back",
        reason="FieldValueForbidden",
        field_path=".cancelRequested",
    ),
    Rule(
        rule=never_taken_back("detached"),
        message="a task's id that was handed out cannot be taken back",
        reason="FieldValueForbidden",
        field_path=".detached",
    ),
    Rule(
        rule=append_only("answers"),
        message="an answer cannot be changed or removed: the first one for a key stays",
        reason="FieldValueForbidden",
        field_path=".answers",
    ),
    _keys("answers", "answers"),
    _all_fit(
        "answers",
        f"self.answers[key].response + {_optional('by')} + {_optional('reason')}",
        limits.ANSWERS_STORED_BYTES,
    ),
    _keys("questions", "the tool's questions"),
    _all_fit("questions", _QUESTION_TEXTS + _APPROVERS, limits.TOOL_QUESTIONS_STORED_BYTES),
)

_HAS_PROGRESS: Final = "has({0}.report) && has({0}.report.progress)"
_OLD_PROGRESS: Final = _HAS_PROGRESS.format("oldSelf")
_NEW_PROGRESS: Final = _HAS_PROGRESS.format("self")
_ANOTHER_POD: Final = (
    "has(self.report.progress.podUID) && (!has(oldSelf.report.progress.podUID) || "
    "self.report.progress.podUID != oldSelf.report.progress.podUID)"
)

_GIVEN: Final = "(has({0}.report) && (has({0}.report.result) || has({0}.report.resultFrom)))"

_STATUS: Final = (
    Rule(
        rule=f"!(has(oldSelf.phase) && oldSelf.phase in {_TERMINAL}) || ("
        + " && ".join(f"({same(name)})" for name in _names(TaskStatus) if name not in OPEN_AFTER_END)
        + ")",
        message=TASK_IS_OVER,
        reason="FieldValueForbidden",
    ),
    _kept("phase"),
    _agrees("result", Phase.COMPLETED),
    _agrees("error", Phase.FAILED),
    Rule(
        rule=f"!(has(self.phase) && self.phase == '{Phase.STOPPING}') || has(self.stopping)",
        message=f"the phase {Phase.STOPPING} needs stopping: why and since when",
        reason="FieldValueRequired",
        field_path=".stopping",
    ),
    _kept("job"),
    _write_once("tool", "the tool that the task runs is written once"),
    _write_once("stopping", "why and since when a task is being stopped is written once"),
    Rule(
        rule=grows("expiresAt"),
        message="expiresAt never moves back: a client was told that long",
        reason="FieldValueForbidden",
        field_path=".expiresAt",
    ),
    Rule(
        rule=grows("attempts"),
        message="attempts never become fewer",
        reason="FieldValueForbidden",
        field_path=".attempts",
    ),
    _kept("report"),
    Rule(
        rule=f"!has(oldSelf.stopping) || {_GIVEN.format('oldSelf')} || !{_GIVEN.format('self')}",
        message="the task is being stopped: no result is taken any more",
        reason="FieldValueForbidden",
        field_path=".report",
    ),
    Rule(
        rule="!has(self.result) || has(self.result.inline) !="
        " (has(self.report) && (has(self.report.result) || has(self.report.resultFrom)))",
        message="a result is kept once: inline, or in the report with result.from: report",
        field_path=".result",
    ),
    Rule(
        rule=f"!({_OLD_PROGRESS}) || ({_NEW_PROGRESS} && ("
        f"self.report.progress.progress >= oldSelf.report.progress.progress || ({_ANOTHER_POD})))",
        message="progress never falls within one attempt",
        reason="FieldValueForbidden",
        field_path=".report.progress",
    ),
    Rule(
        rule=f"!({_NEW_PROGRESS} && has(self.report.progress.podUID))"
        f" || ({_OLD_PROGRESS} && self.report.progress == oldSelf.report.progress)"
        " || (has(self.job) && has(self.job.podUID) && self.job.podUID == self.report.progress.podUID)",
        message="progress is taken from the pod of the current attempt alone",
        reason="FieldValueForbidden",
        field_path=".report.progress",
    ),
    _fits("logTail", limits.LOG_TAIL_STORED_BYTES),
    Rule(
        rule=append_only("answers"),
        message="how a question was closed cannot be changed or removed",
        reason="FieldValueForbidden",
        field_path=".answers",
    ),
    _keys("answers", "answers"),
    _all_fit(
        "answers",
        f"{_optional('by')} + {_optional('askedAgainAs')}",
        limits.ANSWERS_SEEN_STORED_BYTES,
    ),
    # Looked at once: where the task ends. The report's own rule sees to a result that the pod itself gives.
    Rule(
        rule="!has(self.result) || !has(self.result.inline) || has(oldSelf.result)"
        " || !has(self.report) || !has(self.report.content)"
        f" || {_together('self.report.content', 'self.result.inline')}",
        message=f"the result and the parts before it take more than {limits.RESULT_STORED_BYTES} bytes as stored",
        field_path=".result",
    ),
)

TASK_RULES: Final[Rules] = {
    "": _OBJECT,
    "spec": _SPEC,
    "status": _STATUS,
    "status.phase": (
        Rule(
            rule=_phase_successors(),
            message="the phase cannot follow the one that stands",
            reason="FieldValueForbidden",
        ),
    ),
    "status.job": (
        _write_once("name", "a task has one Job: its name is written once"),
        _write_once("uid", "a task has one Job: its uid is written once"),
    ),
    "status.result": (
        Rule(
            rule="has(self.inline) != has(self.from)",
            message="exactly one of inline and from must be given",
        ),
        _fits("inline", limits.RESULT_STORED_BYTES),
    ),
    "status.report": (
        _write_once("result", "a result is given once"),
        _write_once("resultFrom", "a result is given once"),
        Rule(
            rule="!has(self.result) || !has(self.resultFrom)",
            message="exactly one of result and resultFrom may be given",
            field_path=".resultFrom",
        ),
        Rule(
            rule=append_only("questions"),
            message="a question cannot be changed or removed",
            reason="FieldValueForbidden",
            field_path=".questions",
        ),
        _keys("questions", "questions"),
        _all_fit(
            "questions",
            _QUESTION_TEXTS,
            limits.QUESTIONS_STORED_BYTES,
        ),
        _fits("result", limits.RESULT_STORED_BYTES),
        _kept("content"),
        Rule(
            # A part is added inside the array's end: what was there before the closing bracket stays there.
            rule="!has(oldSelf.content) || !has(self.content) || self.content == oldSelf.content"
            " || self.content.startsWith(oldSelf.content.substring(0, oldSelf.content.size() - 1))",
            message="parts of the result are only added",
            reason="FieldValueForbidden",
            field_path=".content",
        ),
        Rule(
            rule="!has(oldSelf.contentFrom) || (has(self.contentFrom)"
            " && self.contentFrom.posts >= oldSelf.contentFrom.posts"
            " && self.contentFrom.bytes >= oldSelf.contentFrom.bytes"
            " && has(self.content) == has(oldSelf.content)"
            " && (!has(self.content) || self.content == oldSelf.content))",
            message="parts of the result are only added, and behind those that are in Secrets",
            reason="FieldValueForbidden",
            field_path=".contentFrom",
        ),
        Rule(
            rule="!has(self.contentFrom)"
            " || (has(self.contentKeys) && self.contentFrom.posts <= self.contentKeys.size())",
            message="contentFrom counts more posts than there are",
            field_path=".contentFrom",
        ),
        Rule(
            rule="!has(self.content) || (has(oldSelf.content) && self.content == oldSelf.content)"
            f" || {fits('self.content', limits.RESULT_STORED_BYTES)}",
            message=f"content takes more than {limits.RESULT_STORED_BYTES} bytes as stored",
            field_path=".content",
        ),
        Rule(
            rule="!has(self.content) || !has(self.result)"
            " || (has(oldSelf.content) && has(oldSelf.result) && self.content == oldSelf.content)"
            f" || {_together('self.content', 'self.result')}",
            message=f"result and content take more than {limits.RESULT_STORED_BYTES} bytes as stored, both together",
            field_path=".result",
        ),
    ),
    "status.report.resultFrom": (_fits("violation", limits.VIOLATION_STORED_BYTES),),
    "status.report.tooLarge": (
        _fits("head", limits.REFUSED_END_STORED_BYTES),
        _fits("tail", limits.REFUSED_END_STORED_BYTES),
    ),
}
