"""Versions, sessions, and the transport's own rules on the legacy wire."""

import json

import pytest

from mcptasks_server.signing import Purpose, Signer
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import Wire

Replicas = tuple[Wire, Wire]
ALL = ("2025-11-25", "2025-06-18", "2025-03-26")


@pytest.mark.requirement("legacy/initialize", "legacy/tools", "legacy/logging-declared", "legacy-tasks/capability")
async def test_initialize_tells_version_capabilities_server_and_how_to_use_it(replicas: Replicas) -> None:
    client = LegacyWire(replicas[0])

    answer = await client.initialize({})

    assert answer.status == 200
    assert answer.result["protocolVersion"] == "2025-11-25"
    assert answer.result["capabilities"] == {
        "tools": {},
        "logging": {},
        "resources": {},
        "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}},
    }
    assert answer.result["serverInfo"]["name"] == "mcptasks"
    assert "task_get" in answer.result["instructions"]
    assert answer.headers["Mcp-Session-Id"] == client.session_id
    assert answer.result.keys() == {"protocolVersion", "capabilities", "serverInfo", "instructions"}


@pytest.mark.requirement("legacy/same-version", "legacy/other-version", "legacy/negotiated-only")
@pytest.mark.parametrize(("asked", "agreed"), [*((each, each) for each in ALL), ("2099-01-01", ALL[0])])
async def test_a_version_is_negotiated(replicas: Replicas, asked: str, agreed: str) -> None:
    answer = await LegacyWire(replicas[0]).initialize({}, version=asked)

    assert answer.result["protocolVersion"] == agreed
    assert ("tasks" in answer.result["capabilities"]) == (agreed == ALL[0])


@pytest.mark.parametrize("header", ALL)
async def test_initialize_may_come_with_a_version_header(replicas: Replicas, header: str) -> None:
    body = LegacyWire.body_of(
        "initialize",
        {"protocolVersion": header, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    )

    answer = await replicas[0].post(body, headers={"MCP-Protocol-Version": header})

    assert answer.result["protocolVersion"] == header


@pytest.mark.parametrize(
    "params",
    [{}, {"protocolVersion": None}, {"protocolVersion": 1}, {"protocolVersion": ALL[0], "capabilities": None}, None],
)
async def test_initialize_without_what_it_needs_is_refused_with_the_members_name(
    replicas: Replicas, params: dict[str, object] | None
) -> None:
    answer = await replicas[0].post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))

    assert answer.error == (200, -32602)
    assert "protocolVersion" in answer.message or "capabilities" in answer.message


@pytest.mark.requirement("legacy/accepted-202", "legacy/notification-unanswered")
@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/roots/list_changed", "notifications/unknown"]
)
async def test_notifications_are_accepted(client: LegacyWire, method: str) -> None:
    answer = await client.notify(method)

    assert (answer.status, answer.text) == (202, "")


@pytest.mark.requirement("legacy/session-required", "legacy/refused-input")
async def test_without_a_session_all_but_initialize_is_refused_in_words(replicas: Replicas) -> None:
    client = LegacyWire(replicas[0])

    for answer in (await client.call("tools/list"), await client.notify("notifications/initialized")):
        assert answer.error == (400, -32600)
        assert "Mcp-Session-Id" in answer.message
        assert "initialize" in answer.message
    assert (await client.respond("x", {})).status == 400


@pytest.mark.requirement("legacy/session-gone", "failures/f3-26")
@pytest.mark.parametrize(
    "session_id",
    ["nonsense", "e30.x", pytest.param(Signer.ephemeral().seal(Purpose.SESSION, {"v": ALL[0]}), id="of another key")],
)
async def test_a_session_that_is_none_is_not_found(replicas: Replicas, session_id: str) -> None:
    client = LegacyWire(replicas[0], session_id=session_id)

    assert (await client.call("ping")).error == (404, -32600)
    assert (await client.notify("notifications/initialized")).status == 404


async def test_a_session_is_good_at_every_replica(elsewhere: LegacyWire) -> None:
    assert (await elsewhere.call("ping")).result == {}


@pytest.mark.requirement("legacy/version-header")
@pytest.mark.parametrize("version", ["2024-11-05", "2099-01-01", "x"])
async def test_a_version_header_that_is_not_served_is_a_bad_request(client: LegacyWire, version: str) -> None:
    client.version = version

    answer = await client.call("ping")

    assert answer.status == 400


@pytest.mark.requirement("legacy/no-version-header", "http/missing-version-is-legacy")
async def test_a_session_tells_the_version_where_no_header_does(client: LegacyWire, replicas: Replicas) -> None:
    body = client.body_of("tools/list")

    answer = await replicas[0].post(body, headers={"Mcp-Session-Id": client.session_id or ""})

    assert "execution" in answer.result["tools"][0]


@pytest.mark.requirement("legacy/get", "legacy/no-response-on-get", "legacy/session-delete", "legacy/one-endpoint")
@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_there_is_nothing_to_listen_to_and_no_session_to_end(client: LegacyWire, verb: str) -> None:
    answer = await client._wire.post(b"", headers=client.headers(), verb=verb)

    assert answer.status == 405
    assert "POST" in answer.headers["Allow"]


@pytest.mark.requirement("legacy/ping")
async def test_ping_and_set_level_are_answered_by_nothing_at_all(client: LegacyWire) -> None:
    assert (await client.call("ping")).result == {}
    assert (await client.call("logging/setLevel", {"level": "debug"})).result == {}


@pytest.mark.parametrize("level", [None, "loud", 3, ["debug"]])
async def test_a_level_that_is_none_is_refused_with_those_that_are(client: LegacyWire, level: object) -> None:
    answer = await client.call("logging/setLevel", {"level": level})

    assert answer.error == (200, -32602)
    assert "emergency" in answer.message


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "tasks/update", "tasks/list", "x"])
async def test_an_unknown_method_is_an_error_in_a_good_response(client: LegacyWire, method: str) -> None:
    assert (await client.call(method)).error == (200, -32601)


@pytest.mark.requirement("legacy/json-rpc")
@pytest.mark.parametrize("message_id", [0, -1, 2**70, "", "ä", "1"])
async def test_ids_come_back_with_value_and_type(client: LegacyWire, message_id: object) -> None:
    assert (await client.call("ping", message_id=message_id)).body["id"] == message_id


@pytest.mark.requirement("legacy-tasks/tool-support")
async def test_each_tool_says_whether_it_runs_as_a_task_and_nothing_of_the_newer_wire(client: LegacyWire) -> None:
    answer = await client.call("tools/list")

    support = {tool["name"]: tool["execution"]["taskSupport"] for tool in answer.result["tools"]}
    assert support["inline"] == "forbidden"
    assert {name: support[name] for name in ("long", "task-only", "never-task")} == {
        "long": "optional",
        "task-only": "required",
        "never-task": "forbidden",
    }
    assert answer.result.keys() == {"tools"}


@pytest.mark.requirement("legacy/negotiated-only")
@pytest.mark.parametrize("version", ALL[1:])
async def test_an_older_version_has_no_tasks(replicas: Replicas, version: str) -> None:
    client = await LegacyWire.connected(replicas[0], version=version)

    tools = (await client.call("tools/list")).result["tools"]

    assert all("execution" not in tool for tool in tools)
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert (await client.call(method, {"taskId": "mt-" + "a" * 32})).error == (200, -32601)


async def test_a_page_may_send_and_read_the_session(replicas: Replicas) -> None:
    preflight = await replicas[0].post(
        b"",
        headers={"Origin": "https://app.example", "Access-Control-Request-Headers": "mcp-session-id"},
        verb="OPTIONS",
    )

    assert "Mcp-Session-Id" in preflight.headers["Access-Control-Allow-Headers"]
    assert "Mcp-Session-Id" in preflight.headers["Access-Control-Expose-Headers"]


@pytest.mark.requirement("legacy/origin")
async def test_a_page_from_elsewhere_is_refused(client: LegacyWire) -> None:
    for answer in (
        await client.call("ping", Origin="https://evil.example"),
        await client._wire.post(b"", headers={**client.headers(), "Origin": "https://evil.example"}, verb="GET"),
    ):
        assert answer.status == 403


@pytest.mark.requirement("legacy-tasks/extension-means-nothing", "failures/f3-33")
@pytest.mark.parametrize("where", ["capabilities", "_meta"])
async def test_the_newer_revisions_extension_means_nothing_here(replicas: Replicas, where: str) -> None:
    extension: dict[str, object] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    client = await LegacyWire.connected(replicas[0], capabilities=extension if where == "capabilities" else {})
    meta = {"io.modelcontextprotocol/clientCapabilities": extension} if where == "_meta" else {}

    answer = await client.call("tools/call", {"name": "task-only", "_meta": meta})

    assert answer.error == (200, -32601)  # it only runs as a task, and nobody has asked for one in this wire's way
