"""`prompts/list` and `prompts/get`, for both eras. Source: "Prompts"."""

from mcp_types import GetPromptRequestParams
from pydantic import ValidationError

from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.jsonrpc import quoted
from mcptasks_server.toolpack.prompts import listed_prompt, prompt_result
from mcptasks_server.toolpack.signatures import words

from .functions import function_of, only, only_page


async def list_prompts(services: Services, exchange: Exchange) -> Result:
    """All prompts, in one page."""
    only_page(exchange)
    return {"prompts": [listed_prompt(entry) for entry in services.packs.prompts.values()]}


async def get_prompt(services: Services, exchange: Exchange) -> Result:
    """What a prompt's function makes of its arguments."""
    params = parsed(GetPromptRequestParams, only(exchange, "name", "arguments"))
    entry = services.packs.prompts.get(params.name)
    if entry is None:
        raise InvalidParamsError(f"Unknown prompt: {quoted(params.name)}")
    try:
        arguments = entry.signature.bind(params.arguments or {})
    except ValidationError as error:
        raise InvalidParamsError(f"Invalid params: arguments{words(error)}") from error
    return prompt_result(entry, await function_of(services, entry, exchange, arguments))
