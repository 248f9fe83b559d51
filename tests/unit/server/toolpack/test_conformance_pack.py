"""The official conformance suite's fixtures, as a pack that is served like any other."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_server.toolpack import ToolPack
from mcptasks_server.toolpack.loading import GROUP, load_packs

from .conftest import Serve

FOLDER: Final = Path(__file__).parents[3] / "fixtures" / "conformance_pack"
EVERYTHING: Final[dict[str, Any]] = {"elicitation": {}, "sampling": {}, "roots": {}}
CLUSTER: Final = {"test_trigger_tool_change"}
"""What needs a cluster."""
ARGUMENTS: Final[dict[str, dict[str, Any]]] = {
    "greet": {"name": "World"},
    "test_sampling": {"prompt": "Why?"},
    "test_elicitation": {"message": "Who?"},
    "json_schema_2020_12_tool": {"contactMethod": "phone", "phone": "1"},
}


@pytest.fixture
def conformance_pack(monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolPack]:
    """The pack, found as its package says."""
    monkeypatch.syspath_prepend(FOLDER)
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    (pack,) = load_packs(list(project["entry-points"][GROUP].values()))
    yield pack
    for name in [name for name in sys.modules if name.partition(".")[0] == "conformance_pack"]:
        del sys.modules[name]


async def test_its_first_tool_takes_no_arguments_and_all_answer(conformance_pack: ToolPack, serve: Serve) -> None:
    wire = await serve(conformance_pack)
    tools = (await wire.call("tools/list")).result["tools"]

    assert (tools[0]["name"], len(tools)) == ("test_simple_text", 28)
    for tool in tools:
        if tool["name"] in CLUSTER:
            continue
        params = {"name": tool["name"], "arguments": ARGUMENTS.get(tool["name"], {})}
        result = (await wire.call("tools/call", params, capabilities=EVERYTHING)).result
        assert "unexpectedly" not in str(result), tool["name"]
        assert result.get("isError", False) is (tool["name"] == "test_error_handling")


async def test_its_prompts_and_resources_are_there(conformance_pack: ToolPack, serve: Serve) -> None:
    wire = await serve(conformance_pack)
    prompts = (await wire.call("prompts/list")).result["prompts"]
    resources = (await wire.call("resources/list")).result["resources"]

    assert len(prompts) == 5
    assert all(prompt["description"] for prompt in prompts)
    assert [resource["uri"].partition("://")[0] for resource in resources] == ["test"] * 3
    assert "123" in str((await wire.call("resources/read", {"uri": "test://template/123/data"})).result["contents"])
