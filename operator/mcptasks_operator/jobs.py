"""The Job of a task: rendered from the tool once, at first sight, and never again.

Pure: the same task and tool give the same Job, so that a second POST of it changes nothing.
"""

from typing import Any, Final

from mcptasks_crds import arguments, jsontext, names
from mcptasks_crds.base import Json
from mcptasks_crds.reasons import Reason
from mcptasks_crds.schemas import SchemaError
from mcptasks_crds.secretarguments import argument_schema, secret_properties
from mcptasks_crds.task import McpTask
from mcptasks_crds.tool import McpTool

from .errors import JobRefusedError
from .executions import backstop_seconds, execution_of, execution_to_json
from .hardening import harden
from .podcontract import answer_of, give_task, inline_arguments
from .references import argument_references
from .refusals import refusals
from .templates import read_template

_DISRUPTIONS_DO_NOT_COUNT: Final = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}
"""A pod that was drained, evicted or preempted is replaced, and none of the tool's retries is spent on it."""


def render(task: McpTask, tool: McpTool, *, assign_uid: bool = True, endpoint: str | None = None) -> dict[str, Any]:
    """The manifest of the Job that runs a task.

    Arguments that stand in the task are held against the tool's input schema, for a task may have been written by
    hand; those in a Secret were checked by whoever wrote it. `assign_uid=False` leaves the user of a pod whose author
    names none to the platform. `endpoint`: where the pod reaches the task endpoint; None where there is none.

    Raises:
        JobRefusedError: there can be no Job; the message names the field, of the tool or of the arguments.
    """
    text = inline_arguments(task)
    if text is not None:
        _check_arguments(text, tool)
    return render_unchecked(task, tool, assign_uid=assign_uid, endpoint=endpoint)


def render_unchecked(
    task: McpTask, tool: McpTool, *, assign_uid: bool = True, endpoint: str | None = None
) -> dict[str, Any]:
    """The manifest of a task's Job, whether or not its arguments conform: for the trial of a tool.

    Raises:
        JobRefusedError: there can be no Job; the message names the field of the tool.
    """
    try:
        return _render(task, tool, assign_uid=assign_uid, endpoint=endpoint)
    except RecursionError as error:
        raise JobRefusedError(Reason.TOOL_INVALID, "job.template or a schema is nested too deeply") from error


def _render(task: McpTask, tool: McpTool, *, assign_uid: bool, endpoint: str | None) -> Json:
    template = read_template(tool.spec.job.template)
    for refusal in refusals(template, tool=tool):
        raise JobRefusedError(Reason.TOOL_INVALID, refusal)
    required = _required_variables(template, task=task, tool=tool)
    harden(template, assign_uid=assign_uid)
    give_task(template, task=task, tool=tool, required=required, endpoint=endpoint)
    labels = {
        names.MANAGED_BY_LABEL: names.MANAGED_BY,
        names.TASK_LABEL: task.metadata.name,
        names.TOOL_LABEL: names.label_value(tool.name),
    }
    template["metadata"]["labels"].update(labels)
    execution = execution_of(tool, template["spec"])
    waits = tool.spec.running_limit is not None or any(answer_of(task, key) is None for key in task.spec.questions)
    # Kueue is told of a Job once nothing of ours holds it back: until then it would let it start.
    is_queued = tool.spec.queue_name is not None
    queue = {names.QUEUE_LABEL: tool.spec.queue_name} if is_queued and not waits else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": names.job_name(task.metadata.name),
            "namespace": task.metadata.namespace,
            "labels": {**tool.spec.job.metadata.labels, **labels, **queue},
            "annotations": {
                **tool.spec.job.metadata.annotations,
                names.EXECUTION_ANNOTATION: execution_to_json(execution),
                **({names.RELEASED_ANNOTATION: ""} if waits else {}),
            },
            "ownerReferences": [_owner(task)],
        },
        "spec": {
            # Without retries one pod, whatever happens to it.
            "backoffLimit": execution.retries,
            **({"podFailurePolicy": _DISRUPTIONS_DO_NOT_COUNT} if execution.retries else {}),
            "completions": 1,
            "parallelism": 1,
            # The tool is taken as it was when it was called: what is waited for is waited for with the Job there.
            **({"suspend": True} if waits or is_queued else {}),
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": backstop_seconds(execution),
            "template": template,
        },
    }


def _check_arguments(text: str, tool: McpTool) -> None:
    try:
        given = jsontext.members(text)  # an object, no member twice
        violation = argument_schema(tool.spec.input_schema).violation(jsontext.parse(text))
    except jsontext.JsonTextError as error:
        raise JobRefusedError(Reason.ARGUMENTS_INVALID, f"the arguments are not a JSON object: {error}") from error
    except SchemaError as error:
        raise JobRefusedError(Reason.TOOL_INVALID, f"inputSchema: {error}") from error
    if violation is not None:
        raise JobRefusedError(Reason.ARGUMENTS_INVALID, str(violation))
    told = [each for each in secret_properties(tool.spec.input_schema) if each in given]
    if told:
        message = f"{', '.join(told)}: is a secret (writeOnly) and stands in the task: give argumentsFrom, a Secret"
        raise JobRefusedError(Reason.ARGUMENTS_INVALID, message)


def _required_variables(template: Json, *, task: McpTask, tool: McpTool) -> frozenset[str]:
    """The variables that the template's own text refers to.

    Raises:
        JobRefusedError: one of them cannot be, or is not for these arguments.
    """
    possible = arguments.variable_names(tool.spec.input_schema)
    text = inline_arguments(task)
    missing = {} if text is None else arguments.properties_without_variable(tool.spec.input_schema, text)
    required: set[str] = set()
    for reference in argument_references(template["spec"]):
        if reference.variable not in possible.values():
            problem = _why_no_variable(reference.variable, tool)
            raise JobRefusedError(Reason.TOOL_INVALID, f"{reference.field}: $({reference.variable}): {problem}")
        required.add(reference.variable)
    for each, reason in missing.items():
        if possible.get(each) in required:
            raise JobRefusedError(
                Reason.ARGUMENTS_INVALID,
                f"/{each}: {reason}, and the tool takes it as $({possible[each]})",
            )
    return frozenset(required)


def _why_no_variable(variable: str, tool: McpTool) -> str:
    for each, reason in arguments.properties_without_variable(tool.spec.input_schema).items():
        if names.argument_variable(each) == variable:
            return f"the property {each} has no variable: {reason}"
    return "no property of inputSchema has that variable"


def _owner(task: McpTask) -> Json:
    """The task owns the Job. `blockOwnerDeletion` is left unset: OpenShift wants a right on finalizers for it."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "name": task.metadata.name,
        "uid": task.metadata.uid,
        "controller": True,
    }
