"""A McpTool is a tool as soon as the operator has found it ready, and for as long as that is so."""

import pytest

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.testing.toolbox import Toolbox
from mcptasks_server.tools import JobTool

pytestmark = pytest.mark.apiserver


async def until_listed(replica: Backend, *expected: str, seconds: float = 5) -> None:
    async def is_listed() -> bool:
        return [tool.name for tool in replica.services.catalogue.tools()] == list(expected)

    await eventually(is_listed, what=f"the tools are {expected}", timeout_seconds=seconds)


async def test_a_new_tool_is_callable_without_a_restart(toolbox: Toolbox, replica: Backend) -> None:
    assert replica.services.catalogue.tools() == ()

    await toolbox.judge(await toolbox.make("new", inputSchema={"type": "object", "required": ["a"]}))

    await until_listed(replica, "new")
    tool = replica.services.catalogue.find("new")
    assert tool is not None
    violation = tool.arguments.violation({})
    assert violation is not None
    assert violation.pointer == "/a"


async def test_only_tools_that_are_found_ready_are_listed_by_name(toolbox: Toolbox, replica: Backend) -> None:
    await toolbox.make("nobody-looked")
    await toolbox.judge(await toolbox.make("bad"), is_ready=False)
    await toolbox.judge(await toolbox.make("b"))
    await toolbox.judge(await toolbox.make("c", name="A.tool_Of-Another-Name"))

    await until_listed(replica, "A.tool_Of-Another-Name", "b")
    assert replica.services.catalogue.find("bad") is None
    assert replica.services.catalogue.find("c") is None


async def test_an_edited_tool_waits_until_its_new_generation_is_found_ready(toolbox: Toolbox, replica: Backend) -> None:
    await toolbox.judge(await toolbox.make("tool"))
    await until_listed(replica, "tool")

    edited = await toolbox.edit("tool", description="Another one.", retentionSeconds=60)
    await until_listed(replica)
    await toolbox.judge(edited)
    await until_listed(replica, "tool")

    tool = replica.services.catalogue.find("tool")
    assert isinstance(tool, JobTool)
    assert (tool.generation, tool.retention_seconds) == (2, 60)
    assert b"Another one." in tool.listed


async def test_of_two_tools_of_one_name_the_first_by_age_and_name_is_the_tool(
    toolbox: Toolbox, replica: Backend
) -> None:
    first = await toolbox.make("a", name="shared")
    await toolbox.judge(await toolbox.make("b", name="shared"))
    await until_listed(replica, "shared")
    await toolbox.judge(first)

    async def is_the_first() -> bool:
        tool = replica.services.catalogue.find("shared")
        return isinstance(tool, JobTool) and tool.uid == first["metadata"]["uid"]

    await eventually(is_the_first, what="the first one is the tool", timeout_seconds=5)
    await toolbox.remove("a")
    await until_listed(replica, "shared")


async def test_a_removed_tool_is_gone(toolbox: Toolbox, replica: Backend) -> None:
    await toolbox.judge(await toolbox.make("tool"))
    await until_listed(replica, "tool")

    await toolbox.remove("tool")

    await until_listed(replica)
