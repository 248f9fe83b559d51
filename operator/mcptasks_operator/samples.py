"""Sample observations for tests: a task in the middle of an ordinary life, each part replaceable by keyword."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.metadata import Metadata
from mcptasks_crds.phases import Phase
from mcptasks_crds.task import JobSeen, McpTask, TaskSpec, TaskStatus, ToolReference
from mcptasks_crds.tool import READY, Condition, McpTool, ToolJob, ToolSpec, ToolStatus

from .observation import (
    ContainerSeen,
    EventSeen,
    Execution,
    JobView,
    Observation,
    PodSeen,
    PolicySeen,
    Termination,
)

NOW: Final = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TASK: Final = "mt-aaaaaaaaaaaaaaaaaaaaaaaaaa"
TASK_UID: Final = "task-uid"
JOB_UID: Final = "job-uid"
POD_UID: Final = "pod-uid"
START_DEADLINE_SECONDS: Final = 300
TIMEOUT_SECONDS: Final = 600
GRACE_SECONDS: Final = 5
RETENTION_SECONDS: Final = 3600


def ago(seconds: float) -> datetime:
    """So many seconds before the samples' now."""
    return NOW - timedelta(seconds=seconds)


def ahead(seconds: float) -> datetime:
    """So many seconds after the samples' now."""
    return NOW + timedelta(seconds=seconds)


def task(
    status: TaskStatus | None = None,
    *,
    created: datetime | None = None,
    deleting: bool = False,
    tool_uid: str | None = None,
    tool_generation: int | None = None,
    **spec: Any,
) -> McpTask:
    """A task; further keywords are its spec's."""
    return McpTask(
        metadata=Metadata(
            name=TASK,
            uid=TASK_UID,
            resource_version="1",
            creation_timestamp=created or ago(60),
            deletion_timestamp=NOW if deleting else None,
        ),
        spec=TaskSpec(
            tool=ToolReference(name="echo", uid=tool_uid, generation=tool_generation),
            **{"arguments": "{}", "retention_seconds": RETENTION_SECONDS, **spec},
        ),
        status=status or TaskStatus(),
    )


def status(phase: Phase | None = Phase.RUNNING, *, pod: bool = True, **fields: Any) -> TaskStatus:
    """The status of a task whose Job, and unless told otherwise whose pod, is known."""
    job = JobSeen(name=TASK, uid=JOB_UID, pod_name="pod-1" if pod else None, pod_uid=POD_UID if pod else None)
    return TaskStatus(**{"phase": phase, "job": job, "expires_at": ahead(RETENTION_SECONDS), **fields})


def tool(
    *, ready: str = "True", reason: str = "Accepted", message: str = "", generation: int = 1, seen: int = 1
) -> McpTool:
    """A tool. `seen` is the generation that its condition speaks of."""
    return McpTool(
        metadata=Metadata(name="echo", uid="tool-uid", generation=generation),
        spec=ToolSpec(
            description="Says it again.", start_deadline_seconds=START_DEADLINE_SECONDS, job=ToolJob(template={})
        ),
        status=ToolStatus(
            observed_generation=seen,
            conditions=(
                Condition.model_validate(
                    {
                        "type": READY,
                        "status": ready,
                        "reason": reason,
                        "message": message,
                        "lastTransitionTime": ago(3600),
                    }
                ),
            ),
        ),
    )


def execution(**fields: Any) -> Execution:
    """What of the tool stands on the Job."""
    return Execution(
        **{
            "tool_resource": "echo",
            "tool_uid": "tool-uid",
            "tool_generation": 1,
            "container": "tool",
            "start_deadline_seconds": START_DEADLINE_SECONDS,
            "timeout_seconds": TIMEOUT_SECONDS,
            "grace_seconds": GRACE_SECONDS,
            "output_schema": None,
            **fields,
        }
    )


def job(**fields: Any) -> JobView:
    """The task's Job, alive, made and taken up a minute ago."""
    return JobView(
        **{
            "name": TASK,
            "uid": JOB_UID,
            "is_ours": True,
            "created_at": ago(60),
            "deleting": False,
            "finished": False,
            "failure_reason": "",
            "failure_message": "",
            "active_deadline_seconds": 1000,
            "ttl_seconds_after_finished": None,
            "active_since": ago(60),
            "is_held_back": False,
            "released_at": None,
            "execution": execution(),
            **fields,
        }
    )


def pod(container: ContainerSeen | None = None, **fields: Any) -> PodSeen:
    """The Job's pod, on a node."""
    return PodSeen(
        **{
            "name": "pod-1",
            "uid": POD_UID,
            "phase": "Running",
            "reason": "",
            "message": "",
            "created_at": ago(59),
            "deleting": False,
            "node": "node-1",
            "unschedulable": "",
            "scheduled_at": ago(59),
            "disruption": "",
            "disruption_message": "",
            "failed_init": "",
            "container": container,
            **fields,
        }
    )


def running(since: datetime | None = None) -> ContainerSeen:
    """A container that runs."""
    return ContainerSeen(running_since=since or ago(50), waiting_reason="", waiting_message="", termination=None)


def waiting(reason: str, message: str = "") -> ContainerSeen:
    """A container that waits."""
    return ContainerSeen(running_since=None, waiting_reason=reason, waiting_message=message, termination=None)


def ended(exit_code: int = 0, message: str = "", *, reason: str | None = None, **fields: Any) -> ContainerSeen:
    """A container that ended."""
    termination = Termination(
        **{
            "exit_code": exit_code,
            "signal": None,
            "reason": reason or ("Completed" if exit_code == 0 else "Error"),
            "message": message,
            "started_at": ago(50),
            "finished_at": ago(1),
            **fields,
        }
    )
    return ContainerSeen(running_since=None, waiting_reason="", waiting_message="", termination=termination)


def event(reason: str, message: str = "", *, about: str = POD_UID, at: datetime | None = None) -> EventSeen:
    """An Event about the pod, unless told otherwise; of just now."""
    return EventSeen(about=about, reason=reason, message=message, at=at or NOW)


def log(text: str = "a line\n", *, is_whole: bool = True, unreadable: str = "") -> LogSeen:
    """The end of a log."""
    return LogSeen(text=text, is_whole=is_whole, unreadable=unreadable)


def observation(**fields: Any) -> Observation:
    """A task whose tool runs, unless the keywords say otherwise."""
    return Observation(
        **{
            "now": NOW,
            "task": task(status()),
            "tool": tool(),
            "job": job(),
            "pods": (pod(running()),),
            "policy": PolicySeen(),
            **fields,
        }
    )
