"""`completion/complete`, for both eras. Source: "Completion"."""

from typing import Final

from mcp_types import CompleteRequestParams, PromptReference

from mcptasks_server.dispatch import Services, parsed
from mcptasks_server.errors import InvalidParamsError
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.jsonrpc import quoted

from .functions import function_of, only
from .task_resources import TEMPLATES

MAX_VALUES: Final = 100
"""In one answer, by the specification."""


async def complete(services: Services, exchange: Exchange) -> Result:
    """The values that fit what was typed; none for an argument that nothing is known of."""
    params = parsed(CompleteRequestParams, only(exchange, "ref", "argument", "context"))
    is_prompt = isinstance(params.ref, PromptReference)
    name = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
    is_task_template = not is_prompt and any(name == each["uriTemplate"] for each in TEMPLATES)
    if not is_task_template and name not in (services.packs.prompts if is_prompt else services.packs.templates):
        raise InvalidParamsError(f"Unknown {'prompt' if is_prompt else 'resource template'}: {quoted(name)}")
    entry = services.packs.completions.get((name, params.argument.name))
    if entry is None:
        return {"completion": {"values": []}}
    known = (params.context.arguments if params.context is not None else None) or {}
    arguments = dict(zip(entry.signature.parameters, (params.argument.value, known), strict=False))
    values = [str(value) for value in await function_of(services, entry, exchange, arguments)]
    return {"completion": {"values": values[:MAX_VALUES], "total": len(values), "hasMore": len(values) > MAX_VALUES}}
