"""A tool that can be called: an McpTool, made ready once a generation, or one that runs in this process."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from mcptasks_crds.mirrored import MirroredParameter, mirrored_parameters
from mcptasks_crds.schemas import Schema
from mcptasks_crds.tool import McpTool

from .exchange import Exchange, Result


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


@dataclass(frozen=True, kw_only=True)
class JobTool(Tool):
    """A tool whose calls become tasks."""

    uid: str
    """The McpTool's uid."""
    generation: int
    """The McpTool's generation that all this was made from."""
    retention_seconds: int
    poll_interval_ms: int


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
        arguments=Schema(spec.input_schema),
        mirrored=mirrored_parameters(spec.input_schema),
        listed=orjson.dumps(_listed(resource)),
        retention_seconds=spec.retention_seconds,
        poll_interval_ms=spec.poll_interval_ms,
    )


def _listed(resource: McpTool) -> dict[str, Any]:
    """The tool as MCP lists it. Schemas, annotations and icons pass through as they were written."""
    spec = resource.spec
    optional = {
        "title": spec.title,
        "outputSchema": spec.output_schema,
        "annotations": spec.annotations,
        "icons": spec.icons,
    }
    return {
        "name": resource.name,
        "description": spec.description,
        "inputSchema": spec.input_schema,
        **{name: value for name, value in optional.items() if value is not None},
    }
