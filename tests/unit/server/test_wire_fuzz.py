"""Whatever a client sends, on either wire: an answer that is valid by every judge, and that somebody has thought of."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptasks_crds.task import McpTask
from mcptasks_server.app import create_app, with_packs
from mcptasks_server.caller import Caller
from mcptasks_server.dispatch import Services
from mcptasks_server.guards import Guards
from mcptasks_server.health import Health
from mcptasks_server.metrics import Metrics
from mcptasks_server.tasks import NewTask
from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.contract import over, questions
from mcptasks_server.testing.desk import CallersByHeader
from mcptasks_server.testing.legacy_wire import EVERYTHING, LegacyWire
from mcptasks_server.testing.wire import WITH_FORMS, Answer, Wire
from mcptasks_server.toolpack import Context, ToolPack
from mcptasks_server.toolpack.packs import packs_of
from mcptasks_server.toolpack.running import Runner

FORM: Final = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
pack = ToolPack("fuzzed")


@pack.tool()
async def adds(context: Context, a: int, b: float = 1.0) -> dict[str, float]:
    """Adds, and tells how far it is."""
    await context.progress(a, total=b)
    await context.log("info", {"a": a})
    return {"sum": a + b}


@pack.tool()
async def asks(context: Context) -> str:
    """Asks."""
    return str((await context.elicit("name", "Who?", FORM)).action)


@pack.prompt()
async def review(code: str) -> str:
    """Asks for a review."""
    return f"Review {code}"


@pack.completion("review", "code")
async def complete_code(typed: str, known: dict[str, str]) -> list[str]:
    return [typed, *known]


@pack.resource("text://one")
async def one() -> str:
    """The first."""
    return "one"


@pack.resource_template("books://{shelf}/{number}")
async def book(shelf: str, number: int) -> str:
    """A book."""
    return f"{shelf}/{number}"


class QuickStore(InMemoryTaskStore):
    """Each task is over as soon as it is made, so that no call is held for long."""

    async def create(self, new: NewTask, *, caller: Caller) -> McpTask:
        task = await super().create(new, caller=caller)
        await self.write_status(task.metadata.name, over())
        return task


@pytest.fixture
def store() -> InMemoryTaskStore:
    """Where the tasks are."""
    return QuickStore(clock=lambda: datetime.now(UTC))


@pytest.fixture
def app(store: InMemoryTaskStore) -> web.Application:
    """All there is: Jobs of each kind, a pack, companions, callers."""
    question = {"key": "sure", "message": "Sure?", "requestedSchema": FORM, "when": "beforeTask"}
    catalogue = FixedCatalogue(
        ready_tool(
            "echo", input_schema={"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "R"}}}
        ),
        ready_tool("strict", task_support="required", output_schema={"type": "object"}),
        ready_tool("never", task_support="forbidden"),
        ready_tool("asking", questions=[question]),
    )
    services = with_packs(Services(catalogue=catalogue, tasks=store), packs_of([pack], runner=Runner()))
    return create_app(
        services,
        callers=CallersByHeader("anna"),
        guards=Guards(),
        health=Health(ready=lambda: "", live=lambda: ""),
        metrics=Metrics(),
        max_body_bytes=100_000,
    )


@pytest.fixture
async def anna(wire: Wire) -> Wire:
    """A caller."""
    return wire.as_caller("anna-token")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**53, 2**63, 2**64, -(2**63), 10**30, 0, -0.0, 1.5, 1e308, 5e-324])
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "mt-" + "a" * 32, "echo", "strict", "adds", "review", "text://one", "\u0000", "../x", "x" * 300]
    ),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3),
    max_leaves=6,
)
tool_names = st.sampled_from(
    ["echo", "strict", "never", "asking", "adds", "asks", "task_get", "task_answer", "task_cancel", "task_list"]
)
MEMBERS: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "name": tool_names | json_values,
    "arguments": st.dictionaries(st.sampled_from(["a", "b", "r", "taskId", "key", "answer", "offset"]), json_values)
    | json_values,
    "cursor": json_values,
    "uri": st.sampled_from(["text://one", "books://x/1", "books://x/y", "books:///"]) | json_values,
    "taskId": st.sampled_from(["KNOWN", "ASKING"]) | json_values,
    "inputResponses": st.dictionaries(st.sampled_from(["q", "name", "sure", "other"]), json_values) | json_values,
    "requestState": json_values,
    "task": st.fixed_dictionaries({}, optional={"ttl": json_values}) | json_values,
    "level": st.sampled_from(["debug", "error"]) | json_values,
    "ref": st.fixed_dictionaries(
        {"type": st.sampled_from(["ref/prompt", "ref/resource"])}, optional={"name": json_values, "uri": json_values}
    )
    | json_values,
    "argument": st.fixed_dictionaries({}, optional={"name": json_values, "value": json_values}) | json_values,
    "context": json_values,
    "notifications": st.fixed_dictionaries(
        {},
        optional={
            "taskIds": st.lists(json_values, max_size=3) | json_values,
            "toolsListChanged": json_values,
            "promptsListChanged": json_values,
            "resourceSubscriptions": json_values,
        },
    )
    | json_values,
    "requestId": json_values,
    "protocolVersion": st.sampled_from(["2025-11-25", "2024-11-05", "x"]) | json_values,
    "capabilities": json_values,
    "clientInfo": json_values,
}
"""What each member of `params` may be, and what it never should be."""
params = st.dictionaries(st.sampled_from(sorted(MEMBERS)), st.none(), max_size=5).flatmap(
    lambda chosen: st.fixed_dictionaries({name: MEMBERS[name] for name in chosen})
)
meta = st.dictionaries(
    st.sampled_from(
        [
            "progressToken",
            "mcptasks.dev/idempotency-key",
            "io.modelcontextprotocol/logLevel",
            "io.modelcontextprotocol/clientInfo",
            "x",
        ]
    ),
    json_values,
    max_size=2,
)
capabilities = st.just(WITH_FORMS) | st.dictionaries(
    st.sampled_from(["elicitation", "sampling", "roots", "extensions", "tasks"]), json_values, max_size=3
)
METHODS: Final = (
    *("server/discover", "tools/list", "tools/call", "tools/call", "tasks/get", "tasks/update", "tasks/cancel"),
    *("tasks/result", "tasks/list", "prompts/list", "prompts/get", "resources/list", "resources/read"),
    *("resources/templates/list", "completion/complete", "subscriptions/listen", "initialize", "ping"),
    *("logging/setLevel", "resources/subscribe", "notifications/cancelled", "x"),
)
calm = settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


async def known(wire: Wire, store: InMemoryTaskStore) -> dict[str, str]:
    """Ids of tasks that are there: one that is over, one that asks."""
    ids = {}
    for name in ("KNOWN", "ASKING"):
        ids[name] = str((await wire.call("tools/call", {"name": "strict"})).result["taskId"])
    store.objects[ids["ASKING"]]["status"] = questions("q")
    return ids


def filled(values: dict[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    task_id = values.get("taskId")
    return {**values, "taskId": ids.get(task_id, task_id)} if isinstance(task_id, str) else values


def is_expected(answer: Answer) -> bool:
    """Whether it is an answer that somebody has thought of. (All judges have seen it by now.)"""
    assert answer.status < 500
    return not answer.text or answer.body.get("error", {}).get("message") != "Internal error"


@pytest.mark.requirement("cancel/no-other-purpose", "base/json-rpc")
@given(asked=st.tuples(st.sampled_from(METHODS), params, meta, capabilities))
@calm
async def test_whatever_a_modern_client_asks_the_answer_is_valid_and_expected(
    anna: Wire, store: InMemoryTaskStore, asked: tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]
) -> None:
    method, values, more, abilities = asked
    ids = await known(anna, store)

    if method == "subscriptions/listen":  # it may have nothing to end it
        async with anna.stream(method, filled(values, ids), capabilities=abilities, meta=more) as stream:
            assert await stream.next() is not None
        return
    answer = await anna.call(method, filled(values, ids), capabilities=abilities, meta=more)

    assert is_expected(answer), answer.text


@pytest.mark.requirement("legacy/json-rpc")
@given(method=st.sampled_from(METHODS), values=params, more=meta)
@calm
async def test_whatever_a_legacy_client_asks_the_answer_is_valid_and_expected(
    anna: Wire, store: InMemoryTaskStore, method: str, values: dict[str, Any], more: dict[str, Any]
) -> None:
    ids = await known(anna, store)
    client = await LegacyWire.connected(anna)
    params = filled(values, ids)
    if method in {"tasks/result", "tasks/cancel"} and params.get("taskId") == ids["ASKING"]:
        return  # it waits for what nobody here will do

    answer = await client.call(method, {"_meta": more, **params})

    assert is_expected(answer), answer.text


@pytest.mark.requirement("ours/nothing-unexpected", "legacy/initialize")
@given(declared=json_values | st.just(EVERYTHING), version=json_values, session=st.text(max_size=30))
@calm
async def test_whatever_a_handshake_says_the_answer_is_valid_and_expected(
    anna: Wire, declared: Any, version: Any, session: str
) -> None:
    body = {"protocolVersion": version, "capabilities": declared, "clientInfo": {"name": "x", "version": "1"}}
    printable = "".join(character for character in session if " " < character < "\x7f")

    answer = await anna.post(
        LegacyWire.body_of("initialize", body), headers={"Accept": "*/*", "Mcp-Session-Id": printable}
    )

    assert is_expected(answer), answer.text


@pytest.mark.requirement("ours/nothing-unexpected")
@given(
    message=st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0") | json_values},
        optional={
            "id": json_values,
            "result": json_values,
            "error": json_values,
            "method": json_values,
            "params": json_values,
        },
    )
)
@calm
async def test_whatever_message_comes_in_a_session_the_answer_is_valid_and_expected(
    anna: Wire, message: dict[str, Any]
) -> None:
    client = await LegacyWire.connected(anna, capabilities=EVERYTHING)

    answer = await anna.post(json.dumps(message), headers=client.headers())

    assert is_expected(answer), answer.text


@pytest.mark.requirement("ours/nothing-unexpected", "ours/strict-json")
@given(data=st.data(), is_legacy=st.booleans())
@calm
async def test_a_request_with_some_bytes_changed_is_answered_in_words(
    anna: Wire, data: st.DataObject, is_legacy: bool
) -> None:
    client = await LegacyWire.connected(anna)
    call = {"name": "adds", "arguments": {"a": 1}}
    body = LegacyWire.body_of("tools/call", call) if is_legacy else anna.body_of("tools/call", call)
    headers = client.headers() if is_legacy else anna.headers_for("tools/call", call)
    text = bytearray(body.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        match data.draw(st.sampled_from(["set", "cut", "put"])):
            case "set":
                text[at] = data.draw(st.integers(0, 255))
            case "cut":
                del text[at : at + data.draw(st.integers(1, 20))]
            case _:
                text[at:at] = data.draw(
                    st.binary(max_size=5) | st.sampled_from([b'"', b"{", b"]", b"\\ud800", b",", b"1e999"])
                )
        if not text:
            break

    answer = await anna.post(bytes(text), headers=headers)

    assert is_expected(answer), answer.text


@pytest.mark.requirement("base/response-id")
async def test_many_requests_at_once_on_one_connection_each_get_their_own_answer(anna: Wire) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=2)) as session:
        wire = Wire(session, anna.url).as_caller("anna-token")
        for number in range(30):
            answer = await wire.call("tools/call", {"name": "adds", "arguments": {"a": number}}, message_id=number)

            assert answer.result["structuredContent"] == {"sum": number + 1.0}


@pytest.mark.requirement("logging/declared", "discover/contents")
async def test_discovery_declares_all_that_is_there(anna: Wire) -> None:
    declared = (await anna.call("server/discover")).result["capabilities"]

    assert set(declared) == {"tools", "prompts", "resources", "completions", "logging", "extensions"}
