"""Tasks and tools in a real API server, as a rule's test needs them."""

from collections.abc import Awaitable, Callable

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, Kube

MakeTask = Callable[..., Awaitable[str]]

SPEC: Json = {"tool": {"name": "build"}, "arguments": "{}", "caller": "alice"}


@pytest.fixture
def make_task(kube: Kube, namespace: str) -> MakeTask:
    """Create a task, give it its status, and return its name."""

    async def make(spec: Json | None = None, status: Json | None = None) -> str:
        name = names.new_task_id()
        manifest = {
            "apiVersion": names.API_VERSION,
            "kind": names.TASK_KIND,
            "metadata": {"name": name},
            "spec": SPEC | (spec or {}),
        }
        await kube.create(TASKS, namespace, manifest)
        if status is not None:
            await kube.patch(TASKS, namespace, name, {"status": status}, subresource="status")
        return name

    return make
