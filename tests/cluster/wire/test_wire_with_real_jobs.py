"""What no scenario of the official suite covers, with real Jobs behind two replicas. All messages pass the judges."""

import asyncio
import json
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from mcptasks_crds.kube import JOBS, TASKS, NotFoundError
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.tasklogs import LOG_META
from mcptasks_server.testing import judges
from mcptasks_server.testing.answers import Answer
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.testing.wire import WITH_FORMS, Wire

from .conftest import ENDS, TO_END, World

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

YES: Final = {"action": "accept", "content": {"sure": True}}
NO: Final = {"action": "decline"}
UNKNOWN: Final = "mt-" + "a" * 32
PLAIN: Final[Mapping[str, Any]] = {"elicitation": {}}
"""A client that knows no tasks, and can be asked."""


async def log_of(client: Wire | LegacyWire, task_id: str) -> tuple[str, str]:
    """Where a task's log comes from, and its lines."""
    [content] = (await client.call("resources/read", {"uri": f"mcptask://{task_id}/log"})).result["contents"]
    return content["_meta"][LOG_META]["source"], content["text"]


async def answer(wire: Wire, task_id: str, **responses: Any) -> Answer:
    return await wire.call("tasks/update", {"taskId": task_id, "inputResponses": responses}, capabilities=WITH_FORMS)


def text_of(result: Mapping[str, Any]) -> str:
    return str(result["content"][0]["text"]).strip()


@pytest.mark.requirement("uncovered/replicas", "ext-tasks/create-consistent", "ext-tasks/keys-not-reused")
async def test_what_one_replica_was_told_the_other_shows_at_once(world: World) -> None:
    for _ in range(5):
        task_id = await world.handle("confirm")
        there = await world.shown(task_id, 1)
        acknowledged = await answer(world.wire(0), task_id, sure=YES)
        after = await world.shown(task_id, 1)

        assert (there["status"], set(there["inputRequests"])) == ("input_required", {"sure"})
        assert acknowledged.result["resultType"] == "complete"
        assert after["status"] in {"working", "completed"}
        ended = await world.until(task_id, *ENDS, replica=1)
        assert json.loads(text_of(ended["result"])) == {"sure": YES}


@pytest.mark.requirement("uncovered/disconnects", "http/close-cancels", "http/close-stops-work")
async def test_a_cut_held_call_leaves_neither_task_nor_pod_at_work(world: World) -> None:
    before = {item["metadata"]["name"] for item in await world.tasks()}
    params = {"name": "work", "arguments": {"seconds": 300}}

    async def new_task() -> str | None:
        return next(iter({item["metadata"]["name"] for item in await world.tasks()} - before), None)

    async with world.wire().stream("tools/call", params, capabilities=PLAIN) as stream:
        assert stream.status == 200
        task_id = await eventually(new_task, what="the call is a task")

        async def has_pod() -> bool:
            return not await world.is_quiet(task_id)

        await eventually(has_pod, what="its pod is there", timeout_seconds=TO_END)

    ended = await world.until(task_id, *ENDS)
    await eventually(lambda: world.is_quiet(task_id), what="its pod has ended", timeout_seconds=TO_END)

    assert ended["status"] == "cancelled"


@pytest.mark.requirement("uncovered/disconnects")
async def test_a_call_that_was_answered_by_a_handle_outlives_its_connection(world: World) -> None:
    params = {"name": "soon", "arguments": {"seconds": 8}}
    handed = await world.wire().call("tools/call", params, capabilities=PLAIN)
    extension = await world.handle("work", seconds=3)

    task_id = handed.result["structuredContent"]["taskId"]
    assert "do not call" in text_of(handed.result).lower()
    for each, said in ((task_id, "worked 8"), (extension, "worked 3")):
        ended = await world.until(each, *ENDS, replica=1)
        assert (ended["status"], text_of(ended["result"])) == ("completed", said)
        assert await world.jobs(each) == 1


@pytest.mark.requirement("uncovered/cancel-races", "ext-tasks/status-machine", "ext-tasks/cancel-cooperative")
async def test_a_cancel_that_races_with_the_end_leaves_one_end_for_ever(world: World) -> None:
    draw = random.Random(4)

    async def race(number: int) -> str:
        task_id = await world.handle("work", seconds=1)
        if number % 2:

            async def runs() -> bool:
                return not await world.is_quiet(task_id) or (await world.shown(task_id))["status"] in ENDS

            await eventually(runs, what="its pod runs", timeout_seconds=TO_END)
        await asyncio.sleep(draw.uniform(0, 1.5))
        replica = number % 2
        acknowledged = await world.wire(replica).call("tasks/cancel", {"taskId": task_id})
        assert acknowledged.result["resultType"] == "complete"
        return task_id

    ids = await asyncio.gather(*(race(number) for number in range(8)))
    ends = {task_id: await world.until(task_id, *ENDS) for task_id in ids}
    for _ in range(2):
        for task_id in ids:
            again = await world.wire(1).call("tasks/cancel", {"taskId": task_id})
            assert again.result["resultType"] == "complete"
            shown = await world.shown(task_id, 1)
            assert {**shown, "ttlMs": 0} == {**ends[task_id], "ttlMs": 0}

    assert {end["status"] for end in ends.values()} <= {"completed", "cancelled"}


@pytest.mark.requirement("uncovered/expiry", "ext-tasks/kept-until-ttl", "ext-tasks/expired-is-unknown")
async def test_a_task_is_there_until_its_time_is_over_and_then_nothing_is(world: World) -> None:
    task_id = await world.handle("brief", seconds=1)
    ended = await world.until(task_id, "completed")
    created = datetime.fromisoformat(ended["createdAt"])
    expires = created + timedelta(milliseconds=ended["ttlMs"])

    async def unknown() -> Answer | None:
        shown = await world.wire(1).call("tasks/get", {"taskId": task_id})
        if "result" in shown.body:
            return None
        assert datetime.now(expires.tzinfo) >= expires - timedelta(milliseconds=100)
        return shown

    shown = await eventually(unknown, what="the task is unknown", timeout_seconds=TO_END)

    async def gone() -> bool:
        try:
            await world.kube.get(TASKS, world.namespace, task_id)
        except NotFoundError:
            return await world.count(JOBS, task_id) == 0
        return False

    await eventually(gone, what="its objects are gone", timeout_seconds=TO_END)
    assert shown.error == (200, -32602)
    for method in ("tasks/get", "tasks/cancel"):
        assert (await world.wire(0).call(method, {"taskId": task_id})).error == (200, -32602)


@pytest.mark.requirement("uncovered/notifications", "ext-tasks/listen-ack-ids", "ext-tasks/notification-whole")
async def test_a_subscription_tells_of_the_callers_own_tasks_to_their_end(world: World) -> None:
    mine = [await world.handle("work", seconds=2), await world.handle("refuse"), await world.handle("confirm")]
    theirs = await world.handle("work", caller="bert")
    wanted = {"notifications": {"taskIds": [*mine, theirs, UNKNOWN]}}

    undeclared = await world.wire().call("subscriptions/listen", wanted, capabilities=PLAIN)
    async with world.wire(1).stream("subscriptions/listen", wanted, capabilities=WITH_FORMS) as stream:
        acknowledged = await stream.until("notifications/subscriptions/acknowledged")
        await answer(world.wire(0), mine[2], sure=NO)
        whole = await stream.answer()

    assert undeclared.error == (400, -32021)
    assert set(acknowledged["params"]["notifications"]["taskIds"]) == set(mine)
    last = {each["taskId"]: each for each in whole.told("notifications/tasks")}
    assert set(last) == set(mine)
    assert {task["status"] for task in last.values()} == {"completed"}
    for task_id, task in last.items():
        shown = await world.shown(task_id)
        assert {**task, "_meta": 0, "resultType": 0} == {**shown, "_meta": 0, "resultType": 0}


@pytest.mark.requirement("uncovered/legacy-tasks", "legacy-tasks/result-exact", "legacy-tasks/tool-error-fails")
async def test_legacy_tasks_are_real_jobs(world: World) -> None:
    client = await LegacyWire.connected(world.wire(0), capabilities=EVERYTHING)
    there = client.elsewhere(world.wire(1))
    ids = {}
    for tool, arguments in (("work", {"seconds": 1}), ("refuse", {}), ("broken", {}), ("confirm", {})):
        params = {"name": tool, "arguments": arguments, "task": {"ttl": 60_000}}
        ids[tool] = (await client.call("tools/call", params)).result["task"]["taskId"]
    long = (await client.call("tools/call", {"name": "work", "arguments": {"seconds": 300}, "task": {}})).result["task"]

    worked, refused, broken = [
        await there.call("tasks/result", {"taskId": ids[tool]}) for tool in ("work", "refuse", "broken")
    ]
    async with there.stream("tasks/result", {"taskId": ids["confirm"]}) as stream:
        asked = await stream.until("elicitation/create")
        assert asked["params"]["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": ids["confirm"]}
        assert (await client.respond(asked["id"], YES)).status == 202  # at the other replica
        confirmed = await stream.answer()
    cancelled = (await client.call("tasks/cancel", {"taskId": long["taskId"]})).result

    assert text_of(worked.result) == "worked 1"
    assert (refused.result["isError"], text_of(refused.result).startswith("no such table")) == (True, True)
    assert broken.body["error"]["code"] == -32603
    assert json.loads(text_of(confirmed.result)) == {"sure": YES}
    assert cancelled["status"] == "cancelled"
    statuses = {
        tool: (await there.call("tasks/get", {"taskId": task_id})).result["status"] for tool, task_id in ids.items()
    }
    assert statuses == {"work": "completed", "refuse": "failed", "broken": "failed", "confirm": "completed"}
    assert (await there.call("tasks/cancel", {"taskId": ids["work"]})).body["error"]["code"] == -32602
    listed = (await there.call("tasks/list")).result["tasks"]
    assert {*ids.values(), long["taskId"]} <= {task["taskId"] for task in listed}


@pytest.mark.requirement("uncovered/isolation", "ext-tasks/auth-binding", "legacy-tasks/bound", "http/authentication")
async def test_callers_know_nothing_of_each_others_tasks(world: World) -> None:
    task_id = await world.handle("confirm")
    bert = world.wire(1, caller="bert")
    for method, more in (("tasks/get", {}), ("tasks/cancel", {}), ("tasks/update", {"inputResponses": {"sure": NO}})):
        theirs, none = [await bert.call(method, {"taskId": each, **more}) for each in (task_id, UNKNOWN)]
        assert (
            (theirs.error, theirs.body["error"])
            == (none.error, none.body["error"])
            == ((200, -32602), none.body["error"])
        )
    nobody = await world.wire(1, caller=None).call("tasks/get", {"taskId": task_id})
    stranger = await world.wire(1, caller=None).as_caller("x" * 64).call("tasks/get", {"taskId": task_id})

    assert (nobody.status, stranger.status) == (401, 401)
    assert "invalid_token" in stranger.headers["WWW-Authenticate"]
    assert (await world.shown(task_id))["status"] == "input_required"
    await world.wire().call("tasks/cancel", {"taskId": task_id})
    assert (await world.until(task_id, *ENDS))["status"] == "cancelled"
    assert await world.count(JOBS, task_id) == 0  # nobody has answered, so nothing ever ran


@pytest.mark.requirement("uncovered/request-state", "mrtr/state-verified", "mrtr/state-caller", "mrtr/state-request")
async def test_a_request_state_is_good_for_its_own_call_at_any_replica_alone(world: World) -> None:
    params: dict[str, Any] = {"name": "first", "arguments": {}}
    before = len(await world.tasks())
    asked = (await world.wire(0).call("tools/call", params, capabilities=WITH_FORMS)).result
    retry = {**params, "inputResponses": {"sure": YES}, "requestState": asked["requestState"]}
    wrong = [
        (world.wire(1), {**retry, "requestState": asked["requestState"][:-2] + "xx"}),
        (world.wire(1, caller="bert"), retry),
        (world.wire(1), {**retry, "name": "second"}),
        (world.wire(1), {**retry, "arguments": {"more": 1}}),
    ]
    for wire, given in wrong:
        refused = await wire.call("tools/call", given, capabilities=WITH_FORMS)
        assert refused.error == (200, -32602)
        assert "requestState" in refused.message
    assert len(await world.tasks()) == before

    handle = (await world.wire(1).call("tools/call", retry, capabilities=WITH_FORMS)).result
    ended = await world.until(handle["taskId"], *ENDS)

    assert asked["resultType"] == "input_required"
    assert json.loads(text_of(ended["result"])) == {"sure": YES}


@pytest.mark.requirement("uncovered/late-answers", "ext-tasks/update-ignores")
async def test_of_many_answers_the_first_counts_and_the_others_are_acknowledged(world: World) -> None:
    task_id = await world.handle("confirm")
    answers = await asyncio.gather(
        *(answer(world.wire(number % 2), task_id, sure=YES | {"content": {"sure": True}}) for number in range(6))
    )
    unlike = await answer(world.wire(1), task_id, sure=NO, other=YES)
    ended = await world.until(task_id, *ENDS)
    late = await answer(world.wire(0), task_id, sure=NO)

    assert {each.result["resultType"] for each in (*answers, unlike, late)} == {"complete"}
    assert json.loads(text_of(ended["result"])) == {"sure": YES}
    assert await world.jobs(task_id) == 1
    assert (await world.shown(task_id, 1))["result"] == ended["result"]


@pytest.mark.requirement("uncovered/shapes", "ext-tasks/get-failed", "ext-tasks/tool-error-completes")
async def test_a_real_task_of_each_status_passes_all_judges(world: World) -> None:
    assert judges.OTHERS, "fastmcp's models are not installed: `make programs` does it"
    ids = {
        "working": await world.handle("work", seconds=300),
        "input_required": await world.handle("confirm"),
        "completed": await world.handle("refuse"),
        "failed": await world.handle("broken"),
        "cancelled": await world.handle("work", seconds=300),
    }
    await world.wire().call("tasks/cancel", {"taskId": ids["cancelled"]})
    shown = {status: await world.until(task_id, status) for status, task_id in ids.items()}

    assert shown["completed"]["result"]["isError"] is True
    assert shown["failed"]["error"]["code"] == -32603
    assert shown["failed"]["statusMessage"]
    for task_id in ids.values():
        await world.wire().call("tasks/cancel", {"taskId": task_id})


@pytest.mark.requirement("uncovered/interleaved", "base/dual-era")
async def test_clients_of_both_eras_follow_the_same_tasks_at_once(world: World) -> None:
    legacy = await LegacyWire.connected(world.wire(1), capabilities=EVERYTHING)

    async def begun_in_modern(number: int) -> tuple[str, str]:
        task_id = await world.handle("work", seconds=number)
        result = (await legacy.call("tasks/result", {"taskId": task_id})).result
        shown = await world.shown(task_id)
        return text_of(result), text_of(shown["result"])

    async def begun_in_legacy(number: int) -> tuple[str, str]:
        params = {"name": "work", "arguments": {"seconds": number}, "task": {}}
        task_id = (await legacy.call("tools/call", params)).result["task"]["taskId"]
        shown = await world.until(task_id, *ENDS)
        result = (await legacy.call("tasks/result", {"taskId": task_id})).result
        return text_of(result), text_of(shown["result"])

    seen = await asyncio.gather(*(begun(number) for number in range(3) for begun in (begun_in_modern, begun_in_legacy)))

    assert list(seen) == [(f"worked {number}", f"worked {number}") for number in range(3) for _ in range(2)]


@pytest.mark.requirement("ours/task-resources", "resources/access")
async def test_a_log_grows_while_its_task_runs_and_its_end_is_kept_when_the_pod_is_gone(world: World) -> None:
    legacy = await LegacyWire.connected(world.wire(1))
    chatty, quiet = await world.handle("chatty"), await world.handle("work", seconds=0)
    living: list[str] = []

    async def has_grown() -> bool:
        source, text = await log_of(world.wire(0) if len(living) % 2 else legacy, chatty)
        living.extend([text] if source == "pod" and "line 1\n" in text else [])
        return len(living) > 1 and len(living[-1]) > len(living[0])

    await eventually(has_grown, what="the log has grown", timeout_seconds=TO_END)
    foreign = await world.wire(caller="bert").call("resources/read", {"uri": f"mcptask://{chatty}/log"})
    assert (await world.shown(chatty))["status"] == "working"
    ended = await world.until(chatty, *ENDS)
    await world.until(quiet, *ENDS)
    left = await log_of(legacy, quiet)
    for task_id in (chatty, quiet):
        await world.remove_pods(task_id)
    gone = await log_of(legacy, quiet)
    kept = await log_of(world.wire(1), chatty)
    result = await legacy.call("resources/read", {"uri": f"mcptask://{chatty}/result"})

    assert living[-1].startswith(living[0])
    assert foreign.body["error"]["message"] == "Resource not found"
    assert (kept[0], kept[1].splitlines()[1:]) == ("kept", [f"line {n}" for n in range(1, 61)])
    assert left == ("pod", "[Nothing was printed so far.]\n")
    assert (gone[0], f"mcptask://{quiet}/result" in gone[1]) == ("none", True)
    shown = json.loads(result.result["contents"][0]["text"])
    assert shown["isError"] is ended["result"]["isError"] is True
    assert shown["content"] == ended["result"]["content"]
