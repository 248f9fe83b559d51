"""Kubernetes Events: what people see in `kubectl describe mcptask`."""

from datetime import datetime
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.task import McpTask

from .decision import RecordEvent

MAX_NOTE_BYTES: Final = 1024
"""The API server's own limit for a note."""
CONTROLLER: Final = f"{names.GROUP}/operator"


def event_manifest(task: McpTask, event: RecordEvent, *, now: datetime, instance: str) -> Json:
    """The Event (events.k8s.io/v1) about a task. `instance` is the operator's own pod name, or the machine's."""
    metadata = task.metadata
    note = event.message.encode()[:MAX_NOTE_BYTES].decode("utf-8", "ignore")
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": names.event_name(metadata.name, event.reason),
            "namespace": metadata.namespace,
        },
        "eventTime": now.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "type": event.type,
        "reason": str(event.reason),
        "action": "Run",
        "note": note or str(event.reason),
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
