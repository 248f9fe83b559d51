"""`tools/list`, for both eras. Source: both specifications' "Tools", "Pagination", "Caching"."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from mcp_types import PaginatedRequestParams

from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.offers import offered_tools
from mcptasks_server.tools import JobTool, Tool

PAGE_SIZE: Final = 200
"""Tools in one answer. Many clients never ask for a second page."""
CACHE_MS: Final = 1000
"""How long a list may be taken for fresh by a client that does not listen for changes."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some of the tools."""

    tools: tuple[Tool, ...]
    next_cursor: str | None
    """By what the next page is asked for; None at the end."""


async def list_tools(services: Services, exchange: Exchange) -> Result:
    """The tools that its caller can call, a page at a time, as the modern wire lists them."""
    page = await page_of_tools(services, exchange)
    result: dict[str, Any] = {
        "resultType": "complete",
        "tools": [orjson.Fragment(tool.listed) for tool in page.tools],
        "ttlMs": CACHE_MS,
        "cacheScope": "private",  # a list may depend on who asks
    }
    return result if page.next_cursor is None else {**result, "nextCursor": page.next_cursor}


async def page_of_tools(services: Services, exchange: Exchange) -> Page:
    """The page of the caller's tools that a request asks for by its `cursor`.

    Raises:
        InvalidParamsError: the cursor is none that this server has given.
        UnavailableError: the tools are not known yet.
    """
    params = {"cursor": exchange.params["cursor"]} if "cursor" in exchange.params else {}
    cursor = parsed(PaginatedRequestParams, params).cursor
    tools = offered_tools(services, caller=exchange.caller)
    begin = 0 if cursor is None else _place_after(cursor, tools)
    page = tools[begin : begin + PAGE_SIZE]
    is_last = begin + PAGE_SIZE >= len(tools)
    return Page(tools=page, next_cursor=None if is_last else _cursor_of(page[-1]))


def _cursor_of(last: Tool) -> str:
    """A page's last tool, and whether it stands among those that are sorted by name."""
    return base64.urlsafe_b64encode(json.dumps([last.name, isinstance(last, JobTool)]).encode()).decode()


def _place_after(cursor: str, tools: Sequence[Tool]) -> int:
    """Where the next page begins. A tool that has gone since leaves its place to the one that comes after its name."""
    name, is_sorted = _opened(cursor)
    for place, tool in enumerate(tools):
        if tool.name == name:
            return place + 1
    if not is_sorted:
        return 0  # other packs by now: rather twice than not at all
    later = (place for place, tool in enumerate(tools) if isinstance(tool, JobTool) and tool.name > name)
    past_all = max((place for place, tool in enumerate(tools) if isinstance(tool, JobTool)), default=-1) + 1
    return next(later, past_all)


def _opened(cursor: str) -> tuple[str, bool]:
    try:
        name, is_sorted = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        raise InvalidParamsError("Invalid params: cursor: it is none that this server has given") from error
    if not isinstance(name, str) or not isinstance(is_sorted, bool):
        raise InvalidParamsError("Invalid params: cursor: it is none that this server has given")
    return name, is_sorted
