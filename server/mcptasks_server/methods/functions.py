"""Calling a pack's function for what is no tool: what fails there is an error of the request."""

from collections.abc import Mapping
from typing import Any

from mcptasks_server.dispatch import Services
from mcptasks_server.errors import RpcError
from mcptasks_server.exchange import Exchange
from mcptasks_server.toolpack.calls import Callee, FailedError
from mcptasks_server.toolpack.errors import ToolError
from mcptasks_server.toolpack.running import NotRunError


async def function_of(services: Services, callee: Callee, exchange: Exchange, arguments: Mapping[str, Any]) -> Any:
    """What the function gives.

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
