"""Which tools a caller is offered, and in which order: packs' and McpTools as the catalogue has them, then our own."""

from .caller import Caller
from .dispatch import Services
from .tools import JobTool, Tool


def offered_tools(services: Services, *, caller: Caller) -> tuple[Tool, ...]:
    """The tools that a caller sees.

    The companion tools are among them while a call of any of the others may be answered by a handle.

    Raises:
        UnavailableError: they are not known yet.
    """
    tools = tuple(tool for tool in services.catalogue.tools() if tool.admits(caller))
    hands_out = any(isinstance(tool, JobTool) and tool.may_hand_out for tool in tools)
    return tools + services.companions if hands_out else tools


def find_tool(services: Services, name: str, *, caller: Caller) -> Tool | None:
    """The tool of that name; None where this caller has none. Companion tools are there for tasks that are.

    Raises:
        UnavailableError: the tools are not known yet.
    """
    for companion in services.companions:
        if companion.name == name:
            return companion
    tool = services.catalogue.find(name)
    return tool if tool is not None and tool.admits(caller) else None
