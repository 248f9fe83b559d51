"""McpTool: one tool, as the MCP client sees it and as it runs.

Schemas, annotations and icons are passed to clients as they were written. `job.template` is a pod template: anything
that Kubernetes takes, filled in where it is silent (see `mcptasks_operator.jobs`), refused where it would break what a
task promises.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from . import limits
from .base import Resource, Timestamp, enforced
from .metadata import Metadata
from .names import API_VERSION, TOOL_NAME_PATTERN
from .policy import Access, TaskSupport, WithoutTasks
from .questions import ToolQuestion

_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_OBJECT_SCHEMA: Final = {
    "properties": {"type": {"type": "string", "enum": ["object"], "description": "MCP wants an object."}},
    "required": ["type"],
}
_CONTAINERS: Final = {
    "type": "array",
    "maxItems": 64,
    "items": {
        "type": "object",
        **_ANYTHING,
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 63, "description": "The container's name."},
            "env": {
                "type": "array",
                "nullable": True,
                "maxItems": 1024,
                "description": "Environment variables; those of mcptasks come before them.",
                "items": {
                    "type": "object",
                    **_ANYTHING,
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string", "maxLength": 1024, "description": "The variable's name."}
                    },
                },
            },
        },
    },
}
_TEMPLATE: Final = {
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            **_ANYTHING,
            "description": "The pod's spec: what Kubernetes takes.",
            "required": ["containers"],
            "properties": {
                "containers": _CONTAINERS | {"minItems": 1, "description": "The pod's containers."},
                "initContainers": _CONTAINERS
                | {"nullable": True, "description": "Containers that run before them, or beside them."},
                "restartPolicy": {"type": "string", "nullable": True, "description": "`Never`, if given."},
                "activeDeadlineSeconds": {
                    "type": "integer",
                    "format": "int64",
                    "nullable": True,
                    "description": "Not to be given.",
                },
            },
        }
    },
}
"""What the CRD's rules look at of a pod template; all the rest is the API server's to judge, in a dry run.

Null means absent here, as anywhere in a pod: charts write it."""


DEFAULT_HOLD_SECONDS: Final = 45
"""Below the 60 s at which common clients give up."""


class JobMetadata(Resource):
    """Labels and annotations for the Job."""

    labels: Mapping[str, str] = Field(default_factory=dict)
    """Labels for the Job."""
    annotations: Mapping[str, str] = Field(default_factory=dict)
    """Annotations for the Job."""


class ToolJob(Resource):
    """How the tool runs."""

    metadata: JobMetadata = Field(default_factory=JobMetadata)
    """Labels and annotations for the Job."""
    template: Annotated[Mapping[str, Any], enforced(**_TEMPLATE)]
    """The pod template. The container named `tool`, else the first one, is the tool."""


DEFAULT_QUEUED: Final = 1000
"""Tasks of a tool that wait, where it has a queue and says no more."""


class ToolLimits(Resource):
    """How many of a tool's tasks may be under way."""

    running: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """How many may run at the same time; the others wait in order. No limit if absent."""
    queued: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """How many may wait; beyond that, calls are refused. 1000 if absent, where there is a queue."""


class ToolSpec(Resource):
    """What the tool is."""

    name: Annotated[str, Field(pattern=TOOL_NAME_PATTERN)] | None = None
    """The tool's name as clients see it; the object's own name if absent."""
    title: Annotated[str, Field(max_length=256)] | None = None
    """The tool's name for people."""
    description: Annotated[str, Field(min_length=1, max_length=8192)]
    """What the tool does, for the model that chooses it."""
    input_schema: Annotated[Mapping[str, Any], enforced(**_OBJECT_SCHEMA)] = Field(
        default_factory=lambda: {"type": "object"}
    )
    """JSON Schema (2020-12) of the arguments: an object."""
    output_schema: Annotated[Mapping[str, Any], enforced(**_OBJECT_SCHEMA)] | None = None
    """JSON Schema (2020-12) of the structured result: an object. A result that breaks it is a tool error."""
    annotations: Mapping[str, Any] | None = None
    """MCP's tool annotations, such as `readOnlyHint`."""
    icons: tuple[Mapping[str, Any], ...] | None = None
    """MCP's icons."""
    queue_seconds: Annotated[int, Field(ge=1, le=2_592_000)] = 86_400
    """Longest time in the queue, in seconds."""
    start_deadline_seconds: Annotated[int, Field(ge=1, le=604_800)] = 300
    """Longest time from the Job's start, or from leaving the queue, to the container running."""
    timeout_seconds: Annotated[int, Field(ge=1, le=31_536_000)] = 3600
    """Longest time the container may run."""
    retention_seconds: Annotated[int, Field(ge=1, le=31_536_000)] = 3600
    """How long a task is kept after its end."""
    poll_interval_ms: Annotated[int, Field(ge=50, le=3_600_000)] = 1000
    """How often clients are told to poll, in milliseconds."""
    retries: Annotated[int, Field(ge=0, le=10)] = 0
    """How many further attempts are made where one fails. The tool then runs more than once."""
    task_support: TaskSupport = TaskSupport.OPTIONAL
    """Whether a call becomes a task that its client knows of."""
    without_tasks: WithoutTasks | None = None
    """What a client gets that knows no tasks, where `taskSupport` is `optional`; `handle` if absent."""
    hold_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """How long a call is held before its client gets a handle, in seconds; 45 if absent."""
    questions: Annotated[
        tuple[ToolQuestion, ...],
        enforced(
            **{
                "maxItems": limits.MAX_TOOL_QUESTIONS,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key"],
            }
        ),
    ] = ()
    """What is asked before the pod starts."""
    queue_name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$")] | None = None
    """Kueue's LocalQueue, in the tasks' namespace, which lets the tool's Jobs start. No queue of Kueue's if absent."""
    limits: ToolLimits | None = None
    """How many of its tasks may run, and wait, at the same time."""
    access: Access | None = None
    """Who may see and call the tool; everybody if absent."""
    job: ToolJob
    """How the tool runs."""

    @property
    def held_seconds(self) -> int | None:
        """How long a plain call is held before its client gets a handle; None: until the task ends."""
        if self.task_support is not TaskSupport.OPTIONAL or self.without_tasks is WithoutTasks.HOLD:
            return None
        return DEFAULT_HOLD_SECONDS if self.hold_seconds is None else self.hold_seconds

    @property
    def running_limit(self) -> int | None:
        """How many of its tasks may run at the same time; None: as many as are called."""
        return None if self.limits is None else self.limits.running

    @property
    def queued_limit(self) -> int | None:
        """How many of its tasks may wait; None: it has no queue."""
        if self.limits is None or self.limits.running is None:
            return None
        return DEFAULT_QUEUED if self.limits.queued is None else self.limits.queued


class Condition(Resource):
    """One condition, as Kubernetes has them."""

    type: Annotated[str, enforced(minLength=1, maxLength=316)]
    """What the condition speaks of."""
    status: Literal["True", "False", "Unknown"]
    """Whether it is so."""
    reason: Annotated[str, enforced(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", maxLength=1024)]
    """Why, in one word for programs."""
    message: Annotated[str, enforced(maxLength=32768)] = ""
    """Why, in a sentence for people."""
    last_transition_time: Timestamp
    """Since when `status` is what it is."""
    observed_generation: int | None = None
    """The generation of the tool that this was found of."""


READY = "Ready"
"""The tool is listed and can be called: its schemas compile and the API server accepts its Job."""
ENVIRONMENT_COMPLETE = "EnvironmentComplete"
"""Every property of the input schema has an environment variable; False names those that are only in the file."""


class ToolStatus(Resource):
    """What the operator found."""

    observed_generation: int | None = None
    """The generation that the conditions speak of."""
    conditions: Annotated[
        tuple[Condition, ...], enforced(**{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]})
    ] = ()
    """`Ready` and `EnvironmentComplete`."""


class McpTool(Resource):
    """One MCP tool, whose calls run as Jobs."""

    api_version: Literal["mcptasks.dev/v1alpha1"] = API_VERSION
    kind: Literal["McpTool"] = "McpTool"
    metadata: Metadata
    spec: ToolSpec
    status: ToolStatus = Field(default_factory=ToolStatus)

    @property
    def name(self) -> str:
        """The tool's name as clients see it."""
        return self.spec.name or self.metadata.name

    @property
    def is_ready(self) -> bool:
        """Whether the operator found this very generation fit to be called."""
        return self.status.observed_generation == self.metadata.generation and any(
            condition.type == READY and condition.status == "True" for condition in self.status.conditions
        )
