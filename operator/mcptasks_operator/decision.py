"""What is to be done about a task: needs, a status and clean-up, as frozen values.

A decision is carried out in this order: what it *needs* (then it is taken anew, with all that came of the needs met so
far in the same pass; none is asked for twice); the *status*, written once with a version precondition where it differs
from the object's; then what comes *after*. So the outcome stands before anything is cleaned up, and each part may be
done twice.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import TaskStatus


@dataclass(frozen=True, kw_only=True)
class ConfirmJob:
    """Ask the API server whether the Job exists: the cache may be late."""


@dataclass(frozen=True, kw_only=True)
class ConfirmPods:
    """Ask the API server for the Job's pods: the cache may be late, and a pod's absence can end a task."""


@dataclass(frozen=True, kw_only=True)
class ConfirmArguments:
    """Ask the API server whether the Secret with the arguments exists, without reading it."""

    since: datetime
    """An answer from that moment or later will do."""


@dataclass(frozen=True, kw_only=True)
class CreateJob:
    """Render the Job from the tool and create it; adopt one that is already there and ours."""


@dataclass(frozen=True, kw_only=True)
class ReleaseJob:
    """Let a Job start that was held back, or leave that to Kueue, and give its pod the answers, in one patch."""

    name: str
    uid: str
    answers: str
    """What the pod's file of answers holds."""
    queue_name: str | None = None
    """The queue of Kueue's that lets it start; None: it starts."""
    at: datetime


@dataclass(frozen=True, kw_only=True)
class ReadLog:
    """Read the end of the tool's log."""

    pod: str
    container: str


@dataclass(frozen=True, kw_only=True)
class ReadPolicy:
    """Ask the API server whether the admission policy for answers is in force."""


Need = ConfirmJob | ConfirmPods | ConfirmArguments | CreateJob | ReleaseJob | ReadLog | ReadPolicy


@dataclass(frozen=True, kw_only=True)
class StopJob:
    """Let Kubernetes end the Job's pod (`activeDeadlineSeconds: 1`); the Job stays."""

    name: str
    uid: str


@dataclass(frozen=True, kw_only=True)
class ExtendJob:
    """Let Kubernetes' own deadline for the Job be later: its pod waits for an answer, and that time does not count."""

    name: str
    uid: str
    active_deadline_seconds: int


@dataclass(frozen=True, kw_only=True)
class DeleteJob:
    """Remove a Job that is suspended: it has no pod, or not for long, and is never to have one again."""

    name: str
    uid: str


@dataclass(frozen=True, kw_only=True)
class RetireJob:
    """After the task's end: have the Job removed later, and its pod ended now if it still runs."""

    name: str
    uid: str
    ttl_seconds: int
    stop: bool


@dataclass(frozen=True, kw_only=True)
class DeleteTask:
    """The task's time is over: remove it, and all it owns with it."""

    uid: str


@dataclass(frozen=True, kw_only=True)
class RecordEvent:
    """Tell people: one Kubernetes Event on the task."""

    type: Literal["Normal", "Warning"]
    reason: Reason
    message: str


@dataclass(frozen=True, kw_only=True)
class RecordAnswer:
    """Tell people: one Kubernetes Event on the task for each answer."""

    key: str
    is_rejected: bool
    message: str


Action = StopJob | ExtendJob | DeleteJob | RetireJob | DeleteTask | RecordEvent | RecordAnswer


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What is to be done about a task."""

    status: TaskStatus
    """The whole status as it is to be (`report` is never changed by it)."""
    need: Need | None = None
    """What must be known or done first; the rest of the decision does not count then."""
    after: tuple[Action, ...] = ()
    """What to do once the status stands, in order."""
    look_again_at: datetime | None = None
    """When time alone will change the decision."""
