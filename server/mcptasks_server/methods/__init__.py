"""The methods of the modern era, and the one table that names them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mcptasks_server.dispatch import Method

from . import discover, tasks, tools

MODERN: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "server/discover": Method(run=discover.discover),
        "tools/list": Method(run=tools.list_tools),
        "tools/call": Method(run=tools.call_tool),
        "tasks/get": Method(run=tasks.get_task, needs_tasks=True),
        "tasks/update": Method(run=tasks.update_task, needs_tasks=True),
        "tasks/cancel": Method(run=tasks.cancel_task, needs_tasks=True),
    }
)
"""Every other method is unknown (-32601). `subscriptions/listen` will be the next one."""
