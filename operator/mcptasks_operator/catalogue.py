"""The tools as they are now, parsed, by the name that clients call them by."""

from pydantic import ValidationError

from mcptasks_crds.kube import TOOLS
from mcptasks_crds.tool import McpTool

from .store import Store, version_of
from .tool_checks import name_conflicts


class Catalogue:
    """Reads tools out of the store; each version of a tool is parsed once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._parsed: dict[str, tuple[str, McpTool | None]] = {}

    def tool(self, resource: str) -> McpTool | None:
        """The McpTool of that name; None where there is none, or none that can be read."""
        document = self._store.get(TOOLS, resource)
        if document is None:
            self._parsed.pop(resource, None)
            return None
        version = version_of(document)
        known = self._parsed.get(resource)
        if known is None or known[0] != version:
            known = self._parsed[resource] = (version, _parse(document))
        return known[1]

    def holder(self, name: str) -> McpTool | None:
        """The tool that clients call by this name: the oldest of those that claim it."""
        claimants = [tool for tool in self.all() if tool.name == name]
        conflicts = name_conflicts(claimants)
        return next((tool for tool in claimants if tool.metadata.name not in conflicts), None)

    def all(self) -> tuple[McpTool, ...]:
        """All tools that can be read."""
        tools = (self.tool(resource) for resource in self._store.names(TOOLS))
        return tuple(tool for tool in tools if tool is not None)


def _parse(document: dict[str, object]) -> McpTool | None:
    try:
        return McpTool.model_validate(document)
    except ValidationError:
        return None
