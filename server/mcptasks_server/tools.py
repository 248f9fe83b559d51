"""A tool that can be called: an McpTool, made ready once a generation, or one that runs in this process."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from mcptasks_crds.mirrored import MirroredParameter, mirrored_parameters
from mcptasks_crds.policy import Access, TaskSupport
from mcptasks_crds.questions import TaskQuestion, as_asked
from mcptasks_crds.schemas import Schema
from mcptasks_crds.secretarguments import argument_schema
from mcptasks_crds.tool import McpTool, ToolSpec

from .caller import Caller
from .exchange import Exchange, Result
from .handles import HANDLE_SCHEMA
from .unions import either


@dataclass(frozen=True, kw_only=True)
class Tool:
    """What every tool has: how it is listed, and what its arguments must be."""

    name: str
    """The name as clients see it."""
    input_schema: Mapping[str, Any]
    """The schema of its arguments, as its author wrote it."""
    arguments: Schema
    """The same, compiled."""
    mirrored: tuple[MirroredParameter, ...]
    """The arguments that must stand in headers too."""
    listed: bytes
    """Its entry in `tools/list`, as JSON."""
    access: Access | None = None
    """Who may see and call it; everybody if None."""

    @property
    def task_support(self) -> TaskSupport:
        """Whether a call becomes a task that its client knows of."""
        return TaskSupport.FORBIDDEN

    def admits(self, caller: Caller) -> bool:
        """Whether a caller may see and call it: for all others it does not exist."""
        return self.access is None or self.access.admits(caller.name, caller.groups)


@dataclass(frozen=True, kw_only=True)
class JobTool(Tool):
    """A tool whose calls become tasks."""

    uid: str
    """The McpTool's uid."""
    generation: int
    """The McpTool's generation that all this was made from."""
    retention_seconds: int
    poll_interval_ms: int
    support: TaskSupport = TaskSupport.OPTIONAL
    hold_seconds: float | None = None
    """How long a plain call is held before its client gets a handle; None: until the task ends."""
    questions: Mapping[str, TaskQuestion] = field(default_factory=dict)
    """What is asked before the pod starts."""
    output_schema: Mapping[str, Any] | None = None
    """The schema of its structured results, as its author wrote it."""
    running_limit: int | None = None
    """How many of its tasks may run at the same time; None: as many as are called."""
    queued_limit: int | None = None
    """How many may wait; None: it has no queue."""

    @property
    def task_support(self) -> TaskSupport:
        """Whether a call becomes a task that its client knows of."""
        return self.support

    @property
    def may_hand_out(self) -> bool:
        """Whether a plain call may be answered by a handle in place of the tool's own result."""
        return self.hold_seconds is not None


@dataclass(frozen=True, kw_only=True)
class InlineTool(Tool):
    """A tool that runs in this process, for what takes a second or two."""

    run: Callable[[Exchange, Mapping[str, Any]], Awaitable[Result]]
    """Runs a call with its checked arguments; gives the members of a CallToolResult, without `resultType`."""


class Catalogue(Protocol):
    """The tools that can be called now."""

    def tools(self) -> tuple[Tool, ...]:
        """All of them, by name.

        Raises:
            UnavailableError: they are not known yet.
        """
        ...

    def find(self, name: str) -> Tool | None:
        """The tool of that name; None where there is none that can be called.

        Raises:
            UnavailableError: they are not known yet.
        """
        ...


def make_tool(resource: McpTool) -> JobTool:
    """A McpTool, made ready to be called.

    Raises:
        SchemaError: its input schema is not valid.
    """
    spec = resource.spec
    return JobTool(
        name=resource.name,
        uid=resource.metadata.uid,
        generation=resource.metadata.generation,
        input_schema=spec.input_schema,
        arguments=argument_schema(spec.input_schema),
        mirrored=mirrored_parameters(spec.input_schema),
        listed=orjson.dumps(_listed(resource)),
        retention_seconds=spec.retention_seconds,
        poll_interval_ms=spec.poll_interval_ms,
        support=spec.task_support,
        hold_seconds=spec.held_seconds,
        questions=as_asked(spec.questions),
        output_schema=spec.output_schema,
        running_limit=spec.running_limit,
        queued_limit=spec.queued_limit,
        access=spec.access,
    )


def _listed(resource: McpTool) -> dict[str, Any]:
    """The tool as MCP lists it. Schemas, annotations and icons pass through as they were written."""
    spec = resource.spec
    optional = {
        "title": spec.title,
        "outputSchema": _output_schema(spec),
        "annotations": spec.annotations,
        "icons": spec.icons,
    }
    return {
        "name": resource.name,
        "description": spec.description,
        "inputSchema": spec.input_schema,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _output_schema(spec: ToolSpec) -> Mapping[str, Any] | None:
    """The schema that every result conforms to: a handle too, where one may come in place of the tool's own result.

    The same for everybody, whichever door they take, for a list does not depend on who asks how.
    """
    if spec.output_schema is None or spec.held_seconds is None:
        return spec.output_schema
    return either(spec.output_schema, HANDLE_SCHEMA)
