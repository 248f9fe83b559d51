"""The way of a `tools/call`, whichever wire it comes on: find the tool, check the call, have it answered."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
from mcp_types import CallToolRequestParams

from mcptasks_crds.arguments import EMPTY
from mcptasks_crds.limits import KIB

from .dispatch import Services, parsed
from .doors import Refused, door_of, door_without_tool
from .errors import InvalidParamsError
from .exchange import TASK_CLAIM, Exchange, Result
from .jsonrpc import quoted
from .offers import find_tool
from .operations import Door, Phase
from .prequestions import DeclinedError
from .questions import ELICITATION, NobodyToAskError
from .taskcalls import JobCall, go_on
from .tools import InlineTool, JobTool, Tool

MAX_VIOLATION_LENGTH: Final = 500


async def call_tool(services: Services, exchange: Exchange) -> Result:
    """Answer a call.

    Raises:
        InvalidParamsError: there is no such tool for this caller, or the call is malformed.
        InputRequired: it goes on with the client's answers, which come with a retry.
        RpcError: it cannot be run.
    """
    params = parsed(CallToolRequestParams, _only(exchange.params, "name", "arguments"))
    tool = find_tool(services, params.name, caller=exchange.caller)
    # A null is an object's absence to the wire, and would be a null to the pod.
    source = EMPTY if params.arguments is None else exchange.sources["arguments"]
    arguments = exchange.params.get("arguments") or {}
    match tool:
        case None if TASK_CLAIM in exchange.claims:
            # Its tool has gone since, and a task does not end with its tool.
            return await go_on(services, exchange, door_without_tool(exchange.abilities))
        case None:
            raise InvalidParamsError(f"Unknown tool: {quoted(params.name)}")
        case JobTool():
            return await _run_as_task(services, exchange, tool, arguments, source)
        case InlineTool():
            return await _run_inline(services, exchange, tool, arguments)
        case _:
            raise TypeError(f"no way to run {type(tool).__name__}")


def tool_error(exchange: Exchange, text: str) -> Result:
    """A result that says what was wrong with the call, for the model that made it."""
    return exchange.finished(orjson.dumps({"content": [{"type": "text", "text": text}], "isError": True}).decode())


async def _run_inline(services: Services, exchange: Exchange, tool: InlineTool, arguments: Mapping[str, Any]) -> Result:
    if exchange.abilities.wants_task:
        raise exchange.refused_task(required=False)
    exchange.check_mirrored(tool.mirrored, arguments)
    if problem := _problem(tool, arguments):
        return tool_error(exchange, problem)
    running = tool.run(exchange, arguments)
    if not exchange.abilities.closing_cancels:
        running = services.background.outlive(running, unless=lambda: exchange.is_withdrawn)
    # The server's own tools are looked up by what they are: a pack may not have their names.
    phase = Phase.COMPANION if any(tool is each for each in services.companions) else Phase.INLINE
    with services.operations.under_way(exchange, phase, door=Door.PLAIN):
        result = await running
    return exchange.finished(orjson.dumps(result).decode())


async def _run_as_task(
    services: Services, exchange: Exchange, tool: JobTool, arguments: Mapping[str, Any], source: str
) -> Result:
    door = door_of(tool, exchange.abilities)
    if isinstance(door, Refused):
        raise exchange.refused_task(required=door.required)
    if TASK_CLAIM in exchange.claims:  # its first round was checked, by the tool as it was
        return await go_on(services, exchange, door)
    exchange.check_mirrored(tool.mirrored, arguments)
    most = services.max_arguments_bytes
    if len(source.encode()) > most:
        size = f"{most // KIB} KiB" if most % KIB == 0 else f"{most} bytes"
        return tool_error(
            exchange,
            f"The arguments are larger than {size} of JSON, the most a task can take: "
            "hand over large data by reference, such as a URL or a file's name",
        )
    if problem := _problem(tool, arguments):
        return tool_error(exchange, problem)
    try:
        return await JobCall(services=services, exchange=exchange, tool=tool, door=door, source=source).begin()
    except NobodyToAskError:
        raise exchange.missing(ELICITATION, why="this tool asks what only a person may answer") from None
    except DeclinedError as error:
        return tool_error(exchange, str(error))


def _problem(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, for the model that wrote them."""
    violation = tool.arguments.violation(arguments)
    if violation is None:
        return None
    text = str(violation)
    return "Invalid arguments: " + (
        text if len(text) <= MAX_VIOLATION_LENGTH else text[: MAX_VIOLATION_LENGTH - 3] + "..."
    )


def _only(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The named parameters: others (`task`, which the modern wire does not have) are not looked at."""
    return {name: params[name] for name in names if name in params}
