"""Kubernetes Events: what people see in `kubectl describe mcptask`."""

from datetime import datetime
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.task import McpTask

from .decision import RecordAnswer, RecordEvent

MAX_NOTE_BYTES: Final = 1024
"""The API server's own limit for a note."""
CONTROLLER: Final = f"{names.GROUP}/operator"


ANSWERED: Final = "Answered"
"""The Event of an answer that counts."""
ANSWER_REJECTED: Final = "AnswerRejected"
"""The Event of an answer that does not."""


def event_manifest(task: McpTask, event: RecordEvent | RecordAnswer, *, now: datetime, instance: str) -> Json:
    """The Event (events.k8s.io/v1) about a task. `instance` is the operator's own pod name, or the machine's."""
    match event:
        case RecordEvent():
            name = names.event_name(task.metadata.name, event.reason)
            return _manifest(task, name, event.type, str(event.reason), event.message, now=now, instance=instance)
        case RecordAnswer():
            name = names.answer_event_name(task.metadata.name, event.key)
            kind, reason = ("Warning", ANSWER_REJECTED) if event.is_rejected else ("Normal", ANSWERED)
            return _manifest(task, name, kind, reason, event.message, now=now, instance=instance)


def _manifest(  # an Event's own fields, each once
    task: McpTask, name: str, kind: str, reason: str, message: str, *, now: datetime, instance: str
) -> Json:
    metadata = task.metadata
    note = message.encode()[:MAX_NOTE_BYTES].decode("utf-8", "ignore")
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": name,
            "namespace": metadata.namespace,
        },
        "eventTime": now.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "type": kind,
        "reason": reason,
        "action": "Run",
        "note": note or reason,
        "regarding": {
            "apiVersion": names.API_VERSION,
            "kind": names.TASK_KIND,
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
        },
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128],
    }
