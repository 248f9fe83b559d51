"""The contract with the pod: what a task gives its pod as environment and as files, the way to the endpoint included.

Everything here works on a template that was read by `templates.read_template`, in place.
"""

import json
from collections.abc import Mapping
from typing import Final

from mcptasks_crds import arguments, names
from mcptasks_crds.answers import refusal_of
from mcptasks_crds.asking import current_key
from mcptasks_crds.base import Json
from mcptasks_crds.task import Answer, McpTask
from mcptasks_crds.tool import McpTool

from .expansion import escape
from .hardening import TERMINATION_MESSAGE_PATH
from .templates import containers, main_container

_ANSWERS_KEY: Final = "answers.json"
ANSWERS_FILE: Final = f"{names.CONTRACT_PATH}/{_ANSWERS_KEY}"
"""What `$MCPTASK_ANSWERS` names."""


_TOKEN_KEY: Final = "token"  # noqa: S105  # a file's name
TOKEN_FILE: Final = f"{names.CONTRACT_PATH}/{_TOKEN_KEY}"
"""What `$MCPTASK_TOKEN_FILE` names."""
TOKEN_SECONDS: Final = 3600
"""For how long a token is good. The kubelet writes a new one well before that."""


def inline_arguments(task: McpTask) -> str | None:
    """The arguments that stand in the task, as JSON text; None where they are in a Secret."""
    if task.spec.arguments_from is not None:
        return None
    return arguments.EMPTY if task.spec.arguments is None else task.spec.arguments


def answers_text(task: McpTask) -> str:
    """What the pod's file of answers holds: the answers to the tool's own questions, each as it was given.

    Where a question was asked again, its last answer stands under the question's own key.

    >>> from mcptasks_operator.samples import task as sample
    >>> answers_text(sample())
    '{}'
    """
    given = {key: answer_of(task, key) for key in sorted(task.spec.questions)}
    texts = (f"{json.dumps(key)}:{answer.response}" for key, answer in given.items() if answer is not None)
    return "{" + ",".join(texts) + "}"


def answer_of(task: McpTask, key: str) -> Answer | None:
    """The answer to one of the tool's own questions, if there is one that counts."""
    answer = task.spec.answers.get(current_key(key, task.status.answers))
    return None if answer is None or refusal_of(task.spec.questions[key], answer) is not None else answer


def give_task(template: Json, *, task: McpTask, tool: McpTool, required: frozenset[str], endpoint: str | None) -> None:
    """Give each container of the pod the task: its arguments as variables and as a file, and where the result goes.

    `required` names the variables that Kubernetes itself expands in a command: a pod in which one of them is missing
    must not start, for its program would see the text `$(ARG_...)`. `endpoint`: where the task endpoint is reached.
    """
    pod = template["spec"]
    text = inline_arguments(task)
    if text is not None:
        template["metadata"]["annotations"][names.ARGUMENTS_ANNOTATION] = text
    template["metadata"]["annotations"][names.ANSWERS_ANNOTATION] = answers_text(task)
    given = _argument_environment(task, tool, required=required)
    for _, container in containers(pod):
        is_main = container is main_container(pod)
        own = _own_environment(task=task, tool=tool, endpoint=endpoint, is_main=is_main)
        # First of all, so that an author's own variables may be made of ours.
        container["env"] = [*given, *own, *container.get("env", ())]
        container.setdefault("volumeMounts", []).append(
            {"name": names.CONTRACT_VOLUME, "mountPath": names.CONTRACT_PATH, "readOnly": True}
        )
    pod.setdefault("volumes", []).append(_volume(task, has_token=endpoint is not None))


def _argument_environment(task: McpTask, tool: McpTool, *, required: frozenset[str]) -> list[Json]:
    schema = tool.spec.input_schema
    if (source := task.spec.arguments_from) is not None:
        # Which of its keys the Secret has is not known here: a value that no variable can hold has none.
        return [
            {
                "name": name,
                "valueFrom": {
                    "secretKeyRef": {"name": source.secret_name, "key": name, "optional": name not in required}
                },
            }
            for name in arguments.variable_names(schema).values()
        ]
    variables = arguments.argument_variables(schema, inline_arguments(task) or arguments.EMPTY)
    return [_variable(name, value) for name, value in variables.items()]


def _own_environment(*, task: McpTask, tool: McpTool, endpoint: str | None, is_main: bool) -> list[Json]:
    values: Mapping[str, str] = {
        "MCPTASK_ID": task.metadata.name,
        "MCPTASK_TOOL": tool.name,
        "MCPTASK_ARGUMENTS": arguments.ARGUMENTS_FILE,
        "MCPTASK_ANSWERS": ANSWERS_FILE,
    }
    if endpoint is not None:
        url = f"{endpoint}{names.TASKS_PATH}/{task.metadata.name}"
        values = {**values, "MCPTASK_URL": url, "MCPTASK_TOKEN_FILE": TOKEN_FILE}
    if is_main:  # the file is a container's own, and nobody reads another one's
        values = {**values, names.RESULT_VARIABLE: TERMINATION_MESSAGE_PATH}
    return [_variable(name, value) for name, value in values.items()]


def _variable(name: str, value: str) -> Json:
    return {"name": name, "value": escape(value)}


def _volume(task: McpTask, *, has_token: bool) -> Json:
    """One projected volume, of all that a pod is given as files."""
    annotated = [_annotated(_ANSWERS_KEY, names.ANSWERS_ANNOTATION)]
    secrets: list[Json] = []
    if task.spec.arguments_from is not None:
        items = [{"key": arguments.ARGUMENTS_KEY, "path": arguments.ARGUMENTS_KEY}]
        secrets = [{"secret": {"name": task.spec.arguments_from.secret_name, "items": items}}]
    else:
        annotated = [_annotated(arguments.ARGUMENTS_KEY, names.ARGUMENTS_ANNOTATION), *annotated]
    audience = names.task_audience(task.metadata.name)
    token = {"serviceAccountToken": {"audience": audience, "expirationSeconds": TOKEN_SECONDS, "path": _TOKEN_KEY}}
    sources = [*secrets, {"downwardAPI": {"items": annotated}}, *([token] if has_token else [])]
    return {"name": names.CONTRACT_VOLUME, "projected": {"sources": sources}}


def _annotated(file: str, annotation: str) -> Json:
    """A file made of one of the pod's annotations."""
    return {"path": file, "fieldRef": {"fieldPath": f"metadata.annotations['{annotation}']"}}
