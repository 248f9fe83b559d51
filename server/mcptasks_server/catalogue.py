"""All tools of a server as one list: those of its packs first, then McpTools by name, then the server's own.

The order is the same for everybody and at every replica, so a list can be read a page at a time.
"""

from collections.abc import Sequence
from typing import Any

import structlog

from .tools import Catalogue, InlineTool, JobTool, Tool


class CombinedCatalogue:
    """Inline tools around a catalogue of McpTools."""

    def __init__(
        self, jobs: Catalogue, *, packs: Sequence[InlineTool] = (), companions: Sequence[InlineTool] = ()
    ) -> None:
        """`packs`: tools of packs, in their order. `companions`: the server's own, by which a task's handle is used."""
        self._jobs = jobs
        self._packs = {tool.name: tool for tool in packs}
        self._companions = {tool.name: tool for tool in companions}
        self._shadowed: frozenset[str] = frozenset()
        self._log: Any = structlog.get_logger()

    def tools(self) -> tuple[Tool, ...]:
        """All of them, in their order.

        A McpTool whose name a pack has is left out: the pack's tool is called. The companions are left out where no
        tool could hand out a handle.

        Raises:
            UnavailableError: the McpTools are not known yet.
        """
        jobs = self._jobs.tools()
        self._warn_of(frozenset(tool.name for tool in jobs if tool.name in self._packs))
        listed = [tool for tool in jobs if tool.name not in self._packs]
        has_handles = any(isinstance(tool, JobTool) and tool.may_hand_out for tool in listed)
        return (*self._packs.values(), *listed, *(self._companions.values() if has_handles else ()))

    def find(self, name: str) -> Tool | None:
        """The tool of that name, listed or not; None where there is none that can be called.

        Raises:
            UnavailableError: the McpTools are not known yet, and it may be one of them.
        """
        return self._packs.get(name) or self._companions.get(name) or self._jobs.find(name)

    def _warn_of(self, shadowed: frozenset[str]) -> None:
        """Once each, for as long as it stays so."""
        for name in sorted(shadowed - self._shadowed):
            self._log.warning("a McpTool is not served: a tool pack has a tool of its name", tool=name)
        self._shadowed = shadowed
