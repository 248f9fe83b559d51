"""An independent judge of handles: the Python SDK's own client, which checks structured content against schemas."""

from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.wire import Wire

NODE = {
    "type": "object",
    "properties": {"n": {"type": "number"}, "next": {"$ref": "#/$defs/node"}},
    "required": ["n"],
}


@pytest.mark.requirement("tools/output-schema")
@pytest.mark.parametrize("schema", [NODE | {"$defs": {"node": NODE}}, {"type": "object"}])
async def test_the_client_takes_a_handle_and_then_the_result_of_a_tool_with_an_output_schema(
    wire: Wire, store: InMemoryTaskStore, catalogue: FixedCatalogue, schema: dict[str, Any]
) -> None:
    catalogue.offer(_held_shortly(schema))
    text = '{"content":[{"type":"text","text":"1"}],"structuredContent":{"n":1.5,"next":{"n":2}}}'

    async with Client(wire.url) as client:
        await client.list_tools()
        handle = await client.call_tool("typed", {})
        assert isinstance(handle, CallToolResult)
        assert handle.structured_content is not None
        task_id = handle.structured_content["taskId"]
        await store.write_status(task_id, over() | {"result": {"inline": text}})
        result = await client.call_tool("task_get", {"taskId": task_id})

    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"n": 1.5, "next": {"n": 2}}


def _held_shortly(schema: dict[str, Any]) -> Any:
    return replace(ready_tool("typed", output_schema=schema), hold_seconds=0.0)
