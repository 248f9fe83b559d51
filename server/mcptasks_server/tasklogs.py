"""What a task has printed, as far as it can be had, and how that is said to whoever reads it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from mcptasks_crds import names
from mcptasks_crds.task import McpTask

from .projection import is_over

LOG_META: Final = f"{names.GROUP}/log"
"""In the `_meta` of a log's contents: its source, whether it is whole, and the note that its text begins with."""
MAX_WHY: Final = 300
"""Characters of the cluster's own words."""

NOT_STARTED: Final = "the task's pod has not started yet"
POD_GONE: Final = "the task's pod is not there any more"
NEVER_RAN: Final = f"{POD_GONE}, and its container is not known to have run"
NO_POD: Final = "the task has never had a pod"


class LogSource(StrEnum):
    """Where a log comes from."""

    POD = "pod"
    """The pod, as it is now."""
    KEPT = "kept"
    """What was kept of it."""
    NONE = "none"
    """There is none."""


@dataclass(frozen=True, kw_only=True)
class TaskLog:
    """The end of what a task has printed: standard output and standard error, merged."""

    source: LogSource
    text: str = ""
    """At most 64 KiB. What was no text is replaced."""
    is_whole: bool = True
    """Whether nothing is known to be missing before it."""
    why: str = ""
    """Why there is none."""

    @property
    def note(self) -> str:
        """What is to be known of it beside its text; empty where that says all."""
        match self.source:
            case LogSource.NONE:
                return f"[There is no log: {' '.join(self.why.split())[:MAX_WHY]}.]"
            case LogSource.KEPT:
                return "[The end of the log, as it was kept.]"
            case LogSource.POD if not self.is_whole:
                return f"[Only the end of the log: its last {len(self.text.encode())} bytes.]"
            case LogSource.POD:
                return "" if self.text else "[Nothing was printed so far.]"


class TaskLogs(Protocol):
    """Where tasks' logs are."""

    async def read(self, task: McpTask) -> TaskLog:
        """The end of a task's log, so far; within ten seconds. Whoever asks has made sure whose task it is.

        Raises:
            TaskNotFoundError: it is not there any more.
            UnavailableError: its object had to be read, and could not be.
        """
        ...


class KeptLogs:
    """Where there are no pods to be asked: what a task itself keeps."""

    async def read(self, task: McpTask) -> TaskLog:
        """The kept end."""
        return kept_log(task) or no_log(task)


def kept_log(task: McpTask) -> TaskLog | None:
    """What a task keeps of its log; None where it keeps nothing."""
    if not task.status.log_tail:
        return None
    return TaskLog(source=LogSource.KEPT, text=task.status.log_tail, is_whole=False)


def no_log(task: McpTask, *, why: str = "") -> TaskLog:
    """That there is none. `why`: what is known beyond the task itself."""
    has_pod = task.status.job is not None and task.status.job.pod_name is not None
    if not why:
        why = _without_a_pod(task) if has_pod else NO_POD if is_over(task) else NOT_STARTED
    if is_over(task) and has_pod and task.status.result is not None:
        # Where a tool gave no result of its own, the end of its log is kept once: as the result.
        result = names.task_uri(task.metadata.name, names.TaskPart.RESULT)
        why = f"{why}. A tool that gave no result of its own has what it printed in {result}"
    return TaskLog(source=LogSource.NONE, why=why)


def _without_a_pod(task: McpTask) -> str:
    status = task.status
    return NEVER_RAN if is_over(task) and status.started_at is None and status.result is None else POD_GONE
