"""A tool and a task as small as they can be; each test changes what it is about."""

from collections.abc import Callable
from typing import Any

import pytest

from mcptasks_crds.task import McpTask
from mcptasks_crds.tool import McpTool

TASK = "mt-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

Pod = dict[str, Any]
MakeTool = Callable[..., McpTool]
MakeTask = Callable[..., McpTask]
MakePod = Callable[..., Pod]


@pytest.fixture(scope="session")
def make_pod() -> MakePod:
    """A pod of one container; keyword arguments go into the container."""

    def make(**container: Any) -> Pod:
        return {"containers": [{"name": "main", "image": "example.com/tool:1", **container}]}

    return make


@pytest.fixture(scope="session")
def make_tool(make_pod: MakePod) -> MakeTool:
    """A tool with that pod, and that input schema's properties; keyword arguments go into its spec."""

    def make(pod: Pod | None = None, *, properties: Any = None, metadata: Any = None, **spec: Any) -> McpTool:
        template = {"spec": make_pod() if pod is None else pod}
        if metadata is not None:
            template["metadata"] = metadata
        return McpTool.model_validate(
            {
                "metadata": {"name": "build", "namespace": "tools", "uid": "tool-uid", "generation": 3},
                "spec": {
                    "description": "Builds.",
                    "inputSchema": {"type": "object", "properties": properties or {}},
                    "job": {"template": template},
                    **spec,
                },
            }
        )

    return make


@pytest.fixture(scope="session")
def make_task() -> MakeTask:
    """A task with those arguments; keyword arguments go into its spec."""

    def make(arguments: str | None = "{}", **spec: Any) -> McpTask:
        return McpTask.model_validate(
            {
                "metadata": {"name": TASK, "namespace": "tools", "uid": "task-uid"},
                "spec": {"tool": {"name": "build"}, "arguments": arguments, **spec},
            }
        )

    return make
