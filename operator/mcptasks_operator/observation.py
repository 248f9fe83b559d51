"""What was seen of a task and of its Job, as frozen values: the whole input of a decision.

`observe` fills them from the API server's objects; nothing here reads a clock or the network.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask
from mcptasks_crds.tool import McpTool


@dataclass(frozen=True, kw_only=True)
class Execution:
    """What of the tool the Job was rendered with; kept on the Job, so that a later edit of the tool changes nothing."""

    tool_resource: str
    tool_uid: str
    tool_generation: int
    container: str
    """The name of the container that is the tool."""
    start_deadline_seconds: int
    timeout_seconds: int
    grace_seconds: int
    """How long the pod may take to end after it was told to."""
    output_schema: str | None
    """The tool's output schema as JSON text."""
    running_limit: int | None = None
    """How many of the tool's tasks may run at the same time; None: as many as are called."""
    queue_seconds: int = 86_400
    """How long the task may wait in the queue."""
    retries: int = 0
    """How many further attempts the Job makes where one fails."""
    queue_name: str | None = None
    """The queue of Kueue's that lets the Job start, and may stop it again; None: there is none."""

    @property
    def may_try_again(self) -> bool:
        """Whether the Job may have more than one pod: then a pod's failure is not the task's by itself."""
        return self.retries > 0 or self.queue_name is not None


@dataclass(frozen=True, kw_only=True)
class Termination:
    """How a container ended."""

    exit_code: int
    signal: int | None
    reason: str
    """The kubelet's word: `Completed`, `Error`, `OOMKilled`, `StartError`, `ContainerCannotRun`, ..."""
    message: str
    """What the container wrote to `$MCPTASK_RESULT`, or the kubelet's own explanation where it never ran."""
    message_limit: int = 4096
    """The most bytes that Kubernetes keeps of such a message in this pod: min(4096, 12288 // all its containers).

    A message of that length may be cut: the kubelet reads the last 4096 bytes of the file and keeps the first 12288 /
    containers of those (kubelet: `tail.ReadAtMost`, `normalizeStatus`).
    """
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ContainerSeen:
    """The tool's container."""

    running_since: datetime | None
    waiting_reason: str
    """Why it does not run yet, the kubelet's word; empty when it is not waiting."""
    waiting_message: str
    termination: Termination | None


@dataclass(frozen=True, kw_only=True)
class EventSeen:
    """A Kubernetes Event about the task's Job or one of its pods: some things are said nowhere else."""

    about: str
    """The uid of the Job or pod."""
    reason: str
    """`FailedCreate`, `FailedMount`, `Pulling`, ..."""
    message: str
    at: datetime
    """When it was last so."""


@dataclass(frozen=True, kw_only=True)
class PodSeen:
    """One pod of the Job."""

    name: str
    uid: str
    phase: str
    reason: str
    """`Evicted`, `NodeLost`, `DeadlineExceeded`, ...; empty in a pod that is well."""
    message: str
    created_at: datetime
    deleting: bool
    """Whether it has a deletion timestamp: what its containers do from here on is not their own doing."""
    node: str | None
    unschedulable: str
    """Why no node takes it (the condition `PodScheduled`'s message); empty where one did."""
    scheduled_at: datetime | None
    """When a node took it; None where none did, or nobody said when."""
    disruption: str
    """Who ended it from outside (the condition `DisruptionTarget`'s reason): `PreemptionByScheduler`, ..."""
    disruption_message: str
    failed_init: str
    """The init container that a failed pod failed with, and how; empty where none did."""
    container: ContainerSeen | None
    """The tool's container; None as long as the kubelet has said nothing of it."""


@dataclass(frozen=True, kw_only=True)
class JobView:
    """A Job that has the name of the task's Job."""

    name: str
    uid: str
    is_ours: bool
    """Whether this very task (by uid) owns it."""
    created_at: datetime
    deleting: bool
    finished: bool
    """It carries the condition `Complete` or `Failed`: no pod of it runs."""
    ends: bool = False
    """It makes no pod any more, whatever happens: it is over, about to be, or being deleted."""
    failure_reason: str
    """The reason of its condition `FailureTarget` or `Failed` (`BackoffLimitExceeded`, `DeadlineExceeded`, ...)."""
    failure_message: str
    active_deadline_seconds: int | None
    ttl_seconds_after_finished: int | None
    is_held_back: bool
    """It was made suspended and was not let start yet: it never had a pod."""
    is_suspended: bool = False
    """It makes no pods until it is let start, by us or by whoever has suspended it."""
    suspended_at: datetime | None = None
    """Since when the Job controller has known it to be suspended."""
    active_since: datetime | None = None
    """When the Job controller took it up, or took it up again; None while it is suspended."""
    released_at: datetime | None
    """When a Job that was held back was let start."""
    passed_by_hand: bool = False
    """Somebody else than the operator has let it start."""
    failed: int = 0
    """How many of its pods have failed, disrupted ones aside."""
    execution: Execution | None
    """None where the annotation is missing or unreadable, as on a Job that is not ours."""

    @property
    def rests(self) -> bool:
        """Whether it makes no pods until it is let start, by us or by somebody else."""
        return self.is_held_back or self.is_suspended


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why no Job can be made for the task."""

    reason: Reason
    message: str


class Absent(Enum):
    """What is known of a Job that is not in the cache."""

    UNKNOWN = auto()
    """The cache may be late."""
    CONFIRMED = auto()
    """The API server was asked: there is none."""


class Presence(Enum):
    """Whether the Secret with a task's arguments is there."""

    THERE = auto()
    MISSING = auto()
    UNKNOWN = auto()
    """The API server would not say."""


@dataclass(frozen=True, kw_only=True)
class ArgumentsSeen:
    """What was learned of the Secret with a task's arguments."""

    presence: Presence
    at: datetime


@dataclass(frozen=True, kw_only=True)
class PolicySeen:
    """The admission policy that judges who answers."""

    in_force_since: datetime | None = None
    """Since when it has been there with its binding; None where it is not, or does not refuse anything."""


@dataclass(frozen=True, kw_only=True)
class LineSeen:
    """The line of the task's tool, as it is for this task."""

    older: int = 0
    """How many of the tool's tasks that are not over were made before it."""
    ahead: int = 0
    """How many wait before it."""
    ahead_may_start: bool = True
    """Whether all of those may start now."""
    running: int = 0
    """How many of the tool's other tasks run."""
    is_taken: bool = False
    """Whether the task has its place already: its Job is being let start."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """All that a decision is made from."""

    now: datetime
    task: McpTask
    tool: McpTool | None
    """The tool of that name as it is now; only looked at while there is no Job."""
    job: JobView | Absent
    job_confirmed: bool = False
    """Whether `job` was just read from the API server, once a decision has asked for it; the cache may be late."""
    pods: tuple[PodSeen, ...] = ()
    """The pods of the Job, oldest first; those of `status.job.uid` where the Job is gone: they may outlive it."""
    gone_pod: PodSeen | None = None
    """The pod of `status.job` as it was last seen, where it is gone by now."""
    pods_confirmed: bool = False
    """Whether `pods` were just read from the API server, once a decision has asked for it; the cache may be late."""
    log: LogSeen | None = None
    """The log, once a decision has asked for it."""
    refusal: Refusal | None = None
    """Why the Job was refused, once a decision has asked for it."""
    line: LineSeen = LineSeen()
    """The line of the task's tool."""
    events: tuple[EventSeen, ...] = ()
    """Events about the Job and its pods, the latest of each reason. They may be missing: they help, and decide late."""
    policy: PolicySeen | None = None
    """The admission policy for answers, once a decision has asked for it."""
    arguments: ArgumentsSeen | None = None
    """What is known of the Secret with the arguments, once a decision has asked for it."""
