"""The protocol's values as a client sees them: tools, results, and the tasks extension's flat tasks.

`mcp-types` has the extension's names with an older revision's shapes, and refuses content blocks that it does not know;
a client that has waited a day for a result must not lose it to a new kind of block. So these models name what is
needed, keep what they do not know, and hand over to `mcp-types` on request (`ToolResult.typed`).
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    TypeAdapter,
    model_validator,
)
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from mcp_types import CallToolResult


class WireModel(BaseModel):
    """A frozen value that reads and writes the wire's camelCase names and keeps unknown fields."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, alias_generator=to_camel, extra="allow")

    _source: Mapping[str, Any] | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_source(cls, data: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        value = build(data)
        if isinstance(data, Mapping):
            value._source = data
        return value

    def document(self) -> dict[str, Any]:
        """The value as it was on the wire, to the letter."""
        return self.model_dump(mode="json", by_alias=True) if self._source is None else dict(self._source)


class Status(StrEnum):
    """Where a task stands, in the extension's words."""

    WORKING = "working"
    """It is under way, or waits for someone else than this client."""
    INPUT_REQUIRED = "input_required"
    """It waits for answers from this client."""
    COMPLETED = "completed"
    """The tool gave a result, which may be a tool error."""
    FAILED = "failed"
    """The tool could not be run."""
    CANCELLED = "cancelled"
    """It was cancelled before it ended."""

    @property
    def is_terminal(self) -> bool:
        """Whether the task is over: such a status never changes."""
        return self not in {Status.WORKING, Status.INPUT_REQUIRED}


class Tool(WireModel):
    """A tool that can be called."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Mapping[str, Any] = Field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None


class Discovery(WireModel):
    """What a server says of itself."""

    supported_versions: tuple[str, ...]
    capabilities: Mapping[str, Any] = Field(default_factory=dict)
    instructions: str | None = None

    def has_extension(self, identifier: str) -> bool:
        """Whether the server advertises an extension."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, Mapping) and identifier in extensions


class ToolResult(WireModel):
    """What a tool gave: MCP's CallToolResult."""

    content: tuple[Mapping[str, Any], ...] = ()
    """Content blocks, as the server sent them."""
    structured_content: Any = None
    """The structured result, for tools that have an output schema."""
    is_error: bool = False
    """Whether the tool says that it failed."""

    @property
    def text(self) -> str:
        """The text blocks, each from a line of its own."""
        return "\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")

    def typed(self) -> "CallToolResult":
        """The result as `mcp-types` has it.

        Raises:
            pydantic.ValidationError: it holds what that package does not know.
        """
        from mcp_types import CallToolResult  # noqa: PLC0415  # costs 0.2 s, and few ask for it

        return CallToolResult.model_validate(self.document())


class InputRequired(WireModel):
    """The server asks before it starts: the call is to be repeated with answers."""

    input_requests: Mapping[str, Any] = Field(default_factory=dict)
    """The questions by key."""
    request_state: str | None = None
    """What the repeated call must carry back."""


class ErrorBody(WireModel):
    """A JSON-RPC error."""

    code: int
    message: str
    data: Any = None


class TaskFields(WireModel):
    """What all states of a task have."""

    task_id: str
    created_at: datetime
    last_updated_at: datetime
    ttl_ms: int | None = None
    """How long the task is kept, in milliseconds from its creation; None: without end."""
    poll_interval_ms: int | None = None
    """How often to ask, in milliseconds; None: as one likes."""
    status_message: str | None = None
    """What is happening, for people."""


class CreatedTask(TaskFields):
    """The answer to a call that became a task."""

    status: Status


class WorkingTask(TaskFields):
    """It goes on."""

    status: Literal[Status.WORKING]


class InputRequiredTask(TaskFields):
    """It waits for answers."""

    status: Literal[Status.INPUT_REQUIRED]
    input_requests: Mapping[str, Any]
    """The open questions by key."""


class CompletedTask(TaskFields):
    """It gave a result."""

    status: Literal[Status.COMPLETED]
    result: ToolResult


class FailedTask(TaskFields):
    """It could not be run."""

    status: Literal[Status.FAILED]
    error: ErrorBody


class CancelledTask(TaskFields):
    """It was cancelled."""

    status: Literal[Status.CANCELLED]


Task = Annotated[
    WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask, Field(discriminator="status")
]
"""A task as `tasks/get` shows it."""

TASK: TypeAdapter[Task] = TypeAdapter(Task)
"""Reads a task from the wire."""
