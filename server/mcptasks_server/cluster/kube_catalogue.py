"""`Catalogue` over a watch of the McpTools."""

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

from mcptasks_crds.schemas import SchemaError
from mcptasks_crds.tool import McpTool
from mcptasks_server.errors import UnavailableError
from mcptasks_server.tools import JobTool, make_tool

from .reflector import Reflector


class KubeCatalogue:
    """The tools of one namespace that the operator has found ready, in the very generation it has looked at."""

    def __init__(self, reflector: Reflector[McpTool], *, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called after the list of tools has become another one."""
        self._reflector, self._on_change = reflector, on_change
        self._changes = -1
        self._is_looking = False
        self._told: tuple[tuple[str, int], ...] = ()
        """Which tools the list had when somebody was told last."""
        self._made: dict[tuple[str, int], JobTool | None] = {}
        self._tools: dict[str, JobTool] = {}
        self._log: Any = structlog.get_logger()
        reflector.cache.listeners.append(lambda *_: self._look_soon())

    def tools(self) -> tuple[JobTool, ...]:
        """All of them, by name."""
        return tuple(self._current().values())

    def find(self, name: str) -> JobTool | None:
        """The tool of that name."""
        return self._current().get(name)

    def _current(self) -> dict[str, JobTool]:
        if not self._reflector.is_synced:
            raise UnavailableError("The server has just started and does not know its tools yet; please try again")
        if self._changes != self._reflector.cache.changes:
            self._changes = self._reflector.cache.changes
            self._tools = self._make()
        return self._tools

    def _look_soon(self) -> None:
        """Look whether the list is another one once all that comes now has come: a list brings many tools at once."""
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._is_looking = False
        if not self._reflector.is_synced:
            return
        listed = tuple((tool.uid, tool.generation) for tool in self._current().values())
        if listed != self._told:
            self._told = listed
            self._on_change()

    def _make(self) -> dict[str, JobTool]:
        ready = [resource for resource in self._reflector.cache if resource.is_ready]
        # Two McpTools may give themselves one name: the older one has it, at every replica.
        ready.sort(key=lambda each: (each.name, str(each.metadata.creation_timestamp), each.metadata.name))
        made = {_key(resource): self._tool(resource) for resource in ready}
        self._made = made
        tools: dict[str, JobTool] = {}
        for resource in ready:
            tool = made[_key(resource)]
            if tool is not None:
                tools.setdefault(tool.name, tool)
        return tools

    def _tool(self, resource: McpTool) -> JobTool | None:
        """Made once for each generation: compiling a schema costs more than a call does."""
        key = _key(resource)
        if key in self._made:
            return self._made[key]
        try:
            return make_tool(resource)
        except (SchemaError, RecursionError) as error:
            self._log.warning("a tool was passed over", tool=resource.name, error=str(error))
            return None


def _key(resource: McpTool) -> tuple[str, int]:
    return resource.metadata.uid, resource.metadata.generation
