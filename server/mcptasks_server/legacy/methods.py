"""The one table of the legacy era's methods, and those that are only its own."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import orjson

from mcptasks_server.calls import call_tool
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.exchange import LOG_LEVELS, Exchange, Result
from mcptasks_server.methods.packs import operations_of
from mcptasks_server.methods.tools import page_of_tools
from mcptasks_server.toolpack.packs import Packs
from mcptasks_server.tools import Tool

from . import tasks
from .exchange import LegacyExchange

Operation = Callable[[Services, LegacyExchange], Awaitable[Result]]

INITIALIZE: Final = "initialize"


def methods_of(packs: Packs, *, has_tasks: bool, knows_callers: bool) -> Mapping[str, Operation]:
    """The methods of a session, by name; `initialize`, which has none yet, aside. Every other one is unknown (-32601).

    `has_tasks`: whether its version has tasks. `knows_callers`: whether callers are told apart, so that tasks can be
    listed.
    """
    found: dict[str, Operation] = {
        "ping": ping,
        "logging/setLevel": set_level,
        "tools/list": list_tools,
        "tools/call": call_tool,
        **operations_of(packs),
    }
    if has_tasks:
        found |= {
            "tasks/get": tasks.get_task,
            "tasks/result": tasks.task_result,
            "tasks/cancel": tasks.cancel_task,
        }
        if knows_callers:
            found["tasks/list"] = tasks.list_tasks
    return found


async def ping(_services: Services, _exchange: Exchange) -> Result:
    """Say that it lives."""
    return {}


async def set_level(_services: Services, exchange: LegacyExchange) -> Result:
    """Note from which level up the session wants log messages."""
    level = exchange.params.get("level")
    if level not in LOG_LEVELS:
        raise InvalidParamsError(f"Invalid params: level: must be one of {', '.join(LOG_LEVELS)}")
    exchange.replica.log_levels.set(exchange.session.nonce, level)
    return {}


async def list_tools(services: Services, exchange: LegacyExchange) -> Result:
    """The tools that can be called, a page at a time; each says whether it runs as a task."""
    page = await page_of_tools(services, exchange)
    listed = [orjson.Fragment(_listed(tool) if exchange.session.has_tasks else tool.listed) for tool in page.tools]
    return {"tools": listed} | ({} if page.next_cursor is None else {"nextCursor": page.next_cursor})


def _listed(tool: Tool) -> bytes:
    # Its author's own text, and one member more.
    return tool.listed[:-1] + b',"execution":{"taskSupport":"' + tool.task_support.encode() + b'"}}'
