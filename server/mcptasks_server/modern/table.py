"""The one table that names the methods of the modern era."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mcptasks_server.calls import call_tool
from mcptasks_server.dispatch import Method, Services
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.methods import discover, tasks, tools
from mcptasks_server.methods.packs import CACHED, LEGACY_ONLY, Operation, operations_of
from mcptasks_server.toolpack.packs import Packs

from .listen import Subscriptions

PACK_CACHE_MS: Final = 60_000
"""How long lists of a pack's prompts and resources may be taken for fresh: they only change with the process."""

METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "server/discover": Method(run=discover.discover),
        "tools/list": Method(run=tools.list_tools),
        "tools/call": Method(run=call_tool),
        "tasks/get": Method(run=tasks.get_task, needs_tasks=True),
        "tasks/update": Method(run=tasks.update_task, needs_tasks=True),
        "tasks/cancel": Method(run=tasks.cancel_task, needs_tasks=True),
    }
)
"""Every other method is unknown (-32601), those aside that tool packs bring."""


def methods_of(packs: Packs) -> Mapping[str, Method]:
    """The methods of a server with these packs."""
    theirs = {
        name: Method(run=_run(name, run)) for name, run in operations_of(packs).items() if name not in LEGACY_ONLY
    }
    return MappingProxyType({**METHODS, "subscriptions/listen": Method(run=Subscriptions().listen), **theirs})


def _run(name: str, operation: Operation) -> Operation:
    """An operation of a pack, whose results say what this era's say."""
    extra: dict[str, Any] = {"resultType": "complete"}
    if name in CACHED:
        extra |= {"ttlMs": PACK_CACHE_MS if name.endswith("/list") else 0, "cacheScope": "private"}

    async def run(services: Services, exchange: Exchange) -> Result:
        return {**await operation(services, exchange), **extra}

    return run
