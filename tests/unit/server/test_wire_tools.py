"""`server/discover`, `tools/list`, `tools/call` (specification 2026-07-28; the tasks extension, Task Creation)."""

import base64
import json
from typing import Any

import pytest
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY, methods

from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore, ready_tool
from mcptasks_server.testing.wire import VERSION, WITH_TASKS, Wire

META = {PROTOCOL_VERSION_META_KEY: VERSION, CLIENT_CAPABILITIES_META_KEY: WITH_TASKS}
TASKS = "io.modelcontextprotocol/tasks"


@pytest.mark.requirement(
    "base/discover", "discover/contents", "ext-tasks/advertised", "cache/hints", "tools/capability"
)
async def test_discover_names_versions_capabilities_and_how_long_that_holds(wire: Wire) -> None:
    result = (await wire.call("server/discover", capabilities={})).result

    assert result["supportedVersions"] == ["2026-07-28", "2025-11-25"]
    assert result["capabilities"] == {
        "tools": {"listChanged": True},
        "resources": {},
        "extensions": {TASKS: {}},
    }
    assert (result["resultType"], result["cacheScope"]) == ("complete", "public")
    assert result["ttlMs"] >= 0
    methods.validate_server_result("server/discover", VERSION, result)


@pytest.mark.requirement("base/server-info")
async def test_every_result_says_which_server_it_is_from(wire: Wire) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "echo"}),
        ("tools/call", {"name": "add", "arguments": {}}),
    )
    for method, params in calls:
        info = (await wire.call(method, params)).result["_meta"]["io.modelcontextprotocol/serverInfo"]

        assert info["name"] == "mcptasks"
        assert info["version"]


@pytest.mark.requirement("tools/list-order", "tools/list-not-per-connection", "cache/hints", "cache/ttl")
async def test_tools_are_listed_by_name_each_time_with_caching_hints(wire: Wire) -> None:
    first = (await wire.call("tools/list", capabilities={})).result
    second = (await wire.call("tools/list", capabilities={"roots": {}})).result

    assert [tool["name"] for tool in first["tools"]] == ["add", "echo", "regional"]
    assert first == second
    assert (first["resultType"], first["cacheScope"]) == ("complete", "private")
    assert isinstance(first["ttlMs"], int)
    assert first["ttlMs"] >= 0
    assert "nextCursor" not in first
    methods.validate_server_result("tools/list", VERSION, first)


@pytest.mark.requirement("tools/input-schema")
async def test_a_tools_schemas_are_listed_as_their_author_wrote_them(wire: Wire, catalogue: FixedCatalogue) -> None:
    added = next(each for each in (await wire.call("tools/list")).result["tools"] if each["name"] == "add")
    tool = catalogue.find("add")

    assert tool is not None
    assert added == {
        "name": "add",
        "title": "Add",
        "description": "The tool add.",
        "inputSchema": dict(tool.input_schema),
        "outputSchema": {"type": "object"},
    }


@pytest.mark.requirement("pages/stable")
async def test_many_tools_come_in_pages_that_hold_each_of_them_once(wire: Wire, catalogue: FixedCatalogue) -> None:
    names = [f"tool-{number:03}" for number in range(450)]
    catalogue.offer(*(ready_tool(name) for name in names))
    names += ["task_get", "task_answer", "task_cancel"]

    seen: list[str] = []
    page = (await wire.call("tools/list")).result
    while "nextCursor" in page:
        seen += [tool["name"] for tool in page["tools"]]
        page = (await wire.call("tools/list", {"cursor": page["nextCursor"]})).result
    seen += [tool["name"] for tool in page["tools"]]

    assert seen == names


@pytest.mark.requirement("pages/invalid-cursor")
@pytest.mark.parametrize("cursor", ["!", "ä", "a", 7, {}, "////"])
async def test_a_cursor_that_was_never_given_is_invalid(wire: Wire, cursor: Any) -> None:
    assert (await wire.call("tools/list", {"cursor": cursor})).error == (200, -32602)


@pytest.mark.requirement("ext-tasks/handle-shape", "ext-tasks/result-type-task")
async def test_a_call_becomes_a_task_and_its_handle_is_flat(wire: Wire, store: InMemoryTaskStore) -> None:
    result = (await wire.call("tools/call", {"name": "add", "arguments": {"a": 1}})).result

    assert result["resultType"] == "task"
    assert result["status"] == "working"
    assert result["ttlMs"] == 600_000
    assert result["pollIntervalMs"] == 1000
    assert result["createdAt"] <= result["lastUpdatedAt"]
    assert set(result) == {
        *("resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "_meta")
    }
    assert list(store.objects) == [result["taskId"]]


@pytest.mark.requirement("ext-tasks/server-decides", "ext-tasks/no-related-task", "failures/f3-02")
async def test_a_legacy_task_parameter_is_ignored(wire: Wire) -> None:
    params = {"name": "echo", "task": {"ttl": "nonsense", "pollInterval": []}}

    assert (await wire.call("tools/call", params)).result["resultType"] == "task"


@pytest.mark.requirement("ours/text-kept")
@pytest.mark.parametrize(
    "source",
    [
        '{"a": 1.0}',
        '{ "a" :123456789012345678901234567890 , "b":null }',
        '{"a": 1, "text": "\\u0041\\u0000; id $(DB) $$ \\ud83d\\ude00 😀", "z": -0.0, "e": 1e400, "x": [[1E+2]]}',
        '{\n\t"a": 2\n}',
    ],
)
async def test_arguments_are_kept_as_the_client_wrote_them(wire: Wire, store: InMemoryTaskStore, source: str) -> None:
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": "*", "_meta": META}}
    ).replace('"*"', source)

    answer = await wire.post(body, headers=wire.headers_for("tools/call", {"name": "add"}))

    assert answer.result["resultType"] == "task"
    assert [new.arguments for new in store.created] == [source]


@pytest.mark.requirement("ours/nulls")
async def test_a_call_without_arguments_has_empty_ones(wire: Wire, store: InMemoryTaskStore) -> None:
    await wire.call("tools/call", {"name": "echo"})
    await wire.call("tools/call", {"name": "echo", "arguments": None})

    assert [new.arguments for new in store.created] == ["{}", "{}"]


@pytest.mark.requirement("ext-tasks/create-durable")
async def test_the_handle_comes_only_after_the_task_was_kept(wire: Wire, store: InMemoryTaskStore) -> None:
    result = (await wire.call("tools/call", {"name": "echo"})).result

    assert (await wire.call("tasks/get", {"taskId": result["taskId"]})).result["status"] == "working"
    assert len(store.created) == 1


@pytest.mark.requirement("tools/unknown")
@pytest.mark.parametrize("name", ["nope", "", "ADD", "add ", "../add"])
async def test_an_unknown_tool_is_invalid_params(wire: Wire, store: InMemoryTaskStore, name: str) -> None:
    encoded = "=?base64?" + base64.b64encode(name.encode()).decode() + "?="

    answer = await wire.call("tools/call", {"name": name}, headers={"Mcp-Name": encoded})

    assert answer.error == (200, -32602)
    assert store.created == []


@pytest.mark.requirement("tools/unknown")
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "name: is required"),
        ({"name": 7}, "name: must be a string"),
        ({"name": None}, "name: must be a string"),
        ({"name": "echo", "arguments": []}, "arguments: must be a JSON object"),
        ({"name": "echo", "arguments": "x"}, "arguments: must be a JSON object"),
    ],
)
async def test_a_malformed_call_is_invalid_params(
    wire: Wire, store: InMemoryTaskStore, params: dict[str, Any], words: str
) -> None:
    answer = await wire.call("tools/call", params)

    assert answer.error == (200, -32602)
    assert answer.body["error"]["message"] == f"Invalid params: {words}"
    assert store.created == []


@pytest.mark.requirement("tools/execution-errors", "tools/inputs-validated")
@pytest.mark.parametrize(
    ("arguments", "pointers"),
    [
        ({}, ["/a"]),
        ({"a": "1"}, ["/a"]),
        ({"a": 1.5, "b": "x"}, ["/a"]),
        ({"a": None}, ["/a"]),
    ],
)
async def test_arguments_that_break_the_schema_are_a_tool_error_that_names_the_place(
    wire: Wire, store: InMemoryTaskStore, arguments: dict[str, Any], pointers: list[str]
) -> None:
    result = (await wire.call("tools/call", {"name": "add", "arguments": arguments})).result

    assert (result["resultType"], result["isError"]) == ("complete", True)
    assert all(pointer in result["content"][0]["text"] for pointer in pointers)
    assert store.created == []
    methods.validate_server_result("tools/call", VERSION, result)


@pytest.mark.requirement("ours/limits-in-words")
async def test_arguments_over_the_limit_are_a_tool_error_that_names_it(wire: Wire, store: InMemoryTaskStore) -> None:
    text = "x" * (256 * 1024 - len('{"text": ""}'))

    fits = (await wire.call("tools/call", {"name": "echo", "arguments": {"text": text}})).result
    over = (await wire.call("tools/call", {"name": "echo", "arguments": {"text": text + "x"}})).result

    assert fits["resultType"] == "task"
    assert over["isError"] is True
    assert "256 KiB" in over["content"][0]["text"]
    assert len(store.created) == 1


@pytest.mark.requirement("ours/short-errors")
async def test_a_violation_is_told_shortly_however_large_the_value_is(wire: Wire) -> None:
    result = (await wire.call("tools/call", {"name": "add", "arguments": {"a": "x" * 100_000}})).result

    assert len(result["content"][0]["text"]) < 1000


@pytest.mark.requirement(
    "ext-tasks/missing-capability",
    "ext-tasks/no-handle-undeclared",
    "base/undeclared-capability",
    "base/stateless",
    "base/extension-fallback",
)
@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"extensions": {}},
        {"tasks": {"requests": {"tools": {"call": {}}}}},
        {"extensions": {TASKS: None}},
        {"extensions": []},
    ],
)
async def test_a_client_that_cannot_be_given_a_task_is_told_what_it_lacks_and_nothing_is_created(
    wire: Wire, store: InMemoryTaskStore, capabilities: dict[str, Any]
) -> None:
    await wire.call("tools/call", {"name": "echo"})  # an earlier declaration counts for nothing

    answer = await wire.call("tools/call", {"name": "echo"}, capabilities=capabilities)

    assert answer.error == (400, -32021)
    assert answer.body["error"]["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    assert len(store.created) == 1


@pytest.mark.requirement("http/mirrored-must-match", "http/mirrored-integers")
async def test_a_mirrored_argument_must_stand_in_its_header(wire: Wire, store: InMemoryTaskStore) -> None:
    params = {"name": "regional", "arguments": {"region": "Hello, 世界", "size": 42}}
    encoded = "=?base64?SGVsbG8sIOS4lueVjA==?="

    for headers in (
        {},
        {"Mcp-Param-Region": encoded},
        {"Mcp-Param-Region": "other", "Mcp-Param-Size": "42"},
        {"Mcp-Param-Region": encoded, "Mcp-Param-Size": "43"},
        {"Mcp-Param-Region": "=?base64?***?=", "Mcp-Param-Size": "42"},
    ):
        assert (await wire.call("tools/call", params, headers=headers)).error == (400, -32020)
    assert store.created == []

    good = await wire.call("tools/call", params, headers={"mcp-param-REGION": encoded, "Mcp-Param-Size": "42.0"})
    assert good.result["resultType"] == "task"


@pytest.mark.requirement("http/mirrored-absent")
async def test_an_argument_that_is_not_there_has_no_header(wire: Wire) -> None:
    params = {"name": "regional", "arguments": {"region": None}}

    without = await wire.call("tools/call", {"name": "regional"})
    with_one = await wire.call("tools/call", params, headers={"Mcp-Param-Region": "eu"})

    assert without.result["resultType"] == "task"
    assert with_one.error == (400, -32020)


@pytest.mark.requirement("ours/short-errors")
async def test_no_argument_is_counted_or_logged(
    wire: Wire, metrics: Any, capfd: pytest.CaptureFixture[str], store: InMemoryTaskStore
) -> None:
    store.failure = None
    secret = "very-secret-value"

    await wire.call("tools/call", {"name": "echo", "arguments": {"password": secret}})
    await wire.call("tools/call", {"name": "add", "arguments": {"a": secret}})
    await wire.call(secret)
    samples = json.dumps([str(metric.samples) for metric in metrics.registry.collect()])
    captured = capfd.readouterr()

    assert secret not in samples + captured.out + captured.err
