"""The companion tools: a client that knows no tasks goes on with one."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from jsonschema import Draft202012Validator

from mcptasks_crds.policy import Access, TaskSupport
from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.app import create_app
from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import UnavailableError
from mcptasks_server.guards import Guards
from mcptasks_server.headers import Headers
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.contract import new_task, over, questions
from mcptasks_server.testing.wire import Wire

NAMES: Final = ["task_get", "task_answer", "task_cancel"]
FORMS: Final[Mapping[str, Any]] = {"elicitation": {}}
YES: Final = {"action": "accept", "content": {"sure": True}}


async def companion(wire: Wire, name: str, capabilities: Mapping[str, Any] | None = None, **arguments: Any) -> Any:
    """What a companion tool answers."""
    params = {"name": name, "arguments": arguments}
    return (await wire.call("tools/call", params, capabilities=capabilities or {})).result


async def listed(wire: Wire) -> dict[str, dict[str, Any]]:
    """The listed tools by name."""
    return {tool["name"]: tool for tool in (await wire.call("tools/list", capabilities={})).result["tools"]}


def now(store: InMemoryTaskStore) -> McpTask:
    """The one task as it is now."""
    [document] = store.objects.values()
    return McpTask.model_validate(document)


@pytest.fixture
async def task_id(wire: Wire) -> str:
    """A task whose handle a plain client was given."""
    result = (await wire.call("tools/call", {"name": "quick"}, capabilities={})).result
    return str(result["structuredContent"]["taskId"])


async def test_they_are_listed_last_while_a_listed_tool_may_hand_out_a_handle(
    wire: Wire, catalogue: FixedCatalogue
) -> None:
    before = list(await listed(wire))
    catalogue.offer(ready_tool("required", task_support=TaskSupport.REQUIRED))
    after = list(await listed(wire))

    assert before[-3:] == NAMES
    assert after == ["required"]


async def test_each_says_what_it_does_and_takes_only_what_it_knows(wire: Wire) -> None:
    tools = await listed(wire)

    for name in NAMES:
        Draft202012Validator.check_schema(tools[name]["inputSchema"])
        assert tools[name]["description"]
        assert tools[name]["annotations"]["openWorldHint"] is False
    assert tools["task_get"]["annotations"]["readOnlyHint"] is True
    assert tools["task_cancel"]["annotations"]["destructiveHint"] is True
    too_long = await companion(wire, "task_get", taskId="mt-x", waitSeconds=46)
    assert "/waitSeconds" in too_long["content"][0]["text"]


@pytest.mark.requirement("discover/instructions")
@pytest.mark.requirement("discover/instructions")
async def test_discover_teaches_the_model(wire: Wire) -> None:
    result = (await wire.call("server/discover")).result

    assert "task_get" in result["instructions"]


async def test_task_get_gives_the_tools_own_result(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    text = '{"content":[{"type":"text","text":"done"}],"structuredContent":{"n":1},"_meta":{"a":1}}'
    await store.write_status(task_id, over() | {"result": {"inline": text}})

    result = await companion(wire, "task_get", taskId=task_id)

    assert result["content"] == [{"type": "text", "text": "done"}]
    assert result["structuredContent"] == {"n": 1}
    assert result["_meta"]["a"] == 1


async def test_task_get_waits_for_the_end_and_tells_how_far_it_is(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    params = {"name": "task_get", "arguments": {"taskId": task_id}}
    async with wire.stream("tools/call", params, capabilities={}, meta={"progressToken": "t"}) as stream:
        await stream.until("notifications/progress")
        await store.write_status(task_id, over())
        answer = await stream.answer()

    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]


async def test_task_get_that_is_cut_cancels_nothing(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    params = {"name": "task_get", "arguments": {"taskId": task_id}}
    async with wire.stream("tools/call", params, capabilities={}, meta={"progressToken": "t"}) as stream:
        await stream.until("notifications/progress")

    async def is_left() -> bool:
        return len(store.watches) == 0

    await eventually(is_left, what="nobody waits for the task any more")
    assert not now(store).spec.cancel_requested


async def test_task_get_of_a_task_that_runs_says_so_when_the_time_is_up(wire: Wire, task_id: str) -> None:
    result = await companion(wire, "task_get", taskId=task_id, waitSeconds=0)

    assert result["structuredContent"]["taskId"] == task_id
    assert "Call `task_get`" in result["content"][0]["text"]
    assert "isError" not in result


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"phase": "Failed", "reason": "ImageInvalid", "error": {"code": -32603, "message": "no image"}}, "no image"),
        ({"phase": "Cancelled", "reason": "Cancelled"}, "cancelled"),
    ],
)
async def test_task_get_tells_a_failure_as_a_tool_error(
    wire: Wire, store: InMemoryTaskStore, task_id: str, status: dict[str, Any], words: str
) -> None:
    await store.write_status(task_id, status)

    result = await companion(wire, "task_get", taskId=task_id)

    assert result["isError"] is True
    assert words in result["content"][0]["text"]
    assert status["reason"] in result["content"][0]["text"]


async def test_task_get_gives_a_long_result_in_pages(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    long = json.dumps({"content": [{"type": "text", "text": "x" * 50_000}]})
    await store.write_status(task_id, over() | {"result": {"inline": long}})

    pages = [await companion(wire, "task_get", taskId=task_id, offset=offset) for offset in (0, 20_000, 40_000)]
    past = await companion(wire, "task_get", taskId=task_id, offset=60_000)

    assert "".join(page["content"][0]["text"] for page in pages) == "x" * 50_000
    assert past["isError"] is True


@pytest.mark.parametrize("name", NAMES)
async def test_an_id_that_names_no_task_is_a_tool_error(wire: Wire, name: str) -> None:
    more: dict[str, Any] = {"key": "q", "answer": {}} if name == "task_answer" else {}

    result = await companion(wire, name, taskId="mt-" + "a" * 32, **more)

    assert result["isError"] is True
    assert "not found" in result["content"][0]["text"]


async def test_task_get_shows_a_question_to_a_model_that_cannot_ask_a_person(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    await store.write_status(task_id, questions("q"))

    result = await companion(wire, "task_get", taskId=task_id, waitSeconds=0)

    assert result["structuredContent"]["status"] == "input_required"
    assert "You cannot give that answer" in result["content"][0]["text"]


async def test_task_get_asks_a_client_that_can_ask_a_person(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, questions("q"))
    params: dict[str, Any] = {"name": "task_get", "arguments": {"taskId": task_id}}
    asked = (await wire.call("tools/call", params, capabilities=FORMS)).result
    retry = {"inputResponses": {"q": {"action": "accept", "content": {"yes": True}}}}

    async def finish() -> None:
        async def is_answered() -> bool:
            return "q" in now(store).spec.answers

        await eventually(is_answered, what="the question is answered")
        await store.write_status(task_id, over())

    answer, _ = await asyncio.gather(
        wire.call("tools/call", params | retry | {"requestState": asked["requestState"]}, capabilities=FORMS),
        finish(),
    )

    assert set(asked["inputRequests"]) == {"q"}
    assert answer.result["content"] == [{"type": "text", "text": "1.0"}]


async def test_task_answer_gives_an_answer_that_a_model_may_give(wire: Wire, store: InMemoryTaskStore) -> None:
    handle = (await wire.call("tools/call", {"name": "asksmodel"}, capabilities={})).result["structuredContent"]

    wrong = await companion(wire, "task_answer", taskId=handle["taskId"], key="first", answer={"sure": "so"})
    right = await companion(wire, "task_answer", taskId=handle["taskId"], key="first", answer={"sure": True})
    again = await companion(wire, "task_answer", taskId=handle["taskId"], key="first", answer={"sure": False})

    assert wrong["isError"] is True
    assert "/content/sure" in wrong["content"][0]["text"]
    assert "isError" not in right
    assert again["isError"] is True
    assert json.loads(now(store).spec.answers["first"].response) == YES


async def test_task_answer_refuses_what_is_for_a_person(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, questions("q"))

    result = await companion(wire, "task_answer", taskId=task_id, key="q", answer={"yes": True})

    assert result["isError"] is True
    assert "for a person" in result["content"][0]["text"]
    assert now(store).spec.answers == {}


async def test_task_cancel_cancels_and_may_be_repeated(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    first, second = [await companion(wire, "task_cancel", taskId=task_id) for _ in range(2)]
    await store.write_status(task_id, over())
    late = await companion(wire, "task_cancel", taskId=task_id)

    assert now(store).spec.cancel_requested
    assert first == second
    assert "over already" in late["content"][0]["text"]


class ByName:
    """Everybody is who they say they are."""

    knows_callers = True

    async def caller_of(self, headers: Headers) -> Caller:
        """Whoever the header names."""
        return Caller(name=headers["X-Name"], groups=frozenset(headers.get("X-Groups", "").split()))


@pytest.fixture
async def known(store: InMemoryTaskStore, catalogue: FixedCatalogue) -> AsyncIterator[str]:
    """The address of a server that knows its callers."""
    catalogue.offer(ready_tool("open"), ready_tool("ours", access=Access(callers=("ann",), groups=("staff",))))
    app: web.Application = create_app(
        Services(catalogue=catalogue, tasks=store),
        callers=ByName(),
        guards=Guards(hosts=frozenset(), origins=frozenset()),
        health=Health(ready=lambda: "", live=lambda: ""),
        metrics=Metrics(),
        max_body_bytes=300 * 1024,
    )
    server = TestServer(app, host="127.0.0.1")
    await server.start_server(auto_decompress=False)
    yield str(server.make_url("/mcp"))
    await server.close()


async def test_task_list_shows_a_known_caller_its_own_tasks_newest_first(known: str, store: InMemoryTaskStore) -> None:
    made = [await store.create(new_task(), caller=Caller(name=name)) for name in ("ann", "bob", "ann")]

    async with aiohttp.ClientSession() as session:
        result = await companion(Wire(session, known, headers={"X-Name": "ann"}), "task_list")

    ids = [row["taskId"] for row in result["structuredContent"]["tasks"]]
    assert ids == [made[2].metadata.name, made[0].metadata.name]


async def test_task_list_reads_no_large_result_and_shows_the_task_as_completed(
    known: str, store: InMemoryTaskStore
) -> None:
    task_id = (await store.create(new_task(), caller=Caller(name="ann"))).metadata.name
    source = {"secretName": f"{task_id}-result-0123456789abcdef", "bytes": 700_000}
    await store.write_status(task_id, over() | {"result": {"from": "report"}, "report": {"resultFrom": source}})
    store.results.failure = UnavailableError("nobody may ask")

    async with aiohttp.ClientSession() as session:
        result = await companion(Wire(session, known, headers={"X-Name": "ann"}), "task_list")

    assert [row["status"] for row in result["structuredContent"]["tasks"]] == ["completed"]


async def test_nobody_lists_tasks_where_callers_are_not_told_apart(wire: Wire) -> None:
    answer = await wire.call("tools/call", {"name": "task_list", "arguments": {}}, capabilities={})

    assert answer.error[1] == -32602
    assert "task_list" not in await listed(wire)


@pytest.mark.requirement("tools/access")
@pytest.mark.parametrize(
    ("who", "sees"),
    [({"X-Name": "ann"}, True), ({"X-Name": "bob", "X-Groups": "x staff"}, True), ({"X-Name": "bob"}, False)],
)
async def test_a_tool_is_there_only_for_those_it_admits(
    known: str, store: InMemoryTaskStore, who: dict[str, str], sees: bool
) -> None:
    async with aiohttp.ClientSession() as session:
        wire = Wire(session, known, headers=who)
        tools = await listed(wire)
        ours = await wire.call("tools/call", {"name": "ours"})
        nothing = await wire.call("tools/call", {"name": "nothing"})

    assert ("ours" in tools) == sees
    if sees:
        assert ours.result["resultType"] == "task"
    else:
        assert ours.body["error"]["code"] == nothing.body["error"]["code"] == -32602
        assert ours.message.replace("ours", "nothing") == nothing.message
        assert store.objects == {}


@pytest.mark.requirement("ext-tasks/auth-binding")
async def test_somebody_elses_task_is_not_found_by_companions(known: str, store: InMemoryTaskStore) -> None:
    task_id = (await store.create(new_task(), caller=Caller(name="ann"))).metadata.name
    await store.write_status(task_id, over() | {"finishedAt": datetime.now(UTC).isoformat()})

    async with aiohttp.ClientSession() as session:
        result = await companion(Wire(session, known, headers={"X-Name": "bob"}), "task_get", taskId=task_id)

    assert result["isError"] is True
