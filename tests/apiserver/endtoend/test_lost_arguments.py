"""A server that dies between a task and its Secret: the same call again makes it good, or the task ends."""

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_crds import names
from mcptasks_crds.kube import SECRETS, TASKS, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import Fault, FaultProxy
from mcptasks_devcluster.services import Services, services
from mcptasks_operator.testing.kubelet import FakeKubelet
from mcptasks_operator.testing.world import tool_manifest
from mcptasks_server.tasks import IDEMPOTENCY_KEY
from mcptasks_server.testing.answers import Answer
from mcptasks_server.testing.wire import Wire

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(120)]

CALL: Final = {"name": "login", "arguments": {"user": "ann", "password": "a very secret one"}}
SCHEMA: Final = {
    "type": "object",
    "properties": {"user": {"type": "string"}, "password": {"type": "string", "writeOnly": True}},
}


@dataclass(frozen=True, kw_only=True)
class Product:
    """Server and operator of one namespace; the server works through a proxy."""

    kube: Kube
    namespace: str
    running: Services
    proxy: FaultProxy
    behind_proxy: Path
    wire: Wire

    async def start_server(self) -> None:
        """Start the server, and wait until it lists the tool."""
        await self.running.start("server", kubeconfig=self.behind_proxy)

        async def lists() -> bool:
            try:
                answer = await self.wire.call("tools/list")
            except aiohttp.ClientError:
                return False
            return any(each["name"] == "login" for each in answer.body.get("result", {}).get("tools", ()))

        await eventually(lists, what="the tool is listed", timeout_seconds=40)

    async def call(self, key: str) -> Answer:
        """The call, under an idempotency key."""
        return await self.wire.call("tools/call", CALL, meta={IDEMPOTENCY_KEY: key})

    async def kill_the_server_half_way(self, key: str) -> str:
        """Let the task of a call be made, and the server die before the Secret is. The task's id."""
        before = set(await self.tasks())
        held = self.proxy.add(Fault(method="POST", path=r"/mcptasks$", hold_answer=True))
        calling = asyncio.create_task(self.call(key))
        await held.reached.wait()
        await self.running.kill("server")
        held.release.set()
        with pytest.raises(aiohttp.ClientError):
            await calling
        (task,) = set(await self.tasks()) - before
        assert await self.secret(task) is None
        return task

    async def tasks(self) -> list[str]:
        return [each["metadata"]["name"] for each in (await self.kube.list(TASKS, self.namespace))["items"]]

    async def secret(self, task: str) -> dict[str, Any] | None:
        """The Secret with a task's arguments."""
        found = (await self.kube.list(SECRETS, self.namespace))["items"]
        return next((each for each in found if each["metadata"]["name"] == names.arguments_secret_name(task)), None)

    async def status(self, task: str) -> dict[str, Any]:
        document = await self.kube.get(TASKS, self.namespace, task)
        return dict(document.get("status", {}))

    async def ended(self, task: str, *, seconds: float = 60) -> dict[str, Any]:
        """The task's status, once it is over."""

        async def look() -> dict[str, Any] | None:
            status = await self.status(task)
            return status if "finishedAt" in status else None

        return await eventually(look, what=f"{task} ends", timeout_seconds=seconds)


@pytest.fixture
async def product(kube: Kube, namespace: str, kubeconfig: Path, tmp_path: Path) -> AsyncIterator[Product]:
    """Both at work, and a tool with a secret argument."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "0").write_text(secrets.token_hex(32))
    environment = {"MCPTASKS_SIGNING_KEYS_DIR": str(tmp_path / "keys")}
    await kube.create(TOOLS, namespace, tool_manifest("login", inputSchema=SCHEMA, retentionSeconds=600))
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(FaultProxy.running(kube.configuration))
        way = services(kubeconfig=kubeconfig, namespace=namespace, environment=environment)
        running = await stack.enter_async_context(way)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        product = Product(
            kube=kube,
            namespace=namespace,
            running=running,
            proxy=proxy,
            behind_proxy=proxy.write_kubeconfig(tmp_path / "kubeconfig"),
            wire=Wire(session, running.url),
        )
        await running.start("operator")
        await product.start_server()
        yield product


@pytest.mark.requirement("ours/half-made-calls")
async def test_the_same_call_again_makes_the_missing_secret_good_and_the_tool_runs_once(product: Product) -> None:
    task = await product.kill_the_server_half_way("k")
    await product.start_server()

    again, once_more = [await product.call("k") for _ in range(2)]

    assert [answer.result["taskId"] for answer in (again, once_more)] == [task, task]
    secret = await product.secret(task)
    assert secret is not None
    assert base64.b64decode(secret["data"]["arguments.json"]) == b'{"user": "ann", "password": "a very secret one"}'
    assert (secret["immutable"], secret["metadata"]["ownerReferences"][0]["name"]) == (True, task)
    kubelet = FakeKubelet(kube=product.kube, namespace=product.namespace)
    await kubelet.run(task)
    await kubelet.finish(task, message="logged in")
    assert (await product.ended(task))["reason"] == "Succeeded"
    assert await product.tasks() == [task]


@pytest.mark.requirement("ours/half-made-calls")
async def test_where_nobody_calls_again_the_task_ends_after_30_seconds_and_is_never_made_good(
    product: Product,
) -> None:
    task = await product.kill_the_server_half_way("k")
    assert (await product.status(task)).get("phase") != "Failed"

    status = await product.ended(task)
    await product.start_server()
    again = await product.call("k")
    shown = (await product.wire.call("tasks/get", {"taskId": task})).result

    assert (status["phase"], status["reason"]) == ("Failed", "ArgumentsLost")
    assert again.result["taskId"] == task
    assert (shown["status"], shown["error"]["code"], shown["error"]["data"]) == (
        "failed",
        -32603,
        {"reason": "ArgumentsLost"},
    )
    assert await product.secret(task) is None
