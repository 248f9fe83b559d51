"""McpTask: one call of a tool.

`spec` is what is wanted. The server writes it at creation; afterwards only `answers`, `cancelRequested` and `detached`
may change, each in one direction. `status` is what is so: the operator writes it, `report` aside, which is the pod's
own word and is written by the task endpoint. The API server enforces all of this by the CRD's rules.

Arguments, answers and results are kept as JSON *text*: an API server's own JSON drops nulls in merge patches and the
digits of large integers, and turns 1.0 into 1.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from . import limits
from .base import Resource, Timestamp, enforced
from .metadata import Metadata
from .names import API_VERSION, TOOL_NAME_PATTERN
from .phases import Phase
from .questions import DEFAULT_EXPIRY_SECONDS, ExpirySeconds, TaskQuestion
from .reasons import Reason

Uid = Annotated[str, enforced(maxLength=64)]
"""An object's uid."""
ObjectName = Annotated[str, enforced(minLength=1, maxLength=253)]
"""An object's name, a DNS-1123 subdomain."""
Generation = Annotated[int, Field(ge=0)]
"""An object's generation."""
CallerName = Annotated[str, enforced(minLength=1, maxLength=limits.CALLER_STORED_BYTES)]
"""Somebody who was authenticated."""
QuestionKey = Annotated[str, enforced(maxLength=limits.QUESTION_KEY_LENGTH)]
"""A question's key."""
Message = Annotated[str, enforced(maxLength=limits.MESSAGE_STORED_BYTES)]
"""A sentence for people."""
SecretName = Annotated[str, enforced(minLength=1, maxLength=90)]
"""The name of a Secret that `names` has made."""
ResultText = Annotated[str, enforced(minLength=2, maxLength=limits.RESULT_STORED_BYTES)]
"""A result as JSON text."""


class ToolReference(Resource):
    """Which tool is called."""

    name: Annotated[str, enforced(pattern=TOOL_NAME_PATTERN, maxLength=128)]
    """The tool's name as the client sees it."""
    uid: Uid | None = None
    """The McpTool's uid at the time of the call."""
    generation: Generation | None = None
    """The McpTool's generation at the time of the call."""


class ArgumentsSource(Resource):
    """Where arguments are that are too large for the object itself."""

    secret_name: ObjectName
    """A Secret in the task's namespace, owned by the task, with the arguments under the key `arguments.json`."""


class AnswerRoad(StrEnum):
    """By which road an answer came."""

    CALLER = "caller"
    """The task's client gave it, by the server."""
    MODEL = "model"
    """A model gave it, by the server's `task_answer`."""
    APPROVER = "approver"
    """An approver gave it, by the Kubernetes API."""
    EXPIRED = "expired"
    """None came in time: the question is closed, and the pod was told `cancel`."""


class Answer(Resource):
    """An answer to one question."""

    response: Annotated[str, enforced(minLength=2, maxLength=limits.ANSWER_STORED_BYTES)]
    """The answer as MCP has it (`action`, `content`), as JSON text."""
    by: CallerName | None = None
    """Who answered. An approver's own user name; where the admission policy is in force, no other one is taken."""
    road: Literal[AnswerRoad.CALLER, AnswerRoad.MODEL, AnswerRoad.APPROVER] | None = None
    """By which road it came. The server says it of its callers' answers; absent on an approver's."""
    reason: Annotated[str, enforced(maxLength=limits.ANSWER_REASON_LENGTH)] | None = None
    """Why, for people."""


class TaskSpec(Resource):
    """What is wanted."""

    tool: ToolReference
    """The tool that is called."""
    arguments: Annotated[str, enforced(minLength=2, maxLength=limits.ARGUMENTS_INLINE_BYTES)] | None = None
    """The call's arguments, a JSON object as text. Absent where `argumentsFrom` is set."""
    arguments_from: ArgumentsSource | None = None
    """Where the arguments are, when they are too large to stand here."""
    caller: CallerName = "anonymous"
    """Who called. Decides who may read, answer and cancel the task."""
    retention_seconds: Annotated[int, Field(ge=1, le=31_536_000)] = 3600
    """How long the task is kept after its end."""
    poll_interval_ms: Annotated[int, Field(ge=50, le=3_600_000)] = 1000
    """How often clients are told to poll, in milliseconds."""
    questions: Annotated[Mapping[str, TaskQuestion], enforced(maxProperties=limits.MAX_TOOL_QUESTIONS)] = Field(
        default_factory=dict
    )
    """What the tool asks before its pod starts, by key, as it was when the tool was called."""
    progress_token: Annotated[str, enforced(maxLength=limits.PROGRESS_TOKEN_STORED_BYTES)] | None = None
    """The progress token of the call, as JSON text: a string or an integer, as the client wrote it."""
    arguments_digest: Annotated[str, enforced(pattern="^[0-9a-f]{64}$", maxLength=64)] | None = None
    """A keyed hash of the arguments, where the call had an idempotency key: its retry must have the same ones."""
    answers: Annotated[Mapping[str, Answer], enforced(maxProperties=limits.MAX_ANSWERS)] = Field(default_factory=dict)
    """Answers by the question's key. The first one for a key stays."""
    cancel_requested: bool = False
    """Whether the task's client wants it cancelled. Cannot be taken back."""
    detached: bool = False
    """Whether a held call has handed out the task's id, so that no disconnect ends it. Cannot be taken back."""


class Progress(Resource):
    """How far the tool says it is."""

    progress: float
    """The progress so far; never falls within one attempt."""
    total: float | None = None
    """What `progress` will be at the end, where known."""
    message: Annotated[str, enforced(maxLength=limits.PROGRESS_MESSAGE_STORED_BYTES)] | None = None
    """What the tool is doing, for people."""
    display: Annotated[str, enforced(maxLength=limits.PROGRESS_DISPLAY_STORED_BYTES)] | None = None
    """The two numbers as people read them: `3/10`."""
    pod_uid: Uid | None = Field(default=None, alias="podUID")
    """The pod that says so. Another attempt's pod may begin anew, and only the current one (`status.job.podUID`) is
    believed."""


class Question(Resource):
    """What the running pod asks."""

    message: Annotated[str, enforced(maxLength=limits.QUESTION_MESSAGE_STORED_BYTES)]
    """The question, for people."""
    requested_schema: Annotated[str, enforced(minLength=2, maxLength=limits.QUESTION_SCHEMA_STORED_BYTES)]
    """The form to be filled in, as MCP's elicitation schema, as JSON text."""
    asked_at: Timestamp
    """When it was asked."""
    model_may_answer: bool = False
    """Whether a model may answer by itself."""
    expiry_seconds: ExpirySeconds = DEFAULT_EXPIRY_SECONDS
    """How long after it was asked an answer is waited for, in seconds. Afterwards the pod is told `cancel`."""

    @property
    def expires_at(self) -> datetime:
        """When an answer comes too late."""
        try:
            return self.asked_at + timedelta(seconds=self.expiry_seconds)
        except OverflowError:  # somebody wrote a date near the last one that there is
            return self.asked_at


_SchemaDigest = Annotated[str, enforced(pattern="^[0-9a-f]{16}$", maxLength=16)]
_End = Annotated[str, enforced(maxLength=limits.REFUSED_END_STORED_BYTES)]
_ContentKey = Annotated[
    str, enforced(pattern=f"^[0-9a-f]{{{limits.CONTENT_KEY_LENGTH}}}$", maxLength=limits.CONTENT_KEY_LENGTH)
]


class ResultSource(Resource):
    """Where a result is that is too large for the object, and what is known of it without reading it."""

    secret_name: SecretName
    """A Secret in the task's namespace, owned by the task, with the result under the key `result.json`."""
    bytes: Annotated[int, Field(ge=2)]
    """How long it is, in bytes of UTF-8."""
    is_error: bool = False
    """Whether it says that the tool failed."""
    schema_digest: _SchemaDigest | None = None
    """Of the output schema that its structured content was held against (`schemas.digest`); absent where there was none
    to hold it against."""
    violation: Annotated[str, enforced(maxLength=limits.VIOLATION_STORED_BYTES)] | None = None
    """How it breaks that schema."""


class ContentSource(Resource):
    """Where parts of the result are that are too large for the object."""

    posts: Annotated[int, Field(ge=1, le=limits.MAX_CONTENT_POSTS)]
    """How many of the last `contentKeys` have their parts in a Secret each (`names.content_secret_name`), owned by the
    task, under the key `result.json`."""
    bytes: Annotated[int, Field(ge=2)]
    """How long these are together, in bytes of UTF-8."""


class TooLarge(Resource):
    """A result that was refused, for it is larger than is kept at all."""

    bytes: Annotated[int, Field(ge=0)]
    """How long it was, with the parts before it."""
    limit: Annotated[int, Field(ge=0)]
    """How long it might have been."""
    head: _End
    """How its text begins."""
    tail: _End
    """How its text ends."""


class Report(Resource):
    """The pod's own word."""

    progress: Progress | None = None
    """The last progress."""
    questions: Annotated[Mapping[str, Question], enforced(maxProperties=limits.MAX_QUESTIONS)] = Field(
        default_factory=dict
    )
    """Questions by key. A question stays as it was asked."""
    content: Annotated[str, enforced(minLength=2, maxLength=limits.RESULT_STORED_BYTES)] | None = None
    """Parts that are put before those of the result, in order: a JSON array as text, to which parts are only added."""
    content_keys: Annotated[tuple[_ContentKey, ...], enforced(maxItems=limits.MAX_CONTENT_POSTS)] = ()
    """Hashes of the keys by which the parts were given, so that the same ones are not taken twice."""
    content_from: ContentSource | None = None
    """Where the last of these parts are, when they are too large to stand in `content`."""
    result: ResultText | None = None
    """The result, as MCP's CallToolResult, as JSON text. Given once."""
    result_from: ResultSource | None = None
    """Where the result is, when it is too large to stand here. Given once, and never beside `result`."""
    too_large: TooLarge | None = None
    """The last result that was refused, for it is larger than is kept at all."""

    @property
    def has_result(self) -> bool:
        """Whether the result was given."""
        return self.result is not None or self.result_from is not None


class ToolSeen(Resource):
    """The tool as it was when the Job was rendered."""

    resource: ObjectName
    """The McpTool's name."""
    uid: Uid
    """The McpTool's uid."""
    generation: Generation
    """The McpTool's generation."""


class JobSeen(Resource):
    """The Job that runs the task."""

    name: ObjectName
    """The Job's name."""
    uid: Uid
    """The Job's uid. Written once: a task never has a second Job."""
    pod_name: ObjectName | None = None
    """The pod of the current attempt."""
    pod_uid: Uid | None = Field(default=None, alias="podUID")
    """That pod's uid: reports are taken from it alone."""


class Rejection(StrEnum):
    """Why an answer does not count."""

    INVALID = "Invalid"
    """It is not what the question's form asks for."""
    NOT_ASKED = "NotAsked"
    """Whoever gave it is not among those who may answer."""


class AnswerSeen(Resource):
    """What is known of a question's answer beside the answer itself."""

    at: Timestamp
    """When it was seen, or when the time for it was over."""
    road: AnswerRoad
    """By which road it came."""
    by: Annotated[str, enforced(maxLength=limits.ANSWERER_SEEN_STORED_BYTES)] | None = None
    """Who gave it."""
    verified: bool = False
    """Whether `by` and `road` are certain: the admission policy was in force before there was the task."""
    rejected: Rejection | None = None
    """Why the answer does not count; absent where it does. An Event says it in full."""
    asked_again_as: QuestionKey | None = None
    """The key under which the question is asked again, where the answer does not count."""


class Stopping(Resource):
    """A stop that was begun. Written before anything is stopped, so that an exit after it is not the tool's own."""

    reason: Literal[Reason.CANCELLED, Reason.RUN_LIMIT]
    """Why the task is being stopped."""
    at: Timestamp
    """Since when."""


class TaskResult(Resource):
    """Where the result is: here, or where the report says. It is never kept twice."""

    inline: ResultText | None = None
    """The result, as MCP's CallToolResult, as JSON text."""
    source: Literal["report"] | None = Field(default=None, alias="from")
    """`report`: the result is `status.report.result`, or where `status.report.resultFrom` says."""


class TaskError(Resource):
    """Why the platform could not run the tool, as the JSON-RPC error that the client gets."""

    code: int
    """The JSON-RPC error code."""
    message: Message
    """What happened, for people."""


SUCCEEDED: Final = "Succeeded"
"""The one condition of a task: True once the tool gave its result, False once it is over otherwise."""


class TaskCondition(Resource):
    """A condition, as Kubernetes has them: for `kubectl wait --for=condition=Succeeded` and whatever reads the like."""

    type: Literal["Succeeded"]
    """`Succeeded`: whether the tool did what was asked."""
    status: Literal["True", "False", "Unknown"]
    """`Unknown` as long as the task is not over."""
    reason: Annotated[str, enforced(pattern="^[A-Za-z]+$", maxLength=40)]
    """`status.reason` of a task that is over. Until then what its start waits for, else its phase."""
    message: Annotated[str, enforced(maxLength=limits.CONDITION_MESSAGE_STORED_BYTES)] = ""
    """The beginning of `status.message`; empty where the task succeeded."""
    last_transition_time: Timestamp
    """Since when `status` is what it is."""


class TaskStatus(Resource):
    """What is so."""

    phase: Phase | None = None
    """Where the task stands. A phase that says it is over never changes."""
    reason: Reason | None = None
    """Why it ended, or is being stopped."""
    message: Message | None = None
    """What is happening, for people."""
    conditions: Annotated[
        tuple[TaskCondition, ...],
        enforced(**{"maxItems": 1, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
    ] = ()
    """`Succeeded`."""
    last_updated_at: Timestamp | None = None
    """When the status last changed."""
    started_at: Timestamp | None = None
    """When the tool's container first ran."""
    finished_at: Timestamp | None = None
    """When the task ended."""
    expires_at: Timestamp | None = None
    """Until when the task is kept. While the task lives it is a lease, renewed and never lowered."""
    attempts: Annotated[int, Field(ge=0)] = 0
    """How many pods were started for the task."""
    exit_code: int | None = None
    """The exit code of the tool's container."""
    tool: ToolSeen | None = None
    """The tool as it was when the Job was rendered."""
    job: JobSeen | None = None
    """The Job that runs the task."""
    answers: Annotated[Mapping[str, AnswerSeen], enforced(maxProperties=limits.MAX_ANSWERS)] = Field(
        default_factory=dict
    )
    """How, when and by whom questions were answered or closed, by key."""
    stopping: Stopping | None = None
    """A stop that was begun."""
    result: TaskResult | None = None
    """The result, once the tool gave one."""
    error: TaskError | None = None
    """The error, once the platform failed."""
    log_tail: Annotated[str, enforced(maxLength=limits.LOG_TAIL_STORED_BYTES)] | None = None
    """The end of the container's log: standard output and standard error, merged."""
    report: Report | None = None
    """The pod's own word."""


class McpTask(Resource):
    """One call of an MCP tool, run as a Job."""

    api_version: Literal["mcptasks.dev/v1alpha1"] = API_VERSION
    kind: Literal["McpTask"] = "McpTask"
    metadata: Metadata
    spec: TaskSpec
    status: TaskStatus = Field(default_factory=TaskStatus)
