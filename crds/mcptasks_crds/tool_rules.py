"""What a tool may not say, as far as the API server can tell by itself: refused when it is applied, field and all.

What only a dry run or a compiler can tell (a schema that does not compile, a pod template that Kubernetes does not
take) is the operator's to find, and stands in the tool's conditions.
"""

from typing import Final

from . import names
from .cel import Rule, Rules, one_of
from .policy import TaskSupport, WithoutTasks
from .questions import AnsweredBy, QuestionTime

_PREFIXES: Final = (names.ARGUMENT_VARIABLE_PREFIX, names.OWN_VARIABLE_PREFIX)
_RESERVED: Final = " && ".join(f"!variable.name.startsWith('{prefix}')" for prefix in _PREFIXES)


def _no_reserved_names(field: str) -> Rule:
    return Rule(
        rule=f"!has(self.{field}) || self.{field}.all(each, !has(each.env) || each.env.all(variable, {_RESERVED}))",
        message=f"environment variables that begin with {' or '.join(_PREFIXES)} are set by mcptasks",
        field_path=f".{field}",
    )


def _each_question(rule: str, message: str) -> Rule:
    return Rule(
        rule=f"!has(self.questions) || self.questions.all(each, {rule})",
        message=message,
        field_path=".questions",
    )


_TASKS_OPTIONAL: Final = f"self.taskSupport == '{TaskSupport.OPTIONAL}'"

TOOL_RULES: Final[Rules] = {
    "": (
        Rule(
            rule="has(self.spec.name) || self.metadata.name.size() <= 128",
            message="MCP's names have at most 128 characters: give spec.name, or a shorter metadata.name",
            field_path=".spec.name",
        ),
    ),
    "spec": (
        Rule(
            rule=f"!has(self.name) || !(self.name in {one_of(names.COMPANION_TOOLS)})",
            message=f"{', '.join(names.COMPANION_TOOLS)} are the server's own tools: choose another name",
            field_path=".name",
        ),
        Rule(
            rule=f"!has(self.withoutTasks) || {_TASKS_OPTIONAL}",
            message="withoutTasks goes with taskSupport optional alone: remove it",
            reason="FieldValueForbidden",
            field_path=".withoutTasks",
        ),
        Rule(
            rule=f"!has(self.holdSeconds) || ({_TASKS_OPTIONAL}"
            f" && (!has(self.withoutTasks) || self.withoutTasks == '{WithoutTasks.HANDLE}'))",
            message="holdSeconds goes with taskSupport optional and withoutTasks handle alone: remove it",
            reason="FieldValueForbidden",
            field_path=".holdSeconds",
        ),
        Rule(
            rule="!has(self.queueName) || !has(self.limits) || !has(self.limits.running)",
            message="queueName leaves it to Kueue who runs: remove it, or limits.running",
            reason="FieldValueForbidden",
            field_path=".queueName",
        ),
        Rule(
            rule="!has(self.limits) || !has(self.limits.queued) || has(self.limits.running)",
            message="limits.queued goes with limits.running: without it, nothing waits",
            reason="FieldValueForbidden",
            field_path=".limits.queued",
        ),
        _each_question(
            f"(each.answeredBy == '{AnsweredBy.CALLER}') != has(each.approvers)",
            "approvers go with answeredBy approvers or either, and these need them",
        ),
        _each_question(
            "!has(each.approvers) || (has(each.approvers.users) && each.approvers.users.size() > 0)"
            " || (has(each.approvers.groups) && each.approvers.groups.size() > 0)",
            "approvers need at least one user or group",
        ),
        _each_question(
            f"each.answeredBy != '{AnsweredBy.APPROVERS}'"
            f" || (each.when == '{QuestionTime.BEFORE_START}' && !each.modelMayAnswer)",
            "where only approvers answer, when must be beforeStart and modelMayAnswer false: they answer tasks",
        ),
    ),
    "spec.job.template.spec": (
        Rule(
            rule="!has(self.restartPolicy) || self.restartPolicy == 'Never'",
            message="restartPolicy must be Never, or absent: a container that starts again would run the call twice",
            field_path=".restartPolicy",
        ),
        Rule(
            rule="!has(self.activeDeadlineSeconds)",
            message="activeDeadlineSeconds is not for a tool to set: use timeoutSeconds and startDeadlineSeconds",
            reason="FieldValueForbidden",
            field_path=".activeDeadlineSeconds",
        ),
        _no_reserved_names("containers"),
        _no_reserved_names("initContainers"),
    ),
}
