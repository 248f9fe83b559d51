"""What every request must be (specification 2026-07-28: Streamable HTTP, Versioning, _meta, Error Codes)."""

import asyncio
import json
from typing import Any

import pytest
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from multidict import CIMultiDict

from mcptasks_server.testing import FixedCatalogue, InMemoryTaskStore
from mcptasks_server.testing.wire import VERSION, WITH_TASKS, Wire

META = {PROTOCOL_VERSION_META_KEY: VERSION, CLIENT_CAPABILITIES_META_KEY: WITH_TASKS}
UNKNOWN = "mt-" + "a" * 32


def message(method: str = "server/discover", *, meta: Any = META, **members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"_meta": meta}} | members)


def headers(method: str = "server/discover", **changes: str | None) -> CIMultiDict[str]:
    return Wire.headers_for(method, None, {name.replace("_", "-"): value for name, value in changes.items()})


@pytest.mark.requirement("base/response-id")
@pytest.mark.parametrize(
    "message_id", [0, -1, 2**63, 123456789012345678901234567890, "1", "", "ä\U0001f600\n", "x" * 100_000]
)
async def test_an_id_is_echoed_with_value_and_type(wire: Wire, message_id: Any) -> None:
    good = await wire.call("server/discover", message_id=message_id)
    bad = await wire.call("no/such/method", message_id=message_id)

    for answer in (good, bad):
        echoed = answer.body["id"]
        assert (type(echoed), echoed) == (type(message_id), message_id)


@pytest.mark.requirement("base/request-id")
@pytest.mark.parametrize("message_id", ["null", "1.0", "1e3", "true", "[]", "{}"])
async def test_an_id_that_is_no_string_or_integer_is_refused_and_not_echoed(wire: Wire, message_id: str) -> None:
    body = message().replace('"id": 7', f'"id": {message_id}')

    answer = await wire.post(body, headers=headers())

    assert answer.error == (400, -32600)
    assert "id" not in answer.body


@pytest.mark.requirement("http/json-or-stream", "http/one-endpoint")
async def test_a_request_is_answered_by_one_json_object_whatever_stream_its_client_would_take(wire: Wire) -> None:
    for accept in ("application/json, text/event-stream", "text/event-stream", "*/*", None):
        answer = await wire.call("server/discover", headers={"Accept": accept})

        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("application/json")
        assert answer.body["jsonrpc"] == "2.0"


@pytest.mark.requirement("http/notification-202", "base/notification-unanswered")
async def test_a_notification_is_accepted_without_a_body(wire: Wire) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})

    answer = await wire.post(body, headers=headers("notifications/cancelled"))

    assert (answer.status, answer.text) == (202, "")


@pytest.mark.requirement("http/notification-refused")
async def test_a_notification_of_a_version_that_is_not_served_is_refused_without_an_id(wire: Wire) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/x"})

    answer = await wire.post(body, headers=headers("notifications/x", MCP_Protocol_Version="v999.0.0"))

    assert answer.error == (400, -32022)
    assert "id" not in answer.body


@pytest.mark.requirement("http/one-endpoint", "http/no-get-or-delete")
@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "HEAD"])
async def test_only_post_is_served(wire: Wire, verb: str) -> None:
    answer = await wire.post(b"", headers={"Accept": "text/event-stream"}, verb=verb)

    assert answer.status == 405
    assert "POST" in answer.headers["Allow"]


@pytest.mark.requirement("http/no-sessions", "http/not-resumable", "failures/f3-26")
async def test_sessions_and_event_ids_of_older_revisions_are_ignored_and_never_minted(wire: Wire) -> None:
    answer = await wire.call("tools/list", headers={"Mcp-Session-Id": "stale", "Last-Event-ID": "4"})

    assert answer.status == 200
    assert not {"Mcp-Session-Id", "Last-Event-ID"} & set(answer.headers)


@pytest.mark.requirement("base/required-meta")
@pytest.mark.parametrize("missing", ["all", PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY])
async def test_missing_metadata_is_a_bad_request(wire: Wire, missing: str) -> None:
    meta = {name: value for name, value in META.items() if missing not in ("all", name)}

    answer = await wire.post(message(meta=meta or None), headers=headers())

    assert answer.error == (400, -32602)
    assert answer.body["id"] == 7


@pytest.mark.requirement("base/required-meta")
@pytest.mark.parametrize(
    "meta",
    [{**META, PROTOCOL_VERSION_META_KEY: 20260728}, {**META, CLIENT_CAPABILITIES_META_KEY: []}, [], "x", 1],
    ids=["version-is-a-number", "capabilities-are-a-list", "meta-is-a-list", "meta-is-text", "meta-is-a-number"],
)
async def test_metadata_of_the_wrong_type_is_a_bad_request(wire: Wire, meta: Any) -> None:
    assert (await wire.post(message(meta=meta), headers=headers())).error == (400, -32602)


@pytest.mark.requirement("base/client-info-optional")
async def test_client_info_is_not_required(wire: Wire) -> None:
    assert (await wire.post(message(), headers=headers())).status == 200


@pytest.mark.requirement("base/required-meta")
async def test_null_params_lack_the_metadata(wire: Wire) -> None:
    assert (await wire.post(message(params=None), headers=headers())).error == (400, -32602)


@pytest.mark.requirement("http/single-message")
async def test_params_that_are_no_object_are_no_message(wire: Wire) -> None:
    answer = await wire.post(message(params=[1]), headers=headers())

    assert answer.error == (400, -32600)
    assert answer.body["id"] == 7


@pytest.mark.requirement("http/version-header", "http/routing-headers", "http/header-mismatch-error")
@pytest.mark.parametrize("header", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
async def test_a_missing_routing_header_is_a_header_mismatch(wire: Wire, header: str) -> None:
    answer = await wire.call("tasks/get", {"taskId": UNKNOWN}, headers={header: None})

    assert answer.error == (400, -32020)
    assert header in answer.body["error"]["message"]


@pytest.mark.requirement(
    "http/header-body-match", "ext-tasks/name-header", "http/header-mismatch-error", "http/decode-before-compare"
)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "echo"}),
        ("tasks/get", {"taskId": UNKNOWN}),
        ("tasks/update", {"taskId": UNKNOWN, "inputResponses": {}}),
        ("tasks/cancel", {"taskId": UNKNOWN}),
    ],
)
async def test_a_name_header_must_say_what_the_body_says(
    wire: Wire, store: InMemoryTaskStore, method: str, params: dict[str, Any]
) -> None:
    for value in ("other", "ECHO", "", "=?base64?ZWNobw?=", "=?base64?!!?="):
        assert (await wire.call(method, params, headers={"Mcp-Name": value})).error == (400, -32020)

    assert store.created == []


@pytest.mark.requirement("http/header-body-match", "http/case")
async def test_a_method_header_must_say_what_the_body_says(wire: Wire) -> None:
    for value in ("tools/call", "TOOLS/LIST", ""):
        assert (await wire.call("tools/list", headers={"Mcp-Method": value})).error == (400, -32020)


@pytest.mark.requirement("http/case")
async def test_header_names_are_compared_without_case_and_values_without_surrounding_blanks(wire: Wire) -> None:
    lowered = {name.lower(): f" {value}\t " for name, value in headers("tools/list").items()}

    assert (await wire.post(message("tools/list"), headers=lowered)).status == 200


@pytest.mark.requirement("http/header-body-match")
async def test_a_routing_header_that_is_sent_twice_is_refused(wire: Wire) -> None:
    twice = headers("tools/list")
    twice.add("Mcp-Method", "tools/list")

    assert (await wire.post(message("tools/list"), headers=twice)).error == (400, -32020)


@pytest.mark.requirement("http/decode-before-compare")
async def test_an_encoded_name_is_decoded_before_it_is_compared(wire: Wire) -> None:
    answer = await wire.call("tools/call", {"name": "echo"}, headers={"Mcp-Name": "=?base64?ZWNobw==?="})

    assert answer.result["resultType"] == "task"


@pytest.mark.requirement("http/version-mismatch")
async def test_a_client_that_contradicts_itself_is_told_so_before_that_its_version_is_not_served(wire: Wire) -> None:
    body = message(meta={**META, PROTOCOL_VERSION_META_KEY: "v999.0.0"})

    assert (await wire.post(body, headers=headers())).error == (400, -32020)


@pytest.mark.requirement("http/version-unsupported", "base/unsupported-version", "legacy/version-header")
async def test_a_version_that_is_not_served_is_answered_with_those_that_are(wire: Wire) -> None:
    body = message(meta={**META, PROTOCOL_VERSION_META_KEY: "v999.0.0"})

    answer = await wire.post(body, headers=headers(MCP_Protocol_Version="v999.0.0"))
    discovered = await wire.call("server/discover")

    assert answer.error == (400, -32022)
    assert answer.body["error"]["data"] == {"supported": ["2026-07-28", "2025-11-25"], "requested": "v999.0.0"}
    assert discovered.result["supportedVersions"] == ["2026-07-28", "2025-11-25"]


@pytest.mark.requirement("http/method-not-found", "ext-tasks/reserved-methods", "failures/f3-01")
@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "tasks/result", "tasks/list", "x", ""])
async def test_a_method_that_is_not_there_is_not_found(wire: Wire, method: str) -> None:
    answer = await wire.call(method)

    assert answer.error == (404, -32601)
    assert answer.body["id"] == 1


@pytest.mark.requirement("ours/both-ways-told")
async def test_a_request_without_any_version_is_told_of_both_ways_to_begin(wire: Wire) -> None:
    answer = await wire.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))

    assert answer.error == (400, -32600)
    for word in ("initialize", "Mcp-Session-Id", "2026-07-28", "MCP-Protocol-Version"):
        assert word in answer.message


@pytest.mark.requirement("http/version-mismatch")
async def test_a_legacy_header_over_a_modern_body_is_a_header_mismatch(wire: Wire) -> None:
    answer = await wire.post(message(), headers=headers(MCP_Protocol_Version="2025-11-25"))

    assert answer.error == (400, -32020)


@pytest.mark.requirement("base/any-connection")
async def test_no_request_stands_in_the_way_of_another(wire: Wire, store: InMemoryTaskStore) -> None:
    store.gate.clear()
    waiting = asyncio.create_task(wire.call("tools/call", {"name": "echo"}))

    listed = await wire.call("tools/list")
    store.gate.set()

    assert listed.status == 200
    assert (await waiting).result["resultType"] == "task"


@pytest.mark.requirement("ours/not-ready")
async def test_what_the_server_cannot_know_yet_is_an_error_that_may_pass(wire: Wire, catalogue: FixedCatalogue) -> None:
    catalogue.is_known = False

    assert (await wire.call("tools/list")).error == (200, -32603)
    assert (await wire.call("tools/call", {"name": "echo"})).error == (200, -32603)
