"""McpTools on a real API server, and what an operator would say of them."""

from typing import Any

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TOOLS, Kube


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
