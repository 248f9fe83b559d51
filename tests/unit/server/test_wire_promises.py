"""What holds for every message that the modern wire carries, whatever was asked."""

import json
import math
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp
import pytest
from mcp_types import PROTOCOL_VERSION_META_KEY

from mcptasks_crds.names import new_task_id
from mcptasks_server.errors import RpcError
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.contract import over, questions
from mcptasks_server.testing.desk import CallersByHeader, Desk
from mcptasks_server.testing.wire import WITH_FORMS, Answer, Wire

UNKNOWN: Final = "mt-" + "a" * 32


@pytest.fixture
def catalogue() -> FixedCatalogue:
    """A tool of each kind, as far as the wire is concerned."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    return FixedCatalogue(
        ready_tool("echo"),
        ready_tool("add", input_schema=schema),
        ready_tool("strict", task_support="required"),
    )


@pytest.fixture
async def task_id(wire: Wire) -> str:
    """A task that was just made."""
    return str((await wire.call("tools/call", {"name": "echo"})).result["taskId"])


async def everything(wire: Wire, task_id: str) -> list[tuple[str, Answer]]:
    """Answers of every kind: results and errors of each method."""
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/list", {"cursor": "nonsense"}),
        ("tools/call", {"name": "echo"}),
        ("tools/call", {"name": "add", "arguments": {}}),
        ("tools/call", {"name": "nope"}),
        ("tools/call", {}),
        ("tasks/get", {"taskId": task_id}),
        ("tasks/get", {"taskId": UNKNOWN}),
        ("tasks/update", {"taskId": task_id, "inputResponses": {}}),
        ("tasks/update", {"taskId": task_id}),
        ("tasks/cancel", {"taskId": task_id}),
        ("tasks/cancel", {"taskId": UNKNOWN}),
        ("tasks/list", {}),
        ("initialize", {}),
        ("no/such/method", {}),
    )
    answers = [(method, await wire.call(method, params, capabilities=WITH_FORMS)) for method, params in calls]
    undeclared = [
        (method, await wire.call(method, params, capabilities={}))
        for method, params in (("tools/call", {"name": "strict"}), ("tasks/get", {"taskId": task_id}))
    ]
    wrong = wire.body_of("tools/list", {}, meta={PROTOCOL_VERSION_META_KEY: "v0"})
    mismatched = await wire.post(wrong, headers=wire.headers_for("tools/list", None))
    unsupported = await wire.post(wrong, headers=wire.headers_for("tools/list", None, {"MCP-Protocol-Version": "v0"}))
    broken = [("", await wire.post(body)) for body in ("", "[]", '{"jsonrpc":"2.0"}')]
    return [*answers, *undeclared, ("tools/list", mismatched), ("tools/list", unsupported), *broken]


@pytest.mark.requirement(
    "base/result-type", "ext-tasks/result-type-task-only", "ext-tasks/only-tool-calls", "base/server-info"
)
async def test_every_result_says_its_type_and_only_a_calls_is_task(wire: Wire, task_id: str) -> None:
    results = [(method, answer.result) for method, answer in await everything(wire, task_id) if "result" in answer.body]

    assert {(method, result["resultType"]) for method, result in results} == {
        ("server/discover", "complete"),
        ("tools/list", "complete"),
        ("tools/call", "task"),
        ("tools/call", "complete"),
        ("tasks/get", "complete"),
        ("tasks/update", "complete"),
        ("tasks/cancel", "complete"),
    }


@pytest.mark.requirement("base/error-shape", "base/no-new-codes", "base/no-old-codes")
async def test_every_error_has_a_code_of_the_specifications_and_a_message(wire: Wire, task_id: str) -> None:
    errors = [answer.body["error"] for _, answer in await everything(wire, task_id) if "error" in answer.body]

    for error in errors:
        assert type(error["code"]) is int
        assert error["message"]
        assert set(error) <= {"code", "message", "data"}
    assert {error["code"] for error in errors} == {-32700, -32600, -32601, -32602, -32020, -32021, -32022}


@pytest.mark.requirement("base/no-new-codes", "base/no-old-codes")
def test_no_error_that_there_is_has_another_code() -> None:
    def below(kind: type[RpcError]) -> set[int]:
        return {kind.code}.union(*(below(each) for each in kind.__subclasses__()))

    legacy = {-32002}  # its era's own, for a resource that is not there; the wire's judges refuse it elsewhere
    assert below(RpcError) - legacy == {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}


@pytest.mark.requirement("cache/one-scope", "cache/hints", "cache/ttl")
async def test_every_page_of_a_list_has_the_same_hints(wire: Wire, catalogue: FixedCatalogue) -> None:
    catalogue.offer(*(ready_tool(f"tool-{number:03}") for number in range(401)))
    pages = [(await wire.call("tools/list")).result]
    while "nextCursor" in pages[-1]:
        pages.append((await wire.call("tools/list", {"cursor": pages[-1]["nextCursor"]})).result)

    assert len(pages) == 3
    assert len({(page["ttlMs"], page["cacheScope"]) for page in pages}) == 1


@pytest.mark.requirement("ext-tasks/unguessable", "legacy-tasks/unguessable", "legacy-tasks/ids", "failures/f3-06")
def test_ids_are_random_and_share_nothing() -> None:
    ids = [new_task_id() for _ in range(1000)]
    random = [each.removeprefix("mt-") for each in ids]
    letters = Counter("".join(random))
    entropy = -sum(n / letters.total() * math.log2(n / letters.total()) for n in letters.values())

    assert len(set(ids)) == 1000
    assert all(re.fullmatch(r"mt-[a-z2-7]{26,}", each) for each in ids)
    assert entropy * min(map(len, random)) >= 128
    for place in range(min(map(len, random))):  # no place tells of a clock or a counter
        assert len({each[place] for each in random}) >= 24


@pytest.mark.requirement("base/schema-2020-12", "tools/inputs-validated")
async def test_a_schema_that_names_no_dialect_is_one_of_2020_12(
    wire: Wire, catalogue: FixedCatalogue, store: InMemoryTaskStore
) -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}
    schema = {"type": "object", "properties": {"pair": pair}, "dependentRequired": {"pair": ["why"]}}
    catalogue.offer(ready_tool("pairs", input_schema=schema))
    told = []
    for arguments in ({"pair": [1, "x"], "why": 1}, {"pair": ["x", 1], "why": 1}, {"pair": [1]}, {"pair": [1, "x", 2]}):
        result = (await wire.call("tools/call", {"name": "pairs", "arguments": arguments})).result
        told.append(result["resultType"])

    assert told == ["task", "complete", "complete", "complete"]
    assert len(store.created) == 1


@pytest.fixture
async def guarded() -> AsyncIterator[Wire]:
    """An endpoint that wants to know its callers."""
    async with Desk(callers=CallersByHeader("anna")).serving() as url, aiohttp.ClientSession() as session:
        yield Wire(session, url)


@pytest.mark.requirement("http/authentication")
@pytest.mark.parametrize("value", [None, "", "Bearer", "Bearer ", "Bearer nobody", "Basic anna-token", "anna-tokens"])
async def test_a_request_that_does_not_say_whose_it_is_is_answered_401_and_how_to(
    guarded: Wire, value: str | None
) -> None:
    answer = await guarded.call("tools/call", {"name": "x"}, headers={"Authorization": value})

    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert (await guarded.as_caller("anna-token").call("tools/call", {"name": "x"})).status == 200


@pytest.mark.requirement("ext-tasks/get-input-required", "mrtr/declared-only")
async def test_a_tasks_question_is_shown_only_to_a_client_that_can_put_it_before_somebody(
    wire: Wire, store: InMemoryTaskStore, task_id: str
) -> None:
    await store.write_status(task_id, questions("q"))

    able = (await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result
    unable = (await wire.call("tasks/get", {"taskId": task_id})).result

    assert (able["status"], set(able["inputRequests"])) == ("input_required", {"q"})
    assert unable["status"] == "working"
    assert "inputRequests" not in unable
    assert unable["statusMessage"]


@pytest.mark.requirement("base/response-id", "base/json-rpc")
@pytest.mark.parametrize(
    "message_id", ["1", "-0", "0", '"\\u0000"', '"é"', "9007199254740993", "-1", '"\\ud83d\\ude00"']
)
async def test_an_id_comes_back_as_the_same_json(wire: Wire, message_id: str) -> None:
    body = wire.body_of("tools/list").replace('"id": 1', f'"id": {message_id}')

    answer = await wire.post(body, headers=wire.headers_for("tools/list", None))

    assert answer.body["id"] == json.loads(message_id)
    assert f'"id":{message_id}' in answer.text


@pytest.mark.requirement("ext-tasks/status-machine")
async def test_an_end_is_shown_the_same_for_ever(wire: Wire, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, over())
    first = (await wire.call("tasks/get", {"taskId": task_id})).text

    await wire.call("tasks/cancel", {"taskId": task_id})
    await wire.call("tasks/update", {"taskId": task_id, "inputResponses": {"q": {"action": "accept"}}})

    assert (await wire.call("tasks/get", {"taskId": task_id})).text == first
