"""A plain `tools/call` of a tool that runs as a Job: held, told how far it is, answered, or cut."""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any
from unittest.mock import AsyncMock

import pytest

from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import UnavailableError
from mcptasks_server.handles import HANDLE_META
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.background import CountingBackground
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.wire import WITH_TASKS, Wire

PLAIN: Mapping[str, Any] = {}
KEY = {"mcptasks.dev/idempotency-key": "one"}
TOKEN = {"progressToken": "t"}


async def the_task(store: InMemoryTaskStore) -> McpTask:
    """The one task, once it is there."""

    async def is_there() -> bool:
        return len(store.objects) == 1

    await eventually(is_there, what="there is a task")
    return McpTask.model_validate(next(iter(store.objects.values())))


async def finish(store: InMemoryTaskStore, **status: Any) -> str:
    """End the one task; its id."""
    task_id = (await the_task(store)).metadata.name
    await store.write_status(task_id, over() | status)
    return task_id


def now(store: InMemoryTaskStore) -> McpTask:
    """The one task as it is now."""
    return McpTask.model_validate(next(iter(store.objects.values())))


@pytest.mark.requirement("ext-tasks/no-handle-undeclared")
@pytest.mark.requirement("ext-tasks/no-handle-undeclared", "base/extension-fallback")
@pytest.mark.parametrize("tool", ["held", "patient", "forbidden"])
async def test_a_held_call_is_answered_with_the_tools_own_result(
    wire: Wire, store: InMemoryTaskStore, tool: str
) -> None:
    answer, _ = await asyncio.gather(wire.call("tools/call", {"name": tool}, capabilities=PLAIN), finish(store))

    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]
    assert '{"n": 12345678901234567890123}' in answer.text  # to the digit
    assert answer.result["resultType"] == "complete"
    assert not now(store).spec.detached


async def test_a_tool_that_is_never_a_task_is_held_for_a_client_that_could_take_one(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    answer, _ = await asyncio.gather(wire.call("tools/call", {"name": "forbidden"}), finish(store))

    assert answer.result["resultType"] == "complete"


async def test_a_client_that_takes_tasks_gets_the_handle_of_one_that_no_disconnect_ends(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    result = (await wire.call("tools/call", {"name": "held"}, capabilities=WITH_TASKS)).result

    assert result["resultType"] == "task"
    assert now(store).spec.detached


@pytest.mark.requirement("ext-tasks/missing-capability")
@pytest.mark.requirement("ext-tasks/missing-capability")
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}])
async def test_a_tool_that_only_runs_as_a_task_creates_nothing_for_a_client_without(
    wire: Wire, store: InMemoryTaskStore, capabilities: dict[str, Any]
) -> None:
    answer = await wire.call("tools/call", {"name": "required"}, capabilities=capabilities)

    assert answer.error == (400, -32021)
    assert store.objects == {}


async def test_a_failed_task_is_an_error_with_its_reason(wire: Wire, store: InMemoryTaskStore) -> None:
    failure = {"phase": "Failed", "reason": "ImageInvalid", "error": {"code": -32603, "message": "no such image"}}

    answer, _ = await asyncio.gather(
        wire.call("tools/call", {"name": "held"}, capabilities=PLAIN), finish(store, **failure)
    )

    assert answer.body["error"] == {"code": -32603, "message": "no such image", "data": {"reason": "ImageInvalid"}}


async def test_a_cancelled_task_is_an_error(wire: Wire, store: InMemoryTaskStore) -> None:
    answer, _ = await asyncio.gather(
        wire.call("tools/call", {"name": "held"}, capabilities=PLAIN),
        finish(store, phase="Cancelled", reason="Cancelled"),
    )

    assert answer.error[1] == -32603
    assert answer.message == "cancelled"


async def test_a_tools_own_error_is_a_result(wire: Wire, store: InMemoryTaskStore) -> None:
    text = '{"content":[{"type":"text","text":"no"}],"isError":true}'

    answer, _ = await asyncio.gather(
        wire.call("tools/call", {"name": "held"}, capabilities=PLAIN), finish(store, result={"inline": text})
    )

    assert answer.result["isError"] is True


async def test_a_deleted_task_is_an_error(wire: Wire, store: InMemoryTaskStore) -> None:
    async def delete() -> None:
        store.delete((await the_task(store)).metadata.name)

    answer, _ = await asyncio.gather(wire.call("tools/call", {"name": "held"}, capabilities=PLAIN), delete())

    assert answer.error[1] == -32602


@pytest.mark.requirement("progress/increases")
async def test_progress_is_told_as_the_tool_reports_it(wire: Wire, store: InMemoryTaskStore) -> None:
    async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN) as stream:
        task_id = (await the_task(store)).metadata.name
        for done in (1, 2):
            report = {"progress": {"progress": done, "total": 4, "message": f"step {done}", "podUID": "p"}}
            running = {"phase": "Running", "job": {"name": "j", "uid": "u", "podUID": "p"}, "report": report}
            await store.write_status(task_id, running)
            while True:
                told = (await stream.until("notifications/progress"))["params"]
                if told["progress"] >= 1:
                    break
            assert (told["progress"], told["total"], told["message"]) == (done, 4, f"step {done}")
        await store.write_status(task_id, over())
        answer = await stream.answer()

    assert answer.result["resultType"] == "complete"


@pytest.mark.requirement("progress/increases", "failures/f3-14")
async def test_without_reports_a_beat_says_what_is_so(
    wire: Wire, store: InMemoryTaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcptasks_server.following.BEAT_SECONDS", 0.01)

    async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN) as stream:
        await store.write_status(
            (await the_task(store)).metadata.name, {"phase": "Pending", "message": "pulling the image"}
        )
        beats = [(await stream.until("notifications/progress"))["params"] for _ in range(4)]

    assert [beat["progress"] for beat in beats] == sorted({beat["progress"] for beat in beats})
    assert "total" not in beats[-1]
    assert re.fullmatch(r"waiting for \d+ s: pulling the image", beats[-1]["message"])


@pytest.mark.requirement("progress/only-tokens", "failures/f3-14")
async def test_without_a_token_no_progress_is_sent(wire: Wire, store: InMemoryTaskStore) -> None:
    answer, _ = await asyncio.gather(wire.call("tools/call", {"name": "held"}, capabilities=PLAIN), finish(store))

    assert answer.before == ()


async def test_after_the_hold_the_answer_is_a_handle_and_the_task_is_detached_before(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    result = (await wire.call("tools/call", {"name": "quick"}, capabilities=PLAIN)).result

    task = now(store)
    assert task.spec.detached
    assert not task.spec.cancel_requested
    assert result["resultType"] == "complete"
    assert "isError" not in result
    assert result["structuredContent"]["taskId"] == task.metadata.name
    assert result["_meta"][HANDLE_META] == task.metadata.name
    assert "Do NOT call `quick` again" in result["content"][0]["text"]


async def test_a_task_that_cannot_be_detached_yet_goes_on_being_held(
    wire: Wire, store: InMemoryTaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "detach", AsyncMock(side_effect=UnavailableError("not now")))

    async with wire.stream("tools/call", {"name": "quick"}, capabilities=PLAIN, meta=TOKEN) as stream:
        await stream.until("notifications/progress")
        task_id = (await the_task(store)).metadata.name
        await store.write_status(task_id, over())
        answer = await stream.answer()

    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]


@pytest.mark.requirement("cancel/disconnect", "failures/f3-13")
@pytest.mark.requirement("http/close-cancels")
async def test_closing_the_stream_cancels(wire: Wire, store: InMemoryTaskStore) -> None:
    async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN) as stream:
        await stream.until("notifications/progress")

    await cancelled(store)
    assert not now(store).spec.detached


async def cancelled(store: InMemoryTaskStore) -> None:
    async def is_cancelled() -> bool:
        return now(store).spec.cancel_requested

    await eventually(is_cancelled, what="the task is cancelled")


@pytest.mark.requirement("ext-tasks/create-durable")
async def test_closing_the_stream_of_a_task_that_is_handed_out_cancels_nothing(
    wire: Wire, store: InMemoryTaskStore, background: CountingBackground
) -> None:
    async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN | KEY) as stream:
        await stream.until("notifications/progress")
        handle = (await wire.call("tools/call", {"name": "held"}, meta=KEY)).result
    await settled(background)

    assert handle["taskId"] == now(store).metadata.name
    assert not now(store).spec.cancel_requested


async def settled(background: CountingBackground) -> None:
    """What a cut call leaves behind is done."""

    async def has_settled() -> bool:
        return background.has_settled

    await eventually(has_settled, what="nothing is left to do in the background")


async def test_a_cut_call_with_a_key_is_left_alone_once_it_was_taken_up_again(
    wire: Wire, store: InMemoryTaskStore, background: CountingBackground
) -> None:
    async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN | KEY) as first:
        await first.until("notifications/progress")
        async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN | KEY) as second:
            await second.until("notifications/progress")
            first.close()
            await settled(background)
            assert not now(store).spec.cancel_requested
            await finish(store)
            answer = await second.answer()

    assert answer.result["resultType"] == "complete"
    assert len(store.created) == 1


async def test_a_cut_call_with_a_key_that_nobody_takes_up_is_cancelled(wire: Wire, store: InMemoryTaskStore) -> None:
    async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN | KEY) as stream:
        await stream.until("notifications/progress")

    await cancelled(store)


async def test_a_process_that_is_to_end_hands_out_the_handle(
    wire: Wire, store: InMemoryTaskStore, services: Services
) -> None:
    async with wire.stream("tools/call", {"name": "held"}, capabilities=PLAIN, meta=TOKEN) as stream:
        await stream.until("notifications/progress")
        services.stopping.set()
        answer = await stream.answer()

    assert answer.result["structuredContent"]["taskId"] == now(store).metadata.name
    assert now(store).spec.detached


async def test_a_process_that_is_to_end_names_the_task_of_a_call_that_is_held_until_its_end(
    wire: Wire, store: InMemoryTaskStore, services: Services
) -> None:
    async with wire.stream("tools/call", {"name": "patient"}, capabilities=PLAIN, meta=TOKEN) as stream:
        await stream.until("notifications/progress")
        services.stopping.set()
        answer = await stream.answer()

    task = now(store)
    assert answer.error[1] == -32603
    assert answer.body["error"]["data"] == {"taskId": task.metadata.name}
    assert (task.spec.detached, task.spec.cancel_requested) == (True, False)


async def test_a_call_that_is_cut_while_its_task_is_made_leaves_no_task(wire: Wire, store: InMemoryTaskStore) -> None:
    store.gate.clear()
    body = wire.body_of("tools/call", {"name": "held"}, capabilities=PLAIN)
    calling = asyncio.create_task(wire.post(body, headers=wire.headers_for("tools/call", {"name": "held"})))
    await store.arrived.wait()
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await asyncio.wait_for(store.given_up.wait(), timeout=5)
    store.gate.set()

    assert store.objects == {}


async def test_the_arguments_reach_the_task_as_the_client_wrote_them(wire: Wire, store: InMemoryTaskStore) -> None:
    await wire.call("tools/call", {"name": "quick", "arguments": {"n": 1.0}}, capabilities=PLAIN)

    assert json.loads(store.created[0].arguments) == {"n": 1.0}
