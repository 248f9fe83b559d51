"""`tools/list` and `tools/call`. Source: specification 2026-07-28, "Tools", "Pagination", "Caching"."""

import base64
import binascii
from typing import Any, Final

import orjson
from mcp_types import CallToolRequestParams, PaginatedRequestParams

from mcptasks_crds.arguments import EMPTY
from mcptasks_crds.limits import ARGUMENTS_BYTES, KIB
from mcptasks_crds.schemas import Violation
from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.jsonrpc import quoted
from mcptasks_server.tasks import NewTask
from mcptasks_server.tools import JobTool

PAGE_SIZE: Final = 200
"""Tools in one answer. Many clients never ask for a second page."""
CACHE_MS: Final = 1000
"""How long a list may be taken for fresh: nobody is told when it changes."""
MAX_VIOLATION_LENGTH: Final = 500


async def list_tools(services: Services, exchange: Exchange) -> Result:
    """The tools that can be called, by name, a page at a time."""
    cursor = parsed(PaginatedRequestParams, _only(exchange, "cursor")).cursor
    after = None if cursor is None else _name_of(cursor)
    rest = [tool for tool in services.catalogue.tools() if after is None or tool.name > after]
    page = rest[:PAGE_SIZE]
    result: dict[str, Any] = {
        "resultType": "complete",
        "tools": [orjson.Fragment(tool.listed) for tool in page],
        "ttlMs": CACHE_MS,
        "cacheScope": "private",  # a list may depend on who asks
    }
    if len(rest) > len(page):
        result["nextCursor"] = _cursor_of(page[-1].name)
    return result


async def call_tool(services: Services, exchange: Exchange) -> Result:
    """A call of a tool, through the door that its client can take."""
    params = parsed(CallToolRequestParams, _only(exchange, "name", "arguments"))
    tool = services.catalogue.find(params.name)
    if tool is None:
        raise InvalidParamsError(f"Unknown tool: {quoted(params.name)}")
    if not exchange.abilities.takes_task:
        raise exchange.refused_task(required=True)
    arguments = params.arguments or {}
    exchange.check_mirrored(tool.mirrored, arguments)
    # A null is an object's absence to the wire, and would be a null to the pod.
    source = EMPTY if params.arguments is None else exchange.sources["arguments"]
    if len(source.encode()) > ARGUMENTS_BYTES:
        return tool_error(
            f"The arguments are larger than {ARGUMENTS_BYTES // KIB} KiB of JSON, the most a task can take: "
            "hand over large data by reference, such as a URL or a file's name"
        )
    violation = tool.arguments.violation(exchange.params.get("arguments") or {})
    if violation is not None:
        return tool_error(f"Invalid arguments: {_words(violation)}")
    assert isinstance(tool, JobTool)
    return exchange.handle(await services.tasks.create(_new_task(tool, source), caller=exchange.caller))


def tool_error(text: str) -> dict[str, Any]:
    """A result that says what was wrong with the call, for the model that made it."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": True}


def _new_task(tool: JobTool, source: str) -> NewTask:
    return NewTask(
        tool=tool.name,
        tool_uid=tool.uid,
        tool_generation=tool.generation,
        input_schema=tool.input_schema,
        arguments=source,
        retention_seconds=tool.retention_seconds,
        poll_interval_ms=tool.poll_interval_ms,
    )


def _words(violation: Violation) -> str:
    text = str(violation)
    return text if len(text) <= MAX_VIOLATION_LENGTH else text[: MAX_VIOLATION_LENGTH - 3] + "..."


def _only(exchange: Exchange, *names: str) -> dict[str, Any]:
    """The named parameters: others (`task`, which this wire does not have) are not looked at."""
    return {name: exchange.params[name] for name in names if name in exchange.params}


def _cursor_of(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _name_of(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidParamsError("Invalid params: cursor: it is none that this server has given") from error
