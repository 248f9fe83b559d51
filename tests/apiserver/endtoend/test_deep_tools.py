"""One author's tool does not stop everybody's: server and operator as processes, before a real API server."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcptasks.client import TasksClient
from mcptasks.errors import InternalServerError, UnreachableError
from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import DEEPEST_STACK, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.services import services

pytestmark = pytest.mark.apiserver

DEPTH = 9_000


@pytest.fixture
def deep_stack() -> Iterator[None]:
    """This process writes such a document too."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST_STACK)
    yield
    sys.setrecursionlimit(before)


def tool(name: str, input_schema: Json) -> Json:
    container = {"name": "tool", "image": "example.invalid/tool:1"}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": name},
        "spec": {
            "description": "Does nothing.",
            "inputSchema": input_schema,
            "job": {"template": {"spec": {"containers": [container]}}},
        },
    }


async def test_a_schema_as_deep_as_the_api_server_takes_makes_its_own_tool_unready_and_no_other(
    kube: Kube, kubeconfig: Path, namespace: str, deep_stack: None
) -> None:
    deep: Json = {}
    for _ in range(DEPTH // 2):
        deep = {"properties": {"a": deep}}
    await kube.create(TOOLS, namespace, tool("deep", {"type": "object", **deep}))
    await kube.create(TOOLS, namespace, tool("plain", {"type": "object"}))

    async with services(kubeconfig=kubeconfig, namespace=namespace) as running, TasksClient(running.url) as client:
        await running.start("server")
        await running.start("operator")

        async def listed() -> list[str] | None:
            try:
                offered = [each.name for each in await client.list_tools()]
            except (InternalServerError, UnreachableError):
                return None
            return [name for name in offered if name not in names.COMPANION_TOOLS] or None

        assert await eventually(listed, what="a tool is listed") == ["plain"]

        async def ready() -> Json | None:
            conditions = (await kube.get(TOOLS, namespace, "deep")).get("status", {}).get("conditions", ())
            return next((each for each in conditions if each["type"] == "Ready"), None)

        condition = await eventually(ready, what="the deep tool was looked at")
        assert (condition["status"], condition["reason"]) == ("False", "SchemaInvalid")
        assert await listed() == ["plain"]
