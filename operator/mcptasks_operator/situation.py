"""An observation, read: the few questions that the rungs of the ladder ask of it.

Everything is derived; nothing is decided here. What many rungs ask is worked out once: an observation never changes.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import JobSeen, McpTask, Stopping, TaskStatus

from .observation import Absent, ContainerSeen, Execution, JobView, Observation, PodSeen, Termination

NEVER_RAN: Final = frozenset({"StartError", "ContainerCannotRun"})
"""The kubelet's words for a container whose command could not be started (containerd and CRI-O, Docker)."""
UNSEEN: Final = frozenset({"ContainerStatusUnknown", "Unknown"})
"""The kubelet's and containerd's words for a container whose end nobody saw: the exit code (137, 255) is made up."""
_POD_OVER: Final = frozenset({"Succeeded", "Failed"})

_WITHOUT_ANNOTATION: Final = Execution(
    tool_resource="",
    tool_uid="",
    tool_generation=0,
    container="tool",
    start_deadline_seconds=300,
    timeout_seconds=3600,
    grace_seconds=30,
    output_schema=None,
)
"""What is assumed of a Job of ours whose annotation somebody has removed: the defaults of a McpTool."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A task that is not over, and what was seen of it."""

    seen: Observation

    @cached_property
    def now(self) -> datetime:
        """The moment of the decision, in the milliseconds that an object can hold."""
        now = self.seen.now
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    @property
    def task(self) -> McpTask:
        """The task."""
        return self.seen.task

    @property
    def status(self) -> TaskStatus:
        """The task's status as it is in the object."""
        return self.seen.task.status

    @cached_property
    def recorded(self) -> JobSeen | None:
        """The Job that the task is known to have. Once written, no other one will ever be its Job."""
        return self.status.job

    @cached_property
    def job(self) -> JobView | None:
        """The task's Job; None if it was not seen, or what has its name is another one."""
        view = self.seen.job
        if not isinstance(view, JobView):
            return None
        counts = view.is_ours if self.recorded is None else view.uid == self.recorded.uid
        return view if counts else None

    @property
    def job_is_confirmed_missing(self) -> bool:
        """Whether the task's Job is certainly not there."""
        return self.job is None and self.seen.job is not Absent.UNKNOWN

    @cached_property
    def execution(self) -> Execution:
        """What of the tool the Job was rendered with."""
        return _WITHOUT_ANNOTATION if self.job is None or self.job.execution is None else self.job.execution

    @cached_property
    def stopping(self) -> Stopping | None:
        """The stop that was begun, if one was."""
        if self.status.stopping is None and self.status.phase is Phase.STOPPING:
            return Stopping(reason=Reason.CANCELLED, at=self.status.last_updated_at or self.now)
        return self.status.stopping

    @cached_property
    def pod(self) -> PodSeen | None:
        """The pod that speaks for the task: one that did its work, else one that lives, else the latest that began to.

        A Job controller that was cut off from the API server may make two pods for one attempt, and then deletes one.
        """
        return max(enumerate(self.seen.pods), key=lambda each: (_weight(each[1]), each[0]), default=(0, None))[1]

    @cached_property
    def container(self) -> ContainerSeen | None:
        """That pod's container that is the tool."""
        return None if self.pod is None else self.pod.container

    @property
    def termination(self) -> Termination | None:
        """How that container ended, whoever ended it."""
        return None if self.container is None else self.container.termination

    @property
    def own_end(self) -> Termination | None:
        """How the tool ended, if that was its own doing. (Whether a stop had begun is for the ladder to know.)"""
        return self.termination if self.pod is not None and ended_by_itself(self.pod) else None

    @cached_property
    def started_at(self) -> datetime | None:
        """When the tool's container first ran."""
        if self.status.started_at is not None or self.container is None:
            return self.status.started_at
        if self.container.running_since is not None:
            return self.container.running_since
        termination = self.container.termination
        # The runtime dates the start of a container that never ran to 1970.
        return None if termination is None or termination.reason in NEVER_RAN else termination.started_at

    @property
    def attempt_started_at(self) -> datetime | None:
        """When the container of the current attempt ran first; where nothing is seen of it, the task's first one."""
        container = self.container if self.execution.may_try_again else None
        end = None if container is None else container.termination
        return (container.running_since if container else None) or (end.started_at if end else None) or self.started_at

    @property
    def has_another_try(self) -> bool:
        """Whether the Job may yet make another pod by itself, so that no pod's failure is the task's."""
        job = self.job
        return (
            job is not None
            and self.execution.may_try_again
            and not (job.finished or job.failure_reason or job.deleting)
        )

    @property
    def log(self) -> LogSeen | None:
        """The log, once it was asked for."""
        return self.seen.log


def ended_by_itself(pod: PodSeen) -> bool:
    """Whether the pod's tool ended, and neither the pod's deletion, its eviction nor the loss of its node ended it."""
    termination = None if pod.container is None else pod.container.termination
    return termination is not None and not pod.deleting and not pod.reason and termination.reason not in UNSEEN


def _weight(pod: PodSeen) -> tuple[bool, bool, bool]:
    """How much a pod has to say, beside others of its Job."""
    did_its_work = ended_by_itself(pod) and exit_code(pod) == 0
    return did_its_work, not (pod.deleting or is_over(pod)), pod.node is not None


def exit_code(pod: PodSeen) -> int | None:
    """The exit code of the pod's tool, once it ended."""
    termination = None if pod.container is None else pod.container.termination
    return None if termination is None else termination.exit_code


def is_over(pod: PodSeen) -> bool:
    """Whether the pod's tool is known not to run any more."""
    return pod.phase in _POD_OVER or exit_code(pod) is not None
