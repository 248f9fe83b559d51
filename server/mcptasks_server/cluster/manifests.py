"""The objects that the server creates. Pure."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from mcptasks_crds import names
from mcptasks_crds.arguments import arguments_secret_data
from mcptasks_crds.base import Json
from mcptasks_crds.limits import ARGUMENTS_INLINE_BYTES
from mcptasks_crds.secretarguments import secret_properties
from mcptasks_crds.task import AnswerRoad, McpTask
from mcptasks_server.caller import Caller
from mcptasks_server.tasks import NewTask


def needs_secret(new: NewTask) -> bool:
    """Whether the arguments go into a Secret: too large for the task, or some of them secret (`writeOnly`)."""
    return len(new.arguments.encode()) > ARGUMENTS_INLINE_BYTES or bool(secret_properties(new.input_schema))


def task_manifest(name: str, new: NewTask, *, caller: Caller) -> Json:
    """The McpTask of a call."""
    arguments: dict[str, Any] = (
        {"argumentsFrom": {"secretName": names.arguments_secret_name(name)}}
        if needs_secret(new)
        else {"arguments": new.arguments}
    )
    labels = {
        names.MANAGED_BY_LABEL: names.MANAGED_BY,
        names.TOOL_LABEL: names.label_value(new.tool),
        names.CALLER_LABEL: names.label_value(caller.name),
    }
    if new.request_key is not None:
        labels[names.REQUEST_LABEL] = new.request_key
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "tool": {"name": new.tool, "uid": new.tool_uid, "generation": new.tool_generation},
            "caller": caller.name,
            "retentionSeconds": new.retention_seconds,
            "pollIntervalMs": new.poll_interval_ms,
            **arguments,
            **_of_the_call(new, caller=caller),
        },
    }


def _of_the_call(new: NewTask, *, caller: Caller) -> Json:
    """What only some calls have."""
    optional: Json = {
        "questions": {key: question.model_dump(mode="json", by_alias=True) for key, question in new.questions.items()},
        "answers": {
            key: {"response": text, "by": caller.name, "road": AnswerRoad.CALLER} for key, text in new.answers.items()
        },
        "progressToken": new.progress_token,
        "argumentsDigest": new.arguments_digest,
        "detached": new.detached,
    }
    return {name: value for name, value in optional.items() if value}


def arguments_secret(name: str, *, task_uid: str, input_schema: Mapping[str, Any], arguments: str) -> Json:
    """The Secret with the arguments of a task: owned by it, and never changed."""
    data = arguments_secret_data(input_schema, arguments)
    return _secret(names.arguments_secret_name(name), data, task=name, owners=(_owning_task(name, task_uid),))


def result_secret(name: str, text: str, *, task: McpTask) -> Json:
    """A Secret with a task's result, or parts of it: owned by it, and never changed.

    The Job owns it as well. Where the task is deleted without what it owns, the operator removes the Job, and
    Kubernetes this Secret after it: it goes when the last of its owners has gone.
    """
    owners = [_owning_task(task.metadata.name, task.metadata.uid)]
    if (job := task.status.job) is not None:
        owners.append({"apiVersion": "batch/v1", "kind": "Job", "name": job.name, "uid": job.uid})
    return _secret(name, {names.RESULT_KEY: text}, task=task.metadata.name, owners=owners)


def _owning_task(task: str, uid: str) -> Json:
    return {"apiVersion": names.API_VERSION, "kind": names.TASK_KIND, "name": task, "uid": uid}


def _secret(name: str, data: Mapping[str, str], *, task: str, owners: Sequence[Json]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "labels": {names.MANAGED_BY_LABEL: names.MANAGED_BY, names.TASK_LABEL: task},
            "ownerReferences": list(owners),
        },
        "type": "Opaque",
        "immutable": True,
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }
