"""The experimental tasks of 2025-11-25, and how they stand beside the same tasks on the modern wire."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mcptasks_crds.phases import Phase
from mcptasks_crds.times import format_time
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.caller import Caller, CallerPolicy
from mcptasks_server.errors import UnavailableError
from mcptasks_server.headers import Headers
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over, questions
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.testing.wire import WITH_FORMS, Wire

from .conftest import write

RELATED = "io.modelcontextprotocol/related-task"
UNKNOWN = "mt-" + "a" * 32
ACCEPT = {"action": "accept", "content": {"yes": True}}
TOOL_ERROR = '{"content":[{"type":"text","text":"no such file"}],"isError":true}'


async def begun(client: LegacyWire, tool: str = "long", **params: Any) -> str:
    """A call as a task; its id."""
    answer = await client.call("tools/call", {"name": tool, "task": {}, **params})
    task_id: str = answer.result["task"]["taskId"]
    return task_id


async def state(client: LegacyWire, task_id: str) -> str:
    status: str = (await client.call("tasks/get", {"taskId": task_id})).result["status"]
    return status


async def cancel_written(store: InMemoryTaskStore, task_id: str) -> None:
    """Wait until the task's cancel is asked for."""

    async def is_asked_for() -> bool:
        return bool(store.objects[task_id]["spec"].get("cancelRequested"))

    await eventually(is_asked_for, what="the cancel is written")


@pytest.mark.requirement(
    "legacy-tasks/create",
    "legacy-tasks/begins-working",
    "legacy-tasks/ids",
    "legacy-tasks/unguessable",
    "legacy-tasks/times",
    "legacy-tasks/ttl",
    "legacy-tasks/related-task",
)
async def test_a_call_with_task_is_answered_by_the_task(client: LegacyWire, store: InMemoryTaskStore) -> None:
    answer = await client.call("tools/call", {"name": "long", "arguments": {"n": 1}, "task": {"ttl": 60_000}})

    task = answer.result["task"]
    assert task["status"] == "working"
    assert task["ttl"] == 3_600_000  # the tool's own
    assert len(task["taskId"]) >= 29
    assert answer.result.keys() == {"task", "_meta"}
    assert answer.result["_meta"][RELATED] == {"taskId": task["taskId"]}
    assert task["taskId"] in answer.result["_meta"]["io.modelcontextprotocol/model-immediate-response"]
    assert store.created[0].arguments == '{"n": 1}'


@pytest.mark.requirement("legacy-tasks/required", "legacy-tasks/forbidden")
@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"name": "task-only"}, "only runs as a task"),
        ({"name": "never-task", "task": {}}, "does not run as a task"),
        ({"name": "inline", "task": {}}, "does not run as a task"),
    ],
)
async def test_a_tool_that_is_called_the_wrong_way_is_not_found(
    client: LegacyWire, store: InMemoryTaskStore, params: dict[str, Any], word: str
) -> None:
    answer = await client.call("tools/call", params)

    assert answer.error == (200, -32601)
    assert word in answer.message
    assert store.created == []


@pytest.mark.requirement("legacy-tasks/ttl-override")
@pytest.mark.parametrize("task", ["x", [], 3, {"ttl": "long"}, {"ttl": -1}, {"ttl": True}])
async def test_a_malformed_task_parameter_is_refused(client: LegacyWire, store: InMemoryTaskStore, task: Any) -> None:
    assert (await client.call("tools/call", {"name": "long", "task": task})).error == (200, -32602)
    assert store.created == []


@pytest.mark.requirement("legacy-tasks/other-requests")
async def test_what_does_not_support_tasks_is_answered_as_ever(client: LegacyWire) -> None:
    assert "tools" in (await client.call("tools/list", {"task": {}})).result
    assert (await client.call("ping", {"task": {}})).result == {}


@pytest.mark.requirement("legacy-tasks/parameter-wins", "legacy-tasks/no-related-task")
async def test_get_shows_the_task_that_its_parameter_names(client: LegacyWire) -> None:
    task_id = await begun(client)

    shown = await client.call("tasks/get", {"taskId": task_id, "_meta": {RELATED: {"taskId": UNKNOWN}}})

    assert (shown.result["taskId"], shown.result["status"]) == (task_id, "working")
    assert "_meta" not in shown.result


@pytest.mark.requirement("legacy-tasks/unknown", "legacy-tasks/bound")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
@pytest.mark.parametrize("params", [{"taskId": UNKNOWN}, {"taskId": ""}, {"taskId": 7}, {"taskId": None}, {}])
async def test_what_is_no_task_is_invalid(client: LegacyWire, method: str, params: dict[str, Any]) -> None:
    assert (await client.call(method, params)).error == (200, -32602)


@pytest.mark.requirement("legacy-tasks/result-blocks", "legacy-tasks/result-exact", "legacy-tasks/related-task")
async def test_the_result_is_waited_for_and_comes_as_the_tool_gave_it(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    waiting = asyncio.create_task(elsewhere.call("tasks/result", {"taskId": task_id}))

    async def is_watched() -> bool:
        return len(store.watches) > 0

    await eventually(is_watched, what="the result is waited for")
    assert not waiting.done()
    await write(store, task_id, **over())
    late, at_once = await waiting, await client.call("tasks/result", {"taskId": task_id})

    for answer in (late, at_once):
        assert "12345678901234567890123" in answer.text
        assert answer.result["content"] == [{"type": "text", "text": "1.0"}]
        assert answer.result["_meta"] == {RELATED: {"taskId": task_id}}
        assert "resultType" not in answer.result


@pytest.mark.requirement("legacy-tasks/tool-error-fails", "legacy-tasks/result-exact", "ext-tasks/tool-error-completes")
async def test_a_tool_error_has_failed_on_this_wire_and_completed_on_the_newer_one(
    client: LegacyWire, replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    await write(store, task_id, **over() | {"result": {"inline": TOOL_ERROR}})

    shown = (await client.call("tasks/get", {"taskId": task_id})).result
    result = (await client.call("tasks/result", {"taskId": task_id})).result
    modern = (await replicas[0].call("tasks/get", {"taskId": task_id})).result

    assert (shown["status"], shown["statusMessage"]) == ("failed", "no such file")
    assert result["isError"] is True
    assert (modern["status"], modern["result"]["isError"]) == ("completed", True)


@pytest.mark.requirement("legacy-tasks/result-exact", "legacy-tasks/internal-error")
async def test_a_task_that_could_not_run_gives_its_error(client: LegacyWire, store: InMemoryTaskStore) -> None:
    task_id = await begun(client)
    error = {"code": -32603, "message": "the image cannot be pulled"}
    await write(store, task_id, **over(Phase.FAILED), error=error, reason="ImageInvalid")

    answer = await client.call("tasks/result", {"taskId": task_id})

    assert answer.error == (200, -32603)
    assert answer.message == "the image cannot be pulled"
    assert answer.body["error"]["data"]["reason"] == "ImageInvalid"
    assert await state(client, task_id) == "failed"


@pytest.mark.requirement("legacy-tasks/input-required", "legacy-tasks/related-task", "legacy-tasks/status-machine")
async def test_a_question_comes_on_the_results_stream_and_is_answered_at_any_replica(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    seen = [await state(client, task_id)]

    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        await write(store, task_id, **questions("approve"))
        asked = await stream.until("elicitation/create")
        seen.append(await state(client, task_id))
        assert (await elsewhere.respond(asked["id"], ACCEPT)).status == 202
        seen.append(await state(client, task_id))
        await write(store, task_id, **over())
        answer = await stream.answer()
    seen.append(await state(client, task_id))

    assert asked["params"]["_meta"] == {RELATED: {"taskId": task_id}}
    assert asked["params"]["message"] == "Sure?"
    assert seen == ["working", "input_required", "working", "completed"]
    assert answer.told("elicitation/create") == [asked["params"]]
    assert store.objects[task_id]["spec"]["answers"]["approve"] == {
        "response": '{"action":"accept","content":{"yes": true}}',
        "by": "anonymous",
        "road": "caller",
    }


async def test_an_answer_that_its_question_does_not_take_is_refused_and_asked_for_again(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    await write(store, task_id, **questions("approve"))

    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        first = await stream.until("elicitation/create")
        refused = await client.respond(first["id"], {"action": "accept", "content": {"yes": "perhaps"}})
        second = await stream.until("elicitation/create")
        await client.respond(second["id"], ACCEPT)

    assert refused.status == 400
    assert "/content/yes" in refused.message
    assert first["id"] != second["id"]
    assert set(store.objects[task_id]["spec"]["answers"]) == {"approve"}


async def test_a_question_that_the_client_could_not_show_is_cancelled(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    await write(store, task_id, **questions("approve"))

    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        asked = await stream.until("elicitation/create")
        await client.respond(asked["id"], error={"code": -32603, "message": "no screen"})

    assert store.objects[task_id]["spec"]["answers"]["approve"]["response"] == '{"action": "cancel"}'


@pytest.mark.requirement("legacy/elicitation-bound")
async def test_another_session_cannot_answer(
    client: LegacyWire, replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    await write(store, task_id, **questions("approve"))
    another = await LegacyWire.connected(replicas[1], capabilities=EVERYTHING)

    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        asked = await stream.until("elicitation/create")
        assert (await another.respond(asked["id"], ACCEPT)).status == 202

    assert "answers" not in store.objects[task_id]["spec"]


async def test_an_answer_that_comes_too_late_is_accepted_and_passed_over(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    await write(store, task_id, **questions("approve"))
    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        asked = await stream.until("elicitation/create")
    await write(store, task_id, **over())

    assert (await client.respond(asked["id"], ACCEPT)).status == 202
    store.delete(task_id)
    assert (await client.respond(asked["id"], ACCEPT)).status == 202


async def test_a_client_without_forms_is_not_asked_and_not_told_to_answer(
    replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    client = await LegacyWire.connected(replicas[0])
    task_id = await begun(client)
    await write(store, task_id, **questions("approve"))

    shown = (await client.call("tasks/get", {"taskId": task_id})).result
    assert shown["status"] == "working"
    assert "approve" in shown["statusMessage"]


@pytest.mark.requirement("legacy/progress-of-tasks", "legacy/progress-tokens", "legacy/progress-increases")
@pytest.mark.parametrize("token", ["t", 7])
async def test_the_calls_token_stays_good_for_the_tasks_life(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore, token: str | int
) -> None:
    task_id = await begun(client, _meta={"progressToken": token})

    async with elsewhere.stream("tasks/result", {"taskId": task_id}) as stream:
        told = []
        for value in (1, 2):
            await write(store, task_id, phase="Running", report={"progress": {"progress": value, "total": 2}})
            told.append((await stream.until("notifications/progress"))["params"])
    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        await write(store, task_id, message="nothing new")
        await write(store, task_id, report={"progress": {"progress": 3}})
        told.append((await stream.until("notifications/progress"))["params"])
        await write(store, task_id, **over())
        await stream.answer()

    assert [each["progress"] for each in told] == [1, 2, 3]
    for each in told:
        assert each["progressToken"] == token
        assert type(each["progressToken"]) is type(token)
        assert each["_meta"] == {RELATED: {"taskId": task_id}}


@pytest.mark.requirement("legacy/one-stream")
async def test_of_two_streams_of_a_task_only_the_newer_one_speaks(client: LegacyWire, store: InMemoryTaskStore) -> None:
    task_id = await begun(client, _meta={"progressToken": "t"})

    async with client.stream("tasks/result", {"taskId": task_id}) as older:
        await write(store, task_id, phase="Running", report={"progress": {"progress": 1}})
        await older.until("notifications/progress")
        async with client.stream("tasks/result", {"taskId": task_id}) as newer:
            await write(store, task_id, report={"progress": {"progress": 2}})
            await write(store, task_id, **questions("approve"))
            await newer.until("elicitation/create")
            await write(store, task_id, **over())
            spoken, silent = await newer.answer(), await older.answer()

    assert silent.result == spoken.result
    assert [each["method"] for each in silent.before] == ["notifications/progress"]


@pytest.mark.requirement("legacy-tasks/cancel-answer", "legacy-tasks/status-machine")
async def test_the_answer_to_a_cancel_waits_until_the_task_is_cancelled(
    client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    cancelling = asyncio.create_task(elsewhere.call("tasks/cancel", {"taskId": task_id}))

    await cancel_written(store, task_id)
    await write(store, task_id, **over(Phase.CANCELLED))
    answer = await cancelling

    assert (answer.result["taskId"], answer.result["status"]) == (task_id, "cancelled")
    assert "_meta" not in answer.result
    assert (await client.call("tasks/result", {"taskId": task_id})).error == (200, -32603)


@pytest.mark.requirement("legacy-tasks/cancelled-stays", "legacy-tasks/cancel-answer")
async def test_a_stop_that_takes_long_is_a_cancelled_task_whatever_ends_later(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    long_ago = format_time(datetime.now(UTC) - timedelta(seconds=31))
    stopping = {"phase": Phase.STOPPING, "stopping": {"reason": "Cancelled", "at": long_ago}}
    cancelling = asyncio.create_task(client.call("tasks/cancel", {"taskId": task_id}))
    await cancel_written(store, task_id)
    await write(store, task_id, **stopping)
    answer = await cancelling
    await write(store, task_id, **over())

    assert answer.result["status"] == "cancelled"
    assert await state(client, task_id) == "cancelled"
    assert (await client.call("tasks/result", {"taskId": task_id})).error == (200, -32603)


@pytest.mark.requirement("legacy-tasks/cancel-terminal")
@pytest.mark.parametrize("phase", [Phase.COMPLETED, Phase.FAILED, Phase.CANCELLED])
async def test_a_task_that_is_over_cannot_be_cancelled(
    client: LegacyWire, replicas: tuple[Wire, Wire], store: InMemoryTaskStore, phase: Phase
) -> None:
    task_id = await begun(client)
    await write(store, task_id, **over(phase))

    answer = await client.call("tasks/cancel", {"taskId": task_id})
    modern = await replicas[0].call("tasks/cancel", {"taskId": task_id})

    assert answer.error == (200, -32602)
    assert f"'{phase.lower()}'" in answer.message
    assert modern.result["resultType"] == "complete"


@pytest.mark.requirement("legacy-tasks/cancel-terminal")
async def test_a_task_that_ends_otherwise_before_its_cancel_was_not_cancelled(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(client)
    cancelling = asyncio.create_task(client.call("tasks/cancel", {"taskId": task_id}))

    await cancel_written(store, task_id)
    await write(store, task_id, **over())

    assert (await cancelling).error == (200, -32602)


@pytest.mark.requirement("legacy/cancelled-not-for-tasks")
async def test_a_cancelled_notification_does_not_touch_a_task_that_was_handed_out(
    client: LegacyWire, store: InMemoryTaskStore
) -> None:
    answer = await client.call("tools/call", {"name": "long", "task": {}}, message_id=41)
    await client.cancel(41)

    assert not store.objects[answer.result["task"]["taskId"]]["spec"].get("cancelRequested")


@pytest.mark.requirement("legacy-tasks/list-capability")
async def test_tasks_are_not_listed_where_callers_are_not_known(client: LegacyWire) -> None:
    assert (await client.call("tasks/list")).error == (200, -32601)


@pytest.mark.requirement("base/dual-era")
async def test_the_same_task_is_followed_by_clients_of_both_eras(
    client: LegacyWire, replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    modern = replicas[1]
    handle = await modern.call("tools/call", {"name": "long"}, capabilities=WITH_FORMS)
    task_id = handle.result["taskId"]
    await write(store, task_id, **questions("one", "two"))

    async with client.stream("tasks/result", {"taskId": task_id}) as stream:
        asked = [await stream.until("elicitation/create") for _ in range(2)]
        shown = (await modern.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result
        await client.respond(asked[0]["id"], ACCEPT)
        responses = dict.fromkeys(shown["inputRequests"], ACCEPT)
        await modern.call("tasks/update", {"taskId": task_id, "inputResponses": responses}, capabilities=WITH_FORMS)
        assert await state(client, task_id) == "working"
        await write(store, task_id, **over())
        answer = await stream.answer()

    final = (await modern.call("tasks/get", {"taskId": task_id})).result
    assert final["status"] == "completed"
    assert answer.result["structuredContent"] == final["result"]["structuredContent"]


class ByHeader:
    """Callers who say who they are, and until when."""

    knows_callers = True

    async def caller_of(self, headers: Headers) -> Caller:
        seconds = headers.get("X-Seconds-Left")
        expires_at = None if seconds is None else datetime.now(UTC).timestamp() + float(seconds)
        return Caller(name=headers.get("X-Caller", "anonymous"), expires_at=expires_at)


class TestKnownCallers:
    """Where callers are told apart."""

    @pytest.fixture
    def callers(self) -> CallerPolicy:
        return ByHeader()

    @staticmethod
    async def as_caller(wire: Wire, name: str) -> LegacyWire:
        return await LegacyWire.connected(Wire(wire._session, wire.url, headers={"X-Caller": name}))

    @pytest.mark.requirement("legacy-tasks/list-complete", "legacy-tasks/list-bound", "legacy-tasks/list-capability")
    async def test_each_caller_is_shown_its_own_tasks_newest_first(self, replicas: tuple[Wire, Wire]) -> None:
        alice, bob = await self.as_caller(replicas[0], "alice"), await self.as_caller(replicas[1], "bob")
        mine = [await begun(alice) for _ in range(3)]
        others = [await begun(bob)]

        listed = (await alice.call("tasks/list")).result

        assert {task["taskId"] for task in listed["tasks"]} == set(mine)
        assert [task["taskId"] for task in (await bob.call("tasks/list")).result["tasks"]] == others
        assert "nextCursor" not in listed
        assert (await alice.call("tasks/get", {"taskId": others[0]})).error == (200, -32602)

    @pytest.mark.parametrize(("is_error", "status"), [(False, "completed"), (True, "failed")])
    async def test_a_list_reads_no_large_result_and_says_which_are_errors(
        self, replicas: tuple[Wire, Wire], store: InMemoryTaskStore, is_error: bool, status: str
    ) -> None:
        alice = await self.as_caller(replicas[0], "alice")
        task_id = await begun(alice)
        name = f"{task_id}-result-0123456789abcdef"
        source = {"secretName": name, "bytes": 700_000, "isError": is_error}
        await write(store, task_id, **{**over(), "result": {"from": "report"}, "report": {"resultFrom": source}})
        store.results.failure = UnavailableError("nobody may ask")

        assert [task["status"] for task in (await alice.call("tasks/list")).result["tasks"]] == [status]

    @pytest.mark.requirement("legacy-tasks/list-pages", "legacy-tasks/unknown")
    async def test_a_long_list_comes_in_pages_that_hold_each_task_once(
        self, replicas: tuple[Wire, Wire], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcptasks_server.legacy.tasks.PAGE_SIZE", 2)
        alice, bob = await self.as_caller(replicas[0], "alice"), await self.as_caller(replicas[1], "bob")
        mine = {await begun(alice) for _ in range(5)}
        pages: list[list[str]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = (await alice.call("tasks/list", cursor)).result
            pages.append([task["taskId"] for task in page["tasks"]])
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}

        assert [len(page) for page in pages] == [2, 2, 1]
        assert {task_id for page in pages for task_id in page} == mine
        for wrong in ("x", "", 3, cursor["cursor"] + "x"):
            assert (await alice.call("tasks/list", {"cursor": wrong})).error == (200, -32602)
        assert (await bob.call("tasks/list", cursor)).error == (200, -32602)

    async def test_no_stream_outlives_its_callers_token(self, replicas: tuple[Wire, Wire]) -> None:
        alice = await self.as_caller(replicas[0], "alice")
        task_id = await begun(alice)

        answer = await alice.call("tasks/result", {"taskId": task_id}, **{"X-Seconds-Left": "0.1"})

        assert answer.error == (200, -32603)
        assert "call tasks/result again" in answer.message

    async def test_a_session_of_somebody_else_is_not_found(self, replicas: tuple[Wire, Wire]) -> None:
        alice = await self.as_caller(replicas[0], "alice")
        thief = LegacyWire(
            Wire(replicas[0]._session, replicas[0].url, headers={"X-Caller": "bob"}), session_id=alice.session_id
        )

        assert (await thief.call("ping")).error == (404, -32600)

    @pytest.mark.parametrize(("tool", "is_handed_out"), [("held", False), ("long", True)])
    async def test_no_call_is_held_longer_than_its_callers_token_lasts(
        self, replicas: tuple[Wire, Wire], store: InMemoryTaskStore, tool: str, is_handed_out: bool
    ) -> None:
        alice = await self.as_caller(replicas[0], "alice")

        answer = await alice.call("tools/call", {"name": tool}, **{"X-Seconds-Left": "0.05"})

        [task_id] = store.objects
        assert ("result" in answer.body) is is_handed_out
        assert task_id in answer.text
        assert store.objects[task_id]["spec"]["detached"] is True
