"""Legacy clients at two processes over one API server: what crosses from one to the other, and what a kill leaves."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, TOOLS, Kube
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.services import Services, services
from mcptasks_server.testing.contract import Hand, over, questions
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.testing.wire import WITH_FORMS, Wire

pytestmark = [pytest.mark.apiserver, pytest.mark.slow, pytest.mark.timeout(180)]

ACCEPT = {"action": "accept", "content": {"yes": True}}
YES = {"action": "accept", "content": {"sure": True}}
FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
FIRST = [{"key": "first", "message": "Sure?", "requestedSchema": FORM, "when": "beforeTask"}]
TOOLS_WANTED: dict[str, dict[str, Any]] = {
    "long": {},
    "held": {"withoutTasks": "hold"},
    "first": {"questions": FIRST},
    "soon": {"questions": FIRST, "holdSeconds": 2},
}


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One server process, which can be killed and started again at its address."""

    services: Services
    wire: Wire

    async def restart(self) -> None:
        """SIGKILL, and start anew."""
        await self.services.kill("server")
        await self.start()

    async def start(self) -> None:
        """Start it, and wait until it lists the tools."""
        await self.services.start("server")

        async def is_ready() -> bool:
            try:
                answer = await self.wire.call("tools/list")
            except aiohttp.ClientConnectionError:
                return False
            return "result" in answer.body and len(answer.result["tools"]) >= len(TOOLS_WANTED)

        await eventually(is_ready, what="the server lists the tools")


@pytest.fixture
async def replicas(
    kube: Kube, kubeconfig: Path, namespace: str, tmp_path: Path
) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two running processes that share their keys, and tools for them."""
    for name, spec in TOOLS_WANTED.items():
        await _make_tool(kube, namespace, name, spec)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "one").write_bytes(os.urandom(32).hex().encode())
    environment = {"MCPTASKS_SIGNING_KEYS_DIR": str(tmp_path / "keys")}
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        found = []
        for _ in range(2):
            each = services(kubeconfig=kubeconfig, namespace=namespace, environment=environment)
            running = await stack.enter_async_context(each)
            found.append(Replica(services=running, wire=Wire(session, running.url)))
        await asyncio.gather(*(each.start() for each in found))
        yield found[0], found[1]


@pytest.fixture
async def client(replicas: tuple[Replica, Replica]) -> LegacyWire:
    """A client of the first replica that can do all that a server may ask."""
    return await LegacyWire.connected(replicas[0].wire, capabilities=EVERYTHING)


@pytest.fixture
def elsewhere(client: LegacyWire, replicas: tuple[Replica, Replica]) -> LegacyWire:
    """The same client at the second replica."""
    return client.elsewhere(replicas[1].wire)


@pytest.fixture
def only_task(kube: Kube, namespace: str) -> Callable[[], Awaitable[Json]]:
    """Gives the one task of the namespace as the API server has it, once it is there."""

    async def find() -> Json:
        async def look() -> Json | None:
            items: list[Json] = (await kube.list(TASKS, namespace))["items"]
            return items[0] if items else None

        return await eventually(look, what="the task is created")

    return find


@pytest.mark.requirement("legacy/elicitation-bound")
async def test_a_held_calls_question_is_answered_at_the_other_replica(
    client: LegacyWire, elsewhere: LegacyWire, hand: Hand, only_task: Callable[[], Awaitable[Json]]
) -> None:
    async with client.stream("tools/call", {"name": "held"}) as stream:
        task_id = (await only_task())["metadata"]["name"]
        await hand(task_id, questions("approve"))
        asked = await stream.until("elicitation/create")
        accepted = await elsewhere.respond(asked["id"], ACCEPT)
        await hand(task_id, over())
        answer = await stream.answer()

    assert accepted.status == 202
    assert (await only_task())["spec"]["answers"]["approve"]["by"] == "anonymous"
    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]


async def test_nothing_is_in_the_cluster_until_what_is_asked_before_it_is_answered(
    client: LegacyWire, kube: Kube, namespace: str, hand: Hand, only_task: Callable[[], Awaitable[Json]]
) -> None:
    async with client.stream("tools/call", {"name": "first"}) as stream:
        asked = await stream.until("elicitation/create")
        await client.respond(asked["id"], {"action": "decline"})
        declined = await stream.answer()
    assert declined.result["isError"] is True
    async with client.stream("tools/call", {"name": "first"}) as stream:
        asked = await stream.until("elicitation/create")
        assert (await kube.list(TASKS, namespace))["items"] == []
        await client.respond(asked["id"], YES)
        task = await only_task()
        await hand(task["metadata"]["name"], over())
        answer = await stream.answer()

    assert task["spec"]["questions"]["first"]["when"] == "beforeTask"
    assert json.loads(task["spec"]["answers"]["first"]["response"]) == YES
    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]


async def test_an_answer_that_comes_to_the_other_replica_before_there_is_a_task_is_the_tasks(
    client: LegacyWire, elsewhere: LegacyWire, only_task: Callable[[], Awaitable[Json]]
) -> None:
    async with client.stream("tools/call", {"name": "soon"}) as stream:
        asked = await stream.until("elicitation/create")
        assert (await elsewhere.respond(asked["id"], YES)).status == 202
        handle = await stream.answer()

    async def is_answered() -> bool:
        return "first" in (await only_task())["spec"].get("answers", {})

    await eventually(is_answered, what="the task has its answer")
    assert handle.result["structuredContent"]["taskId"] == (await only_task())["metadata"]["name"]


async def test_a_process_that_ends_in_time_leaves_what_it_asks_to_the_task(
    replicas: tuple[Replica, Replica],
    client: LegacyWire,
    elsewhere: LegacyWire,
    only_task: Callable[[], Awaitable[Json]],
) -> None:
    async with client.stream("tools/call", {"name": "first"}) as stream:
        asked = await stream.until("elicitation/create")
        replicas[0].services.processes["server"].terminate()
        handle = await stream.answer()
    accepted = await elsewhere.respond(asked["id"], YES)  # the form that the person still has open
    task = await only_task()

    assert accepted.status == 202
    assert handle.result["structuredContent"]["taskId"] == task["metadata"]["name"]
    assert json.loads(task["spec"]["answers"]["first"]["response"]) == YES


@pytest.mark.requirement("legacy/cancelled")
async def test_a_held_call_is_withdrawn_at_the_other_replica(
    client: LegacyWire, elsewhere: LegacyWire, only_task: Callable[[], Awaitable[Json]]
) -> None:
    async with client.stream("tools/call", {"name": "held"}, message_id="the call"):
        await only_task()
        await elsewhere.cancel("the call")

        assert (await only_task())["spec"]["cancelRequested"] is True


@pytest.mark.requirement("legacy/cancelled-not-for-tasks", "legacy/disconnect")
async def test_neither_a_late_cancellation_nor_a_disconnect_touches_a_task_that_was_handed_out(
    client: LegacyWire, elsewhere: LegacyWire, only_task: Callable[[], Awaitable[Json]]
) -> None:
    handle = await client.call("tools/call", {"name": "long", "task": {}}, message_id="the call")
    await elsewhere.cancel("the call")
    async with client.stream("tasks/result", {"taskId": handle.result["task"]["taskId"]}):
        pass

    assert (await only_task())["spec"]["cancelRequested"] is False


@pytest.mark.requirement("legacy-tasks/result-blocks", "legacy-tasks/input-required", "ext-tasks/create-durable")
async def test_a_kill_in_the_middle_of_tasks_result_loses_nothing(
    replicas: tuple[Replica, Replica],
    client: LegacyWire,
    elsewhere: LegacyWire,
    hand: Hand,
    only_task: Callable[[], Awaitable[Json]],
) -> None:
    handle = await client.call("tools/call", {"name": "long", "task": {}, "_meta": {"progressToken": 7}})
    task_id = handle.result["task"]["taskId"]
    await hand(task_id, questions("approve"))
    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        first = await stream.until("elicitation/create")
        await replicas[0].restart()

    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        again = await stream.until("elicitation/create")
        # The form that the person still has open is the first one's: it is taken, by the process that did not ask it.
        assert (await elsewhere.respond(first["id"], ACCEPT)).status == 202
        assert (await client.respond(again["id"], {"action": "decline"})).status == 202
        await hand(task_id, {"phase": "Running", "report": {"progress": {"progress": 1, "total": 2}}})
        told = await stream.until("notifications/progress")
        await hand(task_id, over())
        answer = await stream.answer()

    shown = (await elsewhere.call("tasks/get", {"taskId": task_id})).result
    assert '"accept"' in (await only_task())["spec"]["answers"]["approve"]["response"]
    assert told["params"]["progressToken"] == 7
    assert answer.result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task_id}
    assert shown["status"] == "completed"


@pytest.mark.requirement("failures/f3-16")
async def test_a_process_that_ends_in_time_lets_go_of_what_it_holds(
    replicas: tuple[Replica, Replica], client: LegacyWire, elsewhere: LegacyWire, hand: Hand
) -> None:
    task_id = (await client.call("tools/call", {"name": "long", "task": {}})).result["task"]["taskId"]
    async with (
        client.stream("tasks/result", {"taskId": task_id}) as result,
        client.stream("tools/call", {"name": "long"}) as call,
    ):
        await _begins(result.headers)
        await _begins(call.headers)
        replicas[0].services.processes["server"].terminate()
        gone, handle = await result.answer(), await call.answer()

    assert gone.error == (200, -32603)
    assert "tasks/result" in gone.message
    assert handle.result["structuredContent"]["status"] == "working"
    await hand(task_id, over())
    assert (await elsewhere.call("tasks/result", {"taskId": task_id})).result["content"]


@pytest.mark.requirement("legacy-tasks/status-machine", "ext-tasks/status-machine", "failures/f3-33")
async def test_clients_of_both_eras_follow_the_same_tasks_at_both_replicas(
    replicas: tuple[Replica, Replica], client: LegacyWire, elsewhere: LegacyWire, hand: Hand
) -> None:
    here, there = (each.wire for each in replicas)

    async def of_modern(task_id: str, wire: Wire) -> str:
        shown = await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)
        return str(shown.result["status"])

    async def of_legacy(task_id: str, wire: LegacyWire) -> str:
        return str((await wire.call("tasks/get", {"taskId": task_id})).result["status"])

    async def follow(index: int) -> list[set[str]]:
        if index % 2:
            created = await here.call("tools/call", {"name": "long"}, capabilities=WITH_FORMS)
            task_id = created.result["taskId"]
        else:
            task_id = (await client.call("tools/call", {"name": "long", "task": {}})).result["task"]["taskId"]

        async def shown() -> set[str]:
            return {
                await of_modern(task_id, here),
                await of_modern(task_id, there),
                await of_legacy(task_id, client),
                await of_legacy(task_id, elsewhere),
            }

        async def all_show(status: str) -> None:
            async def is_so() -> bool:
                return await shown() == {status}

            await eventually(is_so, what=f"all show {status}")

        seen = [await shown()]
        await hand(task_id, questions("one"))
        await all_show("input_required")
        seen.append(await shown())
        update = {"taskId": task_id, "inputResponses": {"one": ACCEPT}}
        await there.call("tasks/update", update, capabilities=WITH_FORMS)
        seen.append(await shown())  # answered at one replica: asked at none, from that moment
        await hand(task_id, over())
        await all_show("completed")
        return seen

    for seen in await asyncio.gather(*(follow(index) for index in range(6))):
        assert seen == [{"working"}, {"input_required"}, {"working"}]


async def _begins(headers: Any) -> None:
    assert headers["Content-Type"].startswith("text/event-stream")


async def _make_tool(kube: Kube, namespace: str, name: str, spec: dict[str, Any]) -> None:
    """A tool that counts as ready. Nothing runs it."""
    template = {"spec": {"containers": [{"name": "tool", "image": "example.org/tool:1"}]}}
    manifest = {
        "apiVersion": names.API_VERSION,
        "kind": names.TOOL_KIND,
        "metadata": {"name": name},
        "spec": {"description": "A tool.", "job": {"template": template}, **spec},
    }
    await kube.create(TOOLS, namespace, manifest)
    ready = {"type": "Ready", "status": "True", "reason": "Tested", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"status": {"observedGeneration": 1, "conditions": [ready]}}
    await kube.patch(TOOLS, namespace, name, status, subresource="status")
