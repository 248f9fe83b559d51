"""What the methods of packs share: their parameters, and calling a function for what is no tool."""

from collections.abc import Mapping
from typing import Any

from mcp_types import PaginatedRequestParams

from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.errors import InvalidParamsError, RpcError
from mcptasks_server.exchange import Exchange
from mcptasks_server.toolpack.calls import Callee, FailedError
from mcptasks_server.toolpack.errors import ToolError
from mcptasks_server.toolpack.running import NotRunError


async def function_of(services: Services, callee: Callee, exchange: Exchange, arguments: Mapping[str, Any]) -> Any:
    """What the function gives. What fails there is an error of the request.

    Raises:
        InputRequired: it asks its client, who comes again.
        RpcError: it failed: in its own words where they are meant for clients.
    """
    try:
        return await services.packs.call(callee, exchange, arguments)
    except (ToolError, NotRunError) as error:
        raise RpcError(str(error)) from error
    except FailedError as error:
        raise RpcError("Internal error: the server's log tells why") from error


def only(exchange: Exchange, *names: str) -> dict[str, Any]:
    """The named parameters: others are not looked at."""
    return {name: exchange.params[name] for name in names if name in exchange.params}


def only_page(exchange: Exchange) -> None:
    """That no page is asked for but the first, which holds everything.

    Raises:
        InvalidParamsError: there is a cursor, which this server cannot have given.
    """
    if parsed(PaginatedRequestParams, only(exchange, "cursor")).cursor is not None:
        raise InvalidParamsError("Invalid params: cursor: it is none that this server has given")
