"""The one table that names the methods of the modern era."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mcptasks_server.dispatch import Method
from mcptasks_server.methods import discover, tasks, tools

METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "server/discover": Method(run=discover.discover),
        "tools/list": Method(run=tools.list_tools),
        "tools/call": Method(run=tools.call_tool),
        "tasks/get": Method(run=tasks.get_task, needs_tasks=True),
        "tasks/update": Method(run=tasks.update_task, needs_tasks=True),
        "tasks/cancel": Method(run=tasks.cancel_task, needs_tasks=True),
    }
)
"""Every other method is unknown (-32601)."""
