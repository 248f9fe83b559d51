"""A McpTool is a tool as soon as the operator has found it ready, and for as long as that is so."""

from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.cluster.backend import Backend

pytestmark = pytest.mark.apiserver


class Toolbox:
    """Writes McpTools, and what the operator says of them."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube, self._namespace = kube, namespace

    async def make(self, resource: str, /, **spec: Any) -> Json:
        """A McpTool that nobody has looked at."""
        template = {"spec": {"containers": [{"name": "tool", "image": "example.org/tool:1"}]}}
        manifest: Json = {
            "apiVersion": names.API_VERSION,
            "kind": names.TOOL_KIND,
            "metadata": {"name": resource},
            "spec": {"description": f"The tool {resource}.", "job": {"template": template}, **spec},
        }
        return await self._kube.create(TOOLS, self._namespace, manifest, fieldValidation="Strict")

    async def edit(self, name: str, **spec: Any) -> Json:
        """An edit of its author's."""
        return await self._kube.patch(TOOLS, self._namespace, name, {"spec": spec})

    async def judge(self, tool: Json, *, is_ready: bool = True) -> None:
        """What the operator finds of a tool, in the generation that it looked at."""
        condition = {
            "type": "Ready",
            "status": "True" if is_ready else "False",
            "reason": "Tested",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": tool["metadata"]["generation"],
        }
        status = {"observedGeneration": tool["metadata"]["generation"], "conditions": [condition]}
        name = tool["metadata"]["name"]
        await self._kube.patch(TOOLS, self._namespace, name, {"status": status}, subresource="status")

    async def remove(self, name: str) -> None:
        """Its author removes it."""
        await self._kube.delete(TOOLS, self._namespace, name)


@pytest.fixture
def toolbox(kube: Kube, namespace: str) -> Toolbox:
    """Writes McpTools."""
    return Toolbox(kube, namespace)


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
    assert violation.pointer == ""


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
    assert tool is not None
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
        return tool is not None and tool.uid == first["metadata"]["uid"]

    await eventually(is_the_first, what="the first one is the tool", timeout_seconds=5)
    await toolbox.remove("a")
    await until_listed(replica, "shared")


async def test_a_removed_tool_is_gone(toolbox: Toolbox, replica: Backend) -> None:
    await toolbox.judge(await toolbox.make("tool"))
    await until_listed(replica, "tool")

    await toolbox.remove("tool")

    await until_listed(replica)
