"""All tools of a server as one list: those of its packs first, in their own order, then McpTools by name.

The order is the same for everybody and at every replica, so a list can be read a page at a time.
"""

from collections.abc import Sequence
from typing import Any

import structlog

from .tools import Catalogue, InlineTool, Tool


class CombinedCatalogue:
    """Inline tools around a catalogue of McpTools."""

    def __init__(self, jobs: Catalogue, *, packs: Sequence[InlineTool]) -> None:
        self._jobs = jobs
        self._packs = {tool.name: tool for tool in packs}
        self._shadowed: frozenset[str] = frozenset()
        self._log: Any = structlog.get_logger()

    def tools(self) -> tuple[Tool, ...]:
        """All of them, in their order.

        A McpTool whose name a pack has is left out: the pack's tool is called.

        Raises:
            UnavailableError: the McpTools are not known yet.
        """
        jobs = self._jobs.tools()
        self._warn_of(frozenset(tool.name for tool in jobs if tool.name in self._packs))
        return (*self._packs.values(), *(tool for tool in jobs if tool.name not in self._packs))

    def find(self, name: str) -> Tool | None:
        """The tool of that name; None where there is none that can be called.

        Raises:
            UnavailableError: the McpTools are not known yet, and it may be one of them.
        """
        return self._packs.get(name) or self._jobs.find(name)

    def _warn_of(self, shadowed: frozenset[str]) -> None:
        """Once each, for as long as it stays so."""
        for name in sorted(shadowed - self._shadowed):
            self._log.warning("a McpTool is not served: a tool pack has a tool of its name", tool=name)
        self._shadowed = shadowed
