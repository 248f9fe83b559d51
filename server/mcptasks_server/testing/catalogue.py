"""A catalogue whose tools are given."""

from collections.abc import Mapping
from typing import Any

from mcptasks_crds.metadata import Metadata
from mcptasks_crds.tool import McpTool, ToolJob, ToolSpec
from mcptasks_server.errors import UnavailableError
from mcptasks_server.tools import JobTool, make_tool


def ready_tool(name: str, *, input_schema: Mapping[str, Any] | None = None, **spec: Any) -> JobTool:
    """A tool of that name that can be called; `spec` are further fields of a McpTool's spec."""
    if input_schema is not None:
        spec["input_schema"] = input_schema
    job = ToolJob(template={"spec": {"containers": [{"name": "tool", "image": "example.org/tool:1"}]}})
    return make_tool(
        McpTool(
            metadata=Metadata(name=name.lower(), uid=f"uid-of-{name}", generation=1),
            spec=ToolSpec(name=name, description=f"The tool {name}.", job=job, **spec),
        )
    )


class FixedCatalogue:
    """The given tools, and no others."""

    def __init__(self, *tools: JobTool) -> None:
        self.offer(*tools)
        self.is_known = True
        """Whether the tools are known already."""

    def offer(self, *tools: JobTool) -> None:
        """Have these tools from here on, and no others."""
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda each: each.name)}

    def tools(self) -> tuple[JobTool, ...]:
        """All of them, by name."""
        self._check()
        return tuple(self._tools.values())

    def find(self, name: str) -> JobTool | None:
        """The tool of that name."""
        self._check()
        return self._tools.get(name)

    def _check(self) -> None:
        if not self.is_known:
            raise UnavailableError("the tools are not known yet")
