"""`subscriptions/listen`: who is told what, and when it ends (specification 2026-07-28, "Subscriptions"; the tasks
extension, "Task Status Notifications")."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.app import create_app
from mcptasks_server.caller import ANONYMOUS, Caller
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import UnavailableError
from mcptasks_server.guards import Guards
from mcptasks_server.headers import Headers
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.modern.listen import MOST_TASKS, READS_AT_ONCE
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore
from mcptasks_server.testing.answers import Stream
from mcptasks_server.testing.contract import new_task, over, questions
from mcptasks_server.testing.wire import Wire
from mcptasks_server.watching import Topic

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
TASKS: Final = "notifications/tasks"
UNKNOWN: Final = "mt-" + "a" * 32
PLAIN: Final[Mapping[str, Any]] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ELICITS: Final[Mapping[str, Any]] = {**PLAIN, "elicitation": {}}
EXPIRING: Final = "expiring"


class Callers:
    """Says who calls by the header X-Caller; one caller's token is about to end."""

    knows_callers: Final = True

    async def caller_of(self, headers: Headers) -> Caller:
        name = headers.get("X-Caller", ANONYMOUS.name)
        return Caller(name=name, expires_at=datetime.now(UTC).timestamp() + 0.05 if name == EXPIRING else None)


@pytest.fixture
def services(catalogue: FixedCatalogue, store: InMemoryTaskStore) -> Services:
    return Services(catalogue=catalogue, tasks=store)


@pytest.fixture
def app(services: Services, metrics: Metrics) -> web.Application:
    return create_app(
        services,
        callers=Callers(),
        guards=Guards(),
        health=Health(ready=lambda: "", live=lambda: ""),
        metrics=metrics,
        max_body_bytes=300 * 1024,
    )


@pytest.fixture
async def wire(app: web.Application) -> AsyncIterator[Wire]:
    server = TestServer(app, host="127.0.0.1")
    await server.start_server(auto_decompress=False)  # as the process does
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            yield Wire(session, str(server.make_url("/mcp")))
    finally:
        await server.close()


def asking(**notifications: Any) -> Mapping[str, Any]:
    return {"notifications": notifications}


async def told(stream: Stream) -> dict[str, Any]:
    """The next notification's parameters; the stream's end fails."""
    message = await stream.next()
    assert message is not None
    params: dict[str, Any] = message["params"]
    return params


async def a_task(store: InMemoryTaskStore, caller: Caller = ANONYMOUS) -> str:
    return (await store.create(new_task(), caller=caller)).metadata.name


@pytest.mark.requirement(
    "listen/acknowledged-first",
    "listen/acknowledged-subset",
    "listen/subscription-id",
    "base/subscription-id",
    "ext-tasks/listen-ack-ids",
)
@pytest.mark.parametrize("message_id", [7, "seven", 0, 2**64])
async def test_the_acknowledgement_comes_first_and_names_what_will_be_told(
    wire: Wire, store: InMemoryTaskStore, message_id: Any
) -> None:
    mine, theirs = await a_task(store), await a_task(store, Caller(name="somebody else"))
    expired = await a_task(store)
    await store.write_status(expired, over(kept_for=timedelta(seconds=-1)))
    ids = [mine, theirs, expired, UNKNOWN, "no id at all", mine]

    wanted = asking(taskIds=ids, toolsListChanged=True, promptsListChanged=True, resourceSubscriptions=["a://b"])
    async with wire.stream(LISTEN, wanted, message_id=message_id) as stream:
        message = await stream.next()

    assert message is not None
    assert message["method"] == ACKNOWLEDGED
    assert message["params"]["notifications"] == {"toolsListChanged": True, "taskIds": [mine]}
    echoed = message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
    assert (type(echoed), echoed) == (type(message_id), message_id)


@pytest.mark.requirement("ext-tasks/notification-whole")
async def test_each_tasks_present_state_is_told_then_every_change_and_its_end_ends_the_stream(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    one, two = await a_task(store), await a_task(store)
    async with wire.stream(LISTEN, asking(taskIds=[one, two]), capabilities=ELICITS) as stream:
        await stream.until(ACKNOWLEDGED)
        at_first = [await told(stream), await told(stream)]
        await store.write_status(one, questions("q"))
        asked = await told(stream)
        await store.write_status(one, over())
        ended = await told(stream)
        shown = (await wire.call("tasks/get", {"taskId": one})).result
        await store.cancel(two, caller=ANONYMOUS)
        cancelling = await told(stream)
        await store.write_status(two, over("Cancelled"))  # type: ignore[arg-type]
        cancelled = await told(stream)
        answer = await stream.answer()

    assert {params["taskId"] for params in at_first} == {one, two}
    assert {params["status"] for params in at_first} == {"working"}
    assert (asked["taskId"], asked["status"], list(asked["inputRequests"])) == (one, "input_required", ["q"])
    assert (ended["taskId"], ended["status"]) == (one, "completed")
    without_marks = {name: value for name, value in shown.items() if name not in {"_meta", "resultType"}}
    assert {name: value for name, value in ended.items() if name != "_meta"} == without_marks
    assert (cancelling["taskId"], cancelling["status"], cancelling["statusMessage"]) == (two, "working", "cancelling")
    assert (cancelled["taskId"], cancelled["status"]) == (two, "cancelled")
    assert answer.result["resultType"] == "complete"
    assert answer.result["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1


@pytest.mark.requirement("listen/graceful")
async def test_a_stream_of_tasks_that_are_over_or_absent_ends_at_once(wire: Wire, store: InMemoryTaskStore) -> None:
    task_id = await a_task(store)
    await store.write_status(task_id, over())

    over_already = await wire.call(LISTEN, asking(taskIds=[task_id, UNKNOWN]))
    absent = await wire.call(LISTEN, asking(taskIds=[UNKNOWN]))

    assert [params["status"] for params in over_already.told(TASKS)] == ["completed"]
    assert over_already.result["resultType"] == "complete"
    assert absent.told(ACKNOWLEDGED)[0]["notifications"] == {"taskIds": []}
    assert absent.told(TASKS) == []


async def test_nobody_waits_for_what_another_caller_has_looked_for(
    wire: Wire, store: InMemoryTaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id, looked_for, get = await a_task(store), 0, store.get

    async def slow(task_id: str, *, caller: Caller) -> McpTask:
        nonlocal looked_for
        if caller.name == "bert":
            looked_for += 1
            await asyncio.Event().wait()
        return await get(task_id, caller=caller)

    async def all_wait() -> bool:
        return looked_for == READS_AT_ONCE

    monkeypatch.setattr(store, "get", slow)
    unknown = [f"mt-{number}" for number in range(MOST_TASKS)]
    berts = asyncio.create_task(wire.call(LISTEN, asking(taskIds=unknown), headers={"X-Caller": "bert"}))
    await eventually(all_wait, what="bert's ids are looked for")
    async with wire.stream(LISTEN, asking(taskIds=[task_id])) as stream:
        assert (await told(stream))["notifications"] == {"taskIds": [task_id]}
    berts.cancel()
    await asyncio.gather(berts, return_exceptions=True)


@pytest.mark.parametrize("params", [{}, {"notifications": None}, {"notifications": 5}])
async def test_what_is_no_filter_is_refused_in_words_of_json(wire: Wire, params: Mapping[str, Any]) -> None:
    answer = await wire.call(LISTEN, params)

    assert answer.error[1] == -32602
    assert answer.message == "Invalid params: notifications: must be a JSON object"


async def test_a_task_that_is_removed_ends_without_a_word(wire: Wire, store: InMemoryTaskStore) -> None:
    task_id = await a_task(store)
    async with wire.stream(LISTEN, asking(taskIds=[task_id])) as stream:
        await stream.until(TASKS)
        store.delete(task_id)
        answer = await stream.answer()

    assert len(answer.told(TASKS)) == 1
    assert answer.result["resultType"] == "complete"


async def test_what_does_not_change_for_a_client_is_not_told(wire: Wire, store: InMemoryTaskStore) -> None:
    task_id = await a_task(store)
    async with wire.stream(LISTEN, asking(taskIds=[task_id])) as stream:
        await stream.until(TASKS)
        await store.detach(task_id, caller=ANONYMOUS)
        await store.write_status(task_id, over())
        answer = await stream.answer()

    assert [params["status"] for params in answer.told(TASKS)] == ["working", "completed"]


@pytest.mark.requirement("ext-tasks/listen-undeclared", "failures/f3-01")
@pytest.mark.parametrize("ids", [[], [UNKNOWN], ["x"] * (MOST_TASKS + 1), "not a list"])
async def test_tasks_without_the_extension_are_refused_and_the_refusal_names_it(wire: Wire, ids: Any) -> None:
    answer = await wire.call(LISTEN, asking(taskIds=ids), capabilities={})

    assert answer.error == (400, -32021)
    required = answer.body["error"]["data"]["requiredCapabilities"]
    assert required == {"extensions": {"io.modelcontextprotocol/tasks": {}}}


async def test_a_thousand_tasks_are_told_of_on_one_stream_and_no_more(wire: Wire, store: InMemoryTaskStore) -> None:
    ids = [await a_task(store) for _ in range(MOST_TASKS)]
    for task_id in ids:
        await store.write_status(task_id, over())

    most = await wire.call(LISTEN, asking(taskIds=ids))
    too_many = await wire.call(LISTEN, asking(taskIds=[*ids, UNKNOWN]))

    assert sorted(params["taskId"] for params in most.told(TASKS)) == sorted(ids)
    assert too_many.error == (200, -32602)
    assert "notifications/taskIds" in too_many.message
    assert "1000" in too_many.message


@pytest.mark.parametrize("notifications", [None, [], "x", {"taskIds": "x"}, {"taskIds": [1]}, {"taskIds": [None]}])
async def test_a_malformed_filter_is_invalid_params(wire: Wire, notifications: Any) -> None:
    answer = await wire.call(LISTEN, {"notifications": notifications})

    assert answer.error == (200, -32602)
    assert "notifications" in answer.message


async def test_a_missing_filter_is_invalid_params(wire: Wire) -> None:
    assert (await wire.call(LISTEN, {})).error == (200, -32602)


async def test_a_client_that_takes_no_stream_is_told_that_it_must(wire: Wire) -> None:
    answer = await wire.call(LISTEN, asking(toolsListChanged=True), headers={"Accept": "application/json"})

    assert answer.error == (406, -32600)
    assert "text/event-stream" in answer.message


@pytest.mark.requirement("listen/only-requested", "listen/concurrent", "tools/list-changed")
async def test_changes_of_the_list_of_tools_reach_those_who_asked_for_them_alone(
    wire: Wire, services: Services, store: InMemoryTaskStore
) -> None:
    task_id = await a_task(store)
    async with (
        wire.stream(LISTEN, asking(toolsListChanged=True), message_id="a") as tools,
        wire.stream(LISTEN, asking(toolsListChanged=False, promptsListChanged=True), message_id="b") as prompts,
        wire.stream(LISTEN, asking(taskIds=[task_id]), message_id="c") as tasks,
    ):
        acknowledged = [await told(stream) for stream in (tools, prompts, tasks)]
        await told(tasks)
        await eventually_watched(services)
        services.notices.tell(Topic.TOOLS)
        changed = await tools.next()
        services.stopping.set()
        rest = [await stream.next() for stream in (tools, prompts, tasks)]

    assert [params["notifications"] for params in acknowledged] == [
        {"toolsListChanged": True},
        {},
        {"taskIds": [task_id]},
    ]
    assert changed is not None
    assert changed["method"] == "notifications/tools/list_changed"
    assert changed["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "a"}
    assert [message and message["result"]["resultType"] for message in rest] == ["complete"] * 3


async def eventually_watched(services: Services) -> None:
    async def is_watched() -> bool:
        return len(services.notices) == 1

    await eventually(is_watched, what="the list of tools is watched")


@pytest.mark.requirement("listen/graceful")
async def test_a_stream_ends_with_its_callers_token(wire: Wire, store: InMemoryTaskStore) -> None:
    task_id = await a_task(store, Caller(name=EXPIRING))

    answer = await wire.call(LISTEN, asking(taskIds=[task_id], toolsListChanged=True), headers={"X-Caller": EXPIRING})

    assert [params["taskId"] for params in answer.told(TASKS)] == [task_id]
    assert answer.result["resultType"] == "complete"


async def test_a_stream_outlives_the_absence_of_the_cluster(wire: Wire, store: InMemoryTaskStore) -> None:
    task_id = await a_task(store)
    async with wire.stream(LISTEN, asking(taskIds=[task_id])) as stream:
        await stream.until(TASKS)
        store.arrived.clear()
        store.failure = UnavailableError("away")
        await store.write_status(task_id, over())
        await store.arrived.wait()
        store.failure = None
        answer = await stream.answer()

    assert [params["status"] for params in answer.told(TASKS)] == ["working", "completed"]


@pytest.mark.requirement("http/close-cancels")
async def test_a_closed_stream_leaves_nothing_behind(
    wire: Wire, services: Services, store: InMemoryTaskStore, metrics: Metrics
) -> None:
    task_id = await a_task(store)
    open_streams = metrics.open_streams.labels("listen")
    async with wire.stream(LISTEN, asking(taskIds=[task_id], toolsListChanged=True)) as stream:
        await stream.until(TASKS)
        await eventually_watched(services)
        assert (len(store.watches), open_streams._value.get()) == (1, 1)

    async def all_is_quiet() -> bool:
        return (len(store.watches), len(services.notices), open_streams._value.get()) == (0, 0, 0)

    await eventually(all_is_quiet, what="nothing is watched any more")


async def test_a_client_that_cannot_put_forms_before_people_is_not_told_to(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    task_id = await a_task(store)
    await store.write_status(task_id, questions("q"))
    async with (
        wire.stream(LISTEN, asking(taskIds=[task_id]), capabilities=PLAIN) as without,
        wire.stream(LISTEN, asking(taskIds=[task_id]), capabilities=ELICITS) as elicits,
    ):
        states = [(await stream.until(TASKS))["params"]["status"] for stream in (without, elicits)]

    assert states == ["working", "input_required"]


async def test_hundreds_of_listeners_are_all_told_of_one_change(
    wire: Wire, services: Services, store: InMemoryTaskStore
) -> None:
    task_id = await a_task(store)

    async def listen() -> list[str]:
        async with wire.stream(LISTEN, asking(taskIds=[task_id])) as stream:
            await stream.until(TASKS)
            listening.release()
            return [params["status"] for params in (await stream.answer()).told(TASKS)]

    listening = asyncio.Semaphore(0)
    listeners = [asyncio.create_task(listen()) for _ in range(200)]
    for _ in listeners:
        await listening.acquire()
    await store.write_status(task_id, over())

    assert await asyncio.gather(*listeners) == [["working", "completed"]] * 200
