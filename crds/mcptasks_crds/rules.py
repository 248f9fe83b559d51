"""What the API server enforces of a task's promises, whoever writes: the server, the operator, a pod, or kubectl.

Keys are paths of fields below the object; "" is the object itself. `manifest` puts the rules there. What a field's
value may become stands at the field; whether it may go, and what it has to do with others, at its parent: see `cel` for
what a rule costs. All of them are looked at in each write of the status, those of the spec too.
"""

from typing import Final

from pydantic.fields import FieldInfo

from . import limits
from .cel import (
    APPEND_ONLY,
    CONSTANT,
    GROWS,
    NEVER_TAKEN_BACK,
    UNCHANGED,
    Reason,
    Rule,
    Rules,
    fits,
    is_phase,
    kept,
    one_of,
    same,
    stored_bytes,
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


def _frozen_fields() -> dict[str, tuple[Rule, ...]]:
    """A new field of the spec is frozen until somebody decides otherwise: by path, each field's rule."""
    fields = {field.alias or name: field for name, field in TaskSpec.model_fields.items()}
    frozen = {name: field for name, field in fields.items() if name not in MUTABLE_SPEC}
    return {f"spec.{name}": (_at(CONSTANT, _frozen(name)),) for name in frozen} | {
        "spec": tuple(
            _of(name, f"has(self.{name}) == has(oldSelf.{name})", _frozen(name))
            for name, field in frozen.items()
            if not _always_there(field)
        )
    }


def _frozen(name: str) -> str:
    return f"{name} does not change after the call: a task runs what was asked for"


def _at(rule: str, message: str, *, on_creation: bool = False) -> Rule:
    """A rule that stands at the field itself. It does not repeat the field's value where it refuses it."""
    return Rule(rule=rule, message=message, reason="FieldValueForbidden", on_creation=on_creation)


def _of(field: str, rule: str, message: str, *, reason: Reason = "FieldValueForbidden") -> Rule:
    """A rule about a field that stands at its parent, for it is about whether the field is there, or others beside."""
    return Rule(rule=rule, message=message, reason=reason, field_path=f".{field}")


def _phase_successors() -> str:
    steps = [
        f"(oldSelf == '{phase}' && self in {one_of(following for following in Phase if following in successors)})"
        for phase, successors in SUCCESSORS.items()
        if successors
    ]
    return " || ".join(["self == oldSelf", *steps])


def _agrees(field: str, phase: Phase) -> Rule:
    message = f"{field} and the phase {phase} come together, in one write"
    return _of(field, f"has(self.{field}) == ({is_phase(phase)})", message, reason="FieldValueInvalid")


def _kept(field: str, message: str = "", *, is_rare: bool = False) -> Rule:
    return _of(field, kept(field, is_rare=is_rare), message or f"{field} cannot be removed")


def _fits(field: str, max_stored: int) -> Rule:
    message = f"{field} takes more than {max_stored} bytes as stored"
    return _at(f"({UNCHANGED}) || {fits('self', max_stored)}", message, on_creation=True)


def _all_fit(field: str, texts: str, max_stored: int) -> Rule:
    """`texts` is the text of one entry, by its `key`."""
    total = f"self.map(key, {texts}).map(text, {stored_bytes('text')}).sum()"
    message = f"{field} take more than {max_stored} bytes as stored, all together"
    return _at(f"({UNCHANGED}) || {total} <= {max_stored}", message, on_creation=True)


def _keys(called: str) -> Rule:
    pattern = limits.QUESTION_KEY_PATTERN
    rule = f"({UNCHANGED}) || self.all(key, key.matches(r'{pattern}'))"
    return _at(rule, f"a key of {called} must match {pattern}", on_creation=True)


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

_QUESTION_TEXTS: Final = "self[key].message + self[key].requestedSchema"


def _approvers(kind: str) -> str:
    """The names of a question's approvers, as one text."""
    approvers = "self[key].approvers"
    return f" + (has({approvers}) && has({approvers}.{kind}) ? {approvers}.{kind}.join('') : '')"


_APPROVERS: Final = _approvers("users") + _approvers("groups")


def _optional(field: str) -> str:
    """A text of an answer, empty where it is absent."""
    return f"(has(self[key].{field}) ? self[key].{field} : '')"


_FIRST_ANSWER_STAYS: Final = "an answer cannot be changed or removed: the first one for a key stays"

_FROZEN: Final = _frozen_fields()
_SPEC: Final[Rules] = _FROZEN | {
    "spec": (
        *_FROZEN["spec"],
        Rule(
            rule="has(self.arguments) != has(self.argumentsFrom)",
            message="exactly one of arguments and argumentsFrom must be given",
        ),
        _kept("answers", _FIRST_ANSWER_STAYS, is_rare=True),
    ),
    "spec.arguments": (
        *_FROZEN["spec.arguments"],
        _at(
            f"bytes(self).size() <= {limits.ARGUMENTS_INLINE_BYTES}",
            f"arguments take more than {limits.ARGUMENTS_INLINE_BYTES} bytes: give argumentsFrom, a Secret",
        ),
    ),
    "spec.cancelRequested": (_at(NEVER_TAKEN_BACK, "a cancellation cannot be taken back"),),
    "spec.detached": (_at(NEVER_TAKEN_BACK, "a task's id that was handed out cannot be taken back"),),
    "spec.answers": (
        _at(APPEND_ONLY, _FIRST_ANSWER_STAYS),
        _keys("answers"),
        _all_fit(
            "answers",
            f"self[key].response + {_optional('by')} + {_optional('reason')}",
            limits.ANSWERS_STORED_BYTES,
        ),
    ),
    "spec.questions": (
        *_FROZEN["spec.questions"],
        _keys("the tool's questions"),
        _all_fit("questions", _QUESTION_TEXTS + _APPROVERS, limits.TOOL_QUESTIONS_STORED_BYTES),
    ),
}

_GIVEN: Final = "(has({0}.report) && (has({0}.report.result) || has({0}.report.resultFrom)))"
_TOOL_ONCE: Final = "the tool that the task runs is written once"
_STOPPING_ONCE: Final = "why and since when a task is being stopped is written once"
_NEVER_BACK: Final = "expiresAt never moves back: a client was told that long"
_NEVER_FEWER: Final = "attempts never become fewer"
_CLOSED_ONCE: Final = "how a question was closed cannot be changed or removed"
_GIVEN_ONCE: Final = "a result is given once"
_ASKED_ONCE: Final = "a question cannot be changed or removed"
_NEVER_FALLS: Final = "progress never falls within one attempt"

_STATUS: Final = (
    Rule(
        rule=f"!(oldSelf.?phase.orValue('') in {_TERMINAL}) || ("
        + " && ".join(f"({same(name)})" for name in _names(TaskStatus) if name not in OPEN_AFTER_END)
        + ")",
        message=TASK_IS_OVER,
        reason="FieldValueForbidden",
    ),
    _kept("phase"),
    _agrees("result", Phase.COMPLETED),
    _agrees("error", Phase.FAILED),
    _of(
        "stopping",
        f"!({is_phase(Phase.STOPPING)}) || has(self.stopping)",
        f"the phase {Phase.STOPPING} needs stopping: why and since when",
        reason="FieldValueRequired",
    ),
    _kept("job"),
    _kept("tool", _TOOL_ONCE),
    _kept("stopping", _STOPPING_ONCE, is_rare=True),
    _kept("expiresAt", _NEVER_BACK),
    _kept("attempts", _NEVER_FEWER),
    _kept("report", is_rare=True),
    _of(
        "report",
        f"!has(oldSelf.stopping) || {_GIVEN.format('oldSelf')} || !{_GIVEN.format('self')}",
        "the task is being stopped: no result is taken any more",
    ),
    _of(
        "result",
        "!has(self.result) || has(self.result.inline) !="
        " (has(self.report) && (has(self.report.result) || has(self.report.resultFrom)))",
        "a result is kept once: inline, or in the report with result.from: report",
        reason="FieldValueInvalid",
    ),
    _of(
        "report.progress",
        "!has(self.report) || !has(self.report.progress) || !has(self.report.progress.podUID)"
        " || (has(oldSelf.report) && has(oldSelf.report.progress)"
        " && self.report.progress == oldSelf.report.progress)"
        " || (has(self.job) && has(self.job.podUID) && self.job.podUID == self.report.progress.podUID)",
        "progress is taken from the pod of the current attempt alone",
    ),
    _kept("answers", _CLOSED_ONCE, is_rare=True),
    # Looked at once: where the task ends. The report's own rule sees to a result that the pod itself gives.
    _of(
        "result",
        "!has(self.report) || !has(self.report.content)"
        " || !has(self.result) || !has(self.result.inline) || has(oldSelf.result)"
        f" || {_together('self.report.content', 'self.result.inline')}",
        f"the result and the parts before it take more than {limits.RESULT_STORED_BYTES} bytes as stored",
        reason="FieldValueInvalid",
    ),
)

_REPORT: Final = (
    _kept("progress", _NEVER_FALLS),
    _kept("result", _GIVEN_ONCE, is_rare=True),
    _kept("resultFrom", _GIVEN_ONCE, is_rare=True),
    _of(
        "resultFrom",
        "!has(self.result) || !has(self.resultFrom)",
        "exactly one of result and resultFrom may be given",
        reason="FieldValueInvalid",
    ),
    _kept("questions", _ASKED_ONCE, is_rare=True),
    _kept("content", is_rare=True),
    _of(
        "contentFrom",
        "!has(oldSelf.contentFrom) || (has(self.contentFrom)"
        " && self.contentFrom.posts >= oldSelf.contentFrom.posts"
        " && self.contentFrom.bytes >= oldSelf.contentFrom.bytes"
        " && has(self.content) == has(oldSelf.content)"
        " && (!has(self.content) || self.content == oldSelf.content))",
        "parts of the result are only added, and behind those that are in Secrets",
    ),
    _of(
        "contentFrom",
        "!has(self.contentFrom) || (has(self.contentKeys) && self.contentFrom.posts <= self.contentKeys.size())",
        "contentFrom counts more posts than there are",
        reason="FieldValueInvalid",
    ),
    _of(
        "result",
        "!has(self.content) || !has(self.result)"
        " || (has(oldSelf.content) && has(oldSelf.result) && self.content == oldSelf.content)"
        f" || {_together('self.content', 'self.result')}",
        f"result and content take more than {limits.RESULT_STORED_BYTES} bytes as stored, both together",
        reason="FieldValueInvalid",
    ),
)

TASK_RULES: Final[Rules] = {
    "": _OBJECT,
    **_SPEC,
    "status": _STATUS,
    "status.phase": (_at(_phase_successors(), "the phase cannot follow the one that stands"),),
    "status.tool": (_at(CONSTANT, _TOOL_ONCE),),
    # Both are always there where there is a job.
    "status.job.name": (_at(CONSTANT, "a task has one Job: its name is written once"),),
    "status.job.uid": (_at(CONSTANT, "a task has one Job: its uid is written once"),),
    "status.stopping": (_at(CONSTANT, _STOPPING_ONCE),),
    "status.expiresAt": (_at(GROWS, _NEVER_BACK),),
    "status.attempts": (_at(GROWS, _NEVER_FEWER),),
    "status.logTail": (_fits("logTail", limits.LOG_TAIL_STORED_BYTES),),
    "status.answers": (
        _at(APPEND_ONLY, _CLOSED_ONCE),
        _keys("answers"),
        _all_fit("answers", f"{_optional('by')} + {_optional('askedAgainAs')}", limits.ANSWERS_SEEN_STORED_BYTES),
    ),
    "status.result": (
        Rule(
            rule="has(self.inline) != has(self.from)",
            message="exactly one of inline and from must be given",
        ),
    ),
    "status.result.inline": (_fits("inline", limits.RESULT_STORED_BYTES),),
    "status.report": _REPORT,
    "status.report.progress": (
        _at(
            "self.progress >= oldSelf.progress"
            " || (has(self.podUID) && (!has(oldSelf.podUID) || self.podUID != oldSelf.podUID))",
            _NEVER_FALLS,
        ),
    ),
    "status.report.result": (_at(CONSTANT, _GIVEN_ONCE), _fits("result", limits.RESULT_STORED_BYTES)),
    "status.report.resultFrom": (_at(CONSTANT, _GIVEN_ONCE),),
    "status.report.resultFrom.violation": (_fits("violation", limits.VIOLATION_STORED_BYTES),),
    "status.report.questions": (
        _at(APPEND_ONLY, _ASKED_ONCE),
        _keys("questions"),
        _all_fit("questions", _QUESTION_TEXTS, limits.QUESTIONS_STORED_BYTES),
    ),
    "status.report.content": (
        # A part is added inside the array's end: what was there before the closing bracket stays there.
        _at(
            "self == oldSelf || self.startsWith(oldSelf.substring(0, oldSelf.size() - 1))",
            "parts of the result are only added",
        ),
        _fits("content", limits.RESULT_STORED_BYTES),
    ),
    "status.report.tooLarge.head": (_fits("head", limits.REFUSED_END_STORED_BYTES),),
    "status.report.tooLarge.tail": (_fits("tail", limits.REFUSED_END_STORED_BYTES),),
}
