"""`server/discover`. Source: specification 2026-07-28, "Discovery"."""

from typing import Final

from mcp_types import DiscoverResult, ServerCapabilities, ToolsCapability

from mcptasks_server.companions import INSTRUCTIONS
from mcptasks_server.dispatch import Services
from mcptasks_server.era import SUPPORTED_VERSIONS, TASKS_EXTENSION
from mcptasks_server.exchange import Exchange, Result

from .packs import capabilities_of

CACHE_MS: Final = 60_000


async def discover(services: Services, _exchange: Exchange) -> Result:
    """What this server speaks and can do: the same for everybody."""
    return {**_RESULT, "capabilities": {**_RESULT["capabilities"], **capabilities_of(services.packs)}}


_RESULT: Final[Result] = DiscoverResult(
    supported_versions=list(SUPPORTED_VERSIONS),
    capabilities=ServerCapabilities(tools=ToolsCapability(list_changed=True), extensions={TASKS_EXTENSION: {}}),
    instructions=INSTRUCTIONS,
    ttl_ms=CACHE_MS,
    cache_scope="public",
).model_dump(mode="json", by_alias=True, exclude_none=True)
