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
LEADING: Final = "LeaderElection"
"""The Event of an operator that acts from now on; client-go calls it so too."""


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


def leading_event(*, identity: str, namespace: str, transitions: int, now: datetime) -> Json:
    """The Event about the Lease that says who acts from now on."""
    regarding = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "name": names.LEASE,
        "namespace": namespace,
    }
    return _about(
        regarding,
        names.leading_event_name(identity),
        "Normal",
        LEADING,
        f"{identity} acts from now on (change {transitions} of hands)",
        action="Lead",
        now=now,
        instance=identity,
    )


def _manifest(  # an Event's own fields, each once
    task: McpTask, name: str, kind: str, reason: str, message: str, *, now: datetime, instance: str
) -> Json:
    metadata = task.metadata
    regarding = {
        "apiVersion": names.API_VERSION,
        "kind": names.TASK_KIND,
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
    }
    return _about(regarding, name, kind, reason, message, action="Run", now=now, instance=instance)


def _about(
    regarding: Json, name: str, kind: str, reason: str, message: str, *, action: str, now: datetime, instance: str
) -> Json:
    note = message.encode()[:MAX_NOTE_BYTES].decode("utf-8", "ignore")
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": name,
            "namespace": regarding["namespace"],
        },
        "eventTime": now.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "type": kind,
        "reason": reason,
        "action": action,
        "note": note or reason,
        "regarding": regarding,
        "reportingController": CONTROLLER,
        "reportingInstance": instance[:128],
    }
