"""One namespace of a real cluster as its people see it: tools and tasks are made, operators started, ends awaited."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, LEASES, PODS, TASKS, TOOLS, Kind, Kube, NotFoundError
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_operator.leadership import Leadership
from mcptasks_operator.service import Operator
from mcptasks_operator.settings import Settings

from .kubelet import FakeKubelet

PATIENCE_SECONDS: Final = 40.0


@dataclass(frozen=True, kw_only=True)
class World:
    """A namespace, and the ways into it."""

    kube: Kube
    """A connection with all rights, past the proxy."""
    namespace: str
    kubelet: FakeKubelet
    proxy: FaultProxy
    """What stands between the operator and the API server."""
    kubeconfig: Path
    """Leads to the proxy."""

    async def tool(self, name: str = "echo", /, **spec: Any) -> Json:
        """Make a McpTool that is fit to be called, these fields aside. Returns it once it was judged."""
        await self.kube.create(TOOLS, self.namespace, tool_manifest(name, **spec))
        return await self.judged(name)

    async def judged(self, name: str, *, ready: str = "") -> Json:
        """A McpTool once its conditions speak of it as it is; and of its `Ready` being this, if asked for."""

        def says_so(tool: Json) -> bool:
            status = tool.get("status", {})
            return status.get("observedGeneration") == tool["metadata"]["generation"] and (
                not ready or condition(tool, "Ready")["status"] == ready
            )

        return await self.until(TOOLS, name, says_so)

    async def call(self, tool: str = "echo", *, arguments: str = '{"text": "hi"}', **spec: Any) -> str:
        """Make a McpTask. Returns its name."""
        name = names.new_task_id()
        manifest = {
            "apiVersion": names.API_VERSION,
            "kind": names.TASK_KIND,
            "metadata": {"name": name},
            "spec": {"tool": {"name": tool}, "arguments": arguments} | spec,
        }
        await self.kube.create(TASKS, self.namespace, manifest)
        return name

    async def cancel(self, task: str) -> None:
        """Wish a task cancelled."""
        await self.kube.patch(TASKS, self.namespace, task, {"spec": {"cancelRequested": True}})

    async def answer(self, task: str, response: str, *, key: str = "sure", by: str = "alice") -> None:
        """Answer a task's question, as somebody with kubectl."""
        answers = {key: {"response": response, "by": by}}
        await self.kube.patch(TASKS, self.namespace, task, {"spec": {"answers": answers}})

    async def status(self, task: str, *phases: Phase) -> Json:
        """A task's status once it is in one of these phases (none: in one that is an end)."""
        wanted = {str(phase) for phase in phases or (each for each in Phase if each.is_terminal)}
        found = await self.until(TASKS, task, lambda seen: seen.get("status", {}).get("phase") in wanted)
        return dict(found["status"])

    async def job(self, task: str) -> Json:
        """A task's Job, once it is there."""
        return await self.until(JOBS, names.job_name(task), lambda _: True)

    async def until(self, kind: Kind, name: str, holds: Callable[[Json], bool]) -> Json:
        """The object once that holds of it.

        Raises:
            TimeoutError: it did not come to hold; the message shows the object as it was last seen.
        """
        seen: Json | None = None
        selector = f"metadata.name={name}"
        events = self.kube.watch(kind, self.namespace, timeout_seconds=PATIENCE_SECONDS, fieldSelector=selector)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), aclosing(events):
                async for event in events:
                    seen = event["object"]
                    if event["type"] != "DELETED" and holds(event["object"]):
                        return dict(event["object"])
        except TimeoutError as error:
            raise TimeoutError(f"{kind.plural}/{name} is still {seen}") from error
        raise TimeoutError(f"the watch of {kind.plural}/{name} ended; last seen: {seen}")

    async def gone(self, kind: Kind, name: str) -> None:
        """Wait until an object is deleted."""
        version = (await self.kube.list(kind, self.namespace, limit="1"))["metadata"]["resourceVersion"]
        if not await self.exists(kind, name):
            return
        events = self.kube.watch(
            kind,
            self.namespace,
            timeout_seconds=PATIENCE_SECONDS,
            fieldSelector=f"metadata.name={name}",
            resourceVersion=version,
        )
        async with asyncio.timeout(PATIENCE_SECONDS), aclosing(events):
            async for event in events:
                if event["type"] == "DELETED":
                    return
        raise TimeoutError(f"{kind.plural}/{name} is still there")

    async def pods_since(self, version: str) -> list[str]:
        """The names of all pods that were made since the namespace had that resource version, gone ones too."""
        events = self.kube.watch(
            PODS,
            self.namespace,
            timeout_seconds=PATIENCE_SECONDS,
            resourceVersion=version,
            timeoutSeconds="1",  # what has been is told at once
        )
        async with aclosing(events):
            return [event["object"]["metadata"]["name"] async for event in events if event["type"] == "ADDED"]

    async def exists(self, kind: Kind, name: str) -> bool:
        """Whether an object is there."""
        try:
            await self.kube.get(kind, self.namespace, name)
        except NotFoundError:
            return False
        return True

    def job_posts(self) -> int:
        """How many Jobs were asked for through the proxy, trials aside."""
        return sum(
            request.method == "POST" and request.path.endswith("/jobs") and not request.is_dry_run
            for request in self.proxy.requests
        )

    async def holder(self, *, other_than: str = "") -> str:
        """Who holds the Lease, once somebody does (other than that one)."""

        def is_held(lease: Json) -> bool:
            return lease["spec"]["holderIdentity"] not in ("", other_than)

        return str((await self.until(LEASES, names.LEASE, is_held))["spec"]["holderIdentity"])

    async def bury(self) -> None:
        """Let the Lease of an operator that was killed run out at once, in tests of what comes after."""
        await self.kube.patch(LEASES, self.namespace, names.LEASE, {"spec": {"holderIdentity": ""}})

    @asynccontextmanager
    async def operator(self, *, leadership: Leadership | None = None, **settings: Any) -> AsyncIterator[Operator]:
        """An operator at work behind the proxy, in this process; stopped afterwards as SIGTERM would."""
        stopping = asyncio.Event()
        async with await Kube.connect(kubeconfig=self.kubeconfig) as kube:
            operator = Operator(
                settings=Settings(namespace=self.namespace, host="127.0.0.1", port=0, **settings),
                kube=kube,
                cluster=kube,
                leadership=leadership,
            )
            running = asyncio.create_task(operator.run(stopping))
            try:
                yield operator
            finally:
                stopping.set()
                await running

    @asynccontextmanager
    async def process(
        self, *program: str, port: int = 0, **environment: str
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """An operator at work behind the proxy, as a process of its own that can be killed.

        `program`: what Python is to run in its place.
        """
        variables = os.environ | {
            "MCPTASKS_NAMESPACE": self.namespace,
            "MCPTASKS_KUBECONFIG": str(self.kubeconfig),
            "MCPTASKS_OPERATOR_HOST": "127.0.0.1",
            "MCPTASKS_OPERATOR_PORT": str(port),
            **environment,
        }
        command = program or ("-m", "mcptasks_operator")
        started = await asyncio.create_subprocess_exec(sys.executable, *command, env=variables)
        try:
            yield started
        finally:
            if started.returncode is None:
                started.kill()  # also one that stands still
                await started.wait()


def tool_manifest(resource: str, /, **spec: Any) -> Json:
    """A McpTool that is fit to be called, these fields aside."""
    container = {"name": "tool", "image": "example.invalid/echo:1", "command": ["sh", "-c", 'echo "$ARG_TEXT"']}
    base: Json = {
        "description": "Says it again.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "job": {"template": {"spec": {"containers": [container]}}},
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": resource},
        "spec": base | spec,
    }


def condition(tool: Json, type_: str) -> Json:
    """A McpTool's condition of a type."""
    return next(each for each in tool["status"]["conditions"] if each["type"] == type_)
