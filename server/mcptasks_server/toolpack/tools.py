"""A pack's function as a tool of the catalogue: its entry in the list, and the way of a call."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.tools import InlineTool

from .calls import Calls, FailedError
from .entries import ToolEntry
from .errors import ToolError
from .results import OutputError, call_result, dumped, listed, text
from .running import NotRunError
from .signatures import words


def inline_tool(entry: ToolEntry, calls: Calls) -> InlineTool:
    """A tool that runs in this process."""

    async def run(exchange: Exchange, arguments: Mapping[str, Any]) -> Result:
        try:
            values = _values(entry, arguments)
        except ValidationError as error:
            return failed(f"Invalid arguments: {words(error)}")
        try:
            return call_result(await calls.call(entry, exchange, values), entry.output)
        except ToolError as error:
            return failed(error.message, *listed(error.content))
        except NotRunError as error:
            return failed(str(error))
        except FailedError:
            return failed(f"The tool {entry.name} failed unexpectedly: its server's log tells why")
        except OutputError as error:
            calls.log.error("a function gave what cannot be handed on", function=entry.where, error=str(error))
            return failed(f"The tool {entry.name} gave a result that cannot be handed on: {error}")

    return InlineTool(
        name=entry.name,
        input_schema=entry.input_schema,
        arguments=entry.arguments,
        mirrored=entry.mirrored,
        listed=orjson.dumps(_listed(entry)),
        run=run,
    )


def failed(message: str, *content: Mapping[str, Any]) -> Result:
    """A result that says what went wrong, for the model that made the call."""
    return {"content": [text(message), *content], "isError": True}


def _values(entry: ToolEntry, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if entry.whole is not None:
        return entry.signature.bind({entry.whole: arguments})
    return entry.signature.bind(arguments)


def _listed(entry: ToolEntry) -> dict[str, Any]:
    optional = {
        "title": entry.title,
        "outputSchema": None if entry.output is None else entry.output.schema,
        "annotations": None if entry.annotations is None else dumped(entry.annotations),
        "icons": listed(entry.icons) or None,
        "_meta": entry.meta,
    }
    return {
        "name": entry.name,
        "description": entry.description,
        "inputSchema": orjson.Fragment(entry.input_schema_text),
        **{name: value for name, value in optional.items() if value is not None},
    }
