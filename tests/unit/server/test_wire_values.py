"""Values that a client may send where something else was expected: nulls, unknown members, odd text, odd headers."""

import asyncio
import base64
import json
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from multidict import CIMultiDict

from mcptasks_server.errors import HeaderMismatchError
from mcptasks_server.headers import Headers, decoded_value_of
from mcptasks_server.projection import complete_result
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over, questions
from mcptasks_server.testing.wire import VERSION, WITH_FORMS, WITH_TASKS, Wire

META: Final = {PROTOCOL_VERSION_META_KEY: VERSION, CLIENT_CAPABILITIES_META_KEY: WITH_TASKS}


def sentinel(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.requirement("ours/nulls")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {"cursor": None}),
        ("tools/call", {"name": "echo", "arguments": None}),
        ("tools/call", {"name": "echo", "task": None}),
        ("tools/call", {"name": "echo", "requestState": None}),
        ("server/discover", {"anything": None}),
    ],
)
async def test_a_null_where_a_member_may_be_absent_counts_as_absent(
    wire: Wire, method: str, params: dict[str, Any]
) -> None:
    assert "result" in (await wire.call(method, params)).body


@pytest.mark.requirement("ours/nulls")
@pytest.mark.parametrize(
    "meta",
    [
        {"io.modelcontextprotocol/clientInfo": None},
        {"progressToken": None},
        {"io.modelcontextprotocol/logLevel": None},
        {"mcptasks.dev/idempotency-key": None},
    ],
)
async def test_a_null_in_the_metadata_counts_as_absent(wire: Wire, meta: dict[str, Any]) -> None:
    assert (await wire.call("tools/call", {"name": "echo"}, meta=meta)).result["resultType"] == "task"


@pytest.mark.requirement("base/unknown-meta")
@pytest.mark.parametrize(
    "meta",
    [
        {"com.example/unknown": {"deep": [1, {"x": None}]}},
        {"traceparent": "not a trace", "baggage": 7},
        {"io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1", "more": [1]}},
        {"io.modelcontextprotocol/clientInfo": "no object at all"},
        {"io.modelcontextprotocol/related-task": {"taskId": "mt-of-somebody"}},
        {"io.modelcontextprotocol/subscriptionId": 5},
        {"": 1, "/": 2, "a/b/c": 3},
    ],
)
async def test_metadata_that_nobody_asked_for_changes_nothing(
    wire: Wire, store: InMemoryTaskStore, meta: dict[str, Any]
) -> None:
    answer = await wire.call("tools/call", {"name": "echo", "arguments": {"a": 1}}, meta=meta)

    assert answer.result["resultType"] == "task"
    assert [new.arguments for new in store.created] == ['{"a": 1}']


@pytest.mark.requirement("base/undeclared-capability")
async def test_capabilities_of_the_wrong_shape_declare_nothing(wire: Wire, store: InMemoryTaskStore) -> None:
    shapes: tuple[Any, ...] = (
        [],
        "x",
        1,
        {"io.modelcontextprotocol/tasks": True},
        {"io.modelcontextprotocol/tasks": []},
    )
    for extensions in shapes:
        answer = await wire.call("tools/call", {"name": "echo"}, capabilities={"extensions": extensions})

        assert answer.error == (400, -32021)
    assert store.created == []


@pytest.mark.requirement("ours/strict-json")
@pytest.mark.parametrize("where", ["_meta", "params", "message"])
async def test_a_member_that_stands_twice_is_refused_wherever_it_stands(wire: Wire, where: str) -> None:
    meta = json.dumps(META)
    twice = f'{meta[:-1]}, "{PROTOCOL_VERSION_META_KEY}": "2025-11-25"}}'
    body = {
        "_meta": f'{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{twice}}}}}',
        "params": f'{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta},"_meta":{meta}}}}}',
        "message": f'{{"jsonrpc":"2.0","id":1,"method":"x","method":"tools/list","params":{{"_meta":{meta}}}}}',
    }[where]

    answer = await wire.post(body, headers=wire.headers_for("tools/list", None))

    assert answer.error == (400, -32700)
    assert "twice" in answer.message


@pytest.mark.requirement("ours/text-kept")
@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    "text", ["\u0000", "\U0001f469\u200d\U0001f4bb", "\u202egnp.exe", "\ufeff", "\ufffe\uffff", "é", "e\u0301", "\x7f"]
)
async def test_text_of_any_script_is_kept_to_the_character(
    wire: Wire, store: InMemoryTaskStore, text: str, escaped: bool
) -> None:
    members = {"_meta": META, "name": "echo", "arguments": {"text": text}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": members}

    await wire.post(json.dumps(message, ensure_ascii=escaped), headers=wire.headers_for("tools/call", members))

    assert [json.loads(new.arguments) for new in store.created] == [{"text": text}]


@pytest.mark.requirement("ours/strict-json")
@pytest.mark.parametrize("half", ["\\ud800", "\\uDFFF", "x\\ud83dx", "\\ude00\\ud83d"])
@pytest.mark.parametrize("place", ["id", "arguments", "key", "method", "meta"])
async def test_half_a_surrogate_pair_is_refused_wherever_it_stands(wire: Wire, place: str, half: str) -> None:
    meta = json.dumps(META)
    call = f'"method":"tools/call","params":{{"_meta":{meta},"name":"echo"'
    body = {
        "id": f'"id":"{half}",{call}}}',
        "arguments": f'"id":1,{call},"arguments":{{"a":"{half}"}}}}',
        "key": f'"id":1,{call},"arguments":{{"{half}":1}}}}',
        "method": f'"id":1,"method":"{half}","params":{{"_meta":{meta}}}',
        "meta": f'"id":1,"method":"tools/call","params":{{"_meta":{meta[:-1]},"x":"{half}"}},"name":"echo"}}',
    }[place]
    headers = wire.headers_for("tools/call", {"name": "echo"})

    answer = await wire.post('{"jsonrpc":"2.0",' + body + "}", headers=headers)

    assert answer.error == (400, -32700)
    assert "surrogate" in answer.message


@pytest.mark.requirement("ours/text-kept")
@pytest.mark.parametrize(
    "text", ["\ufffd", "\u0000\u2028", "\U0001f469\u200d\U0001f4bb", "\\ud800 written as text", '"quoted"\n']
)
async def test_a_results_text_arrives_to_the_character(wire: Wire, store: InMemoryTaskStore, text: str) -> None:
    task_id = (await wire.call("tools/call", {"name": "echo"})).result["taskId"]
    given_by_tool = json.dumps({"content": [{"type": "text", "text": text}]})
    await store.write_status(task_id, over() | {"result": {"inline": given_by_tool}})

    shown = (await wire.call("tasks/get", {"taskId": task_id})).result

    assert shown["result"]["content"] == [{"type": "text", "text": text}]


@pytest.mark.requirement("ours/text-kept")
@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=4), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_marked_result_is_the_same_json_whatever_the_tool_wrote(members: dict[str, Any], is_ascii: bool) -> None:
    members.pop("resultType", None)
    text = json.dumps(members, ensure_ascii=is_ascii, indent=1)

    marked = complete_result(text)

    assert marked is not None
    assert json.loads(marked) == {"resultType": "complete", **members}


@pytest.mark.requirement("http/decode-before-compare", "http/sentinel-exact", "http/case")
@pytest.mark.parametrize(
    ("sent", "is_echo"),
    [
        ("echo", True),
        ("  echo\t", True),
        (sentinel("echo"), True),
        ("  " + sentinel("echo") + " ", True),
        ("Echo", False),
        (sentinel(" echo"), False),
        (sentinel("echo\n"), False),
        (sentinel("echo").upper(), False),
        ("=?BASE64?ZWNobw==?=", False),
        ("=?base64?ZWNobw?=", False),
        ("=?base64?ZWNobw=?=", False),
        ("=?base64?ZWNobx==?=", False),
        ("=?base64?ZWNo bw==?=", False),
        ("=?base64?ZWNobw==", False),
        ("=?base64??=", False),
        ("=?base64?=", False),
        ("ZWNobw==?=", False),
        (sentinel(sentinel("echo")), False),
        ("=?base64?/w==?=", False),
    ],
)
async def test_a_name_header_is_read_in_exactly_one_way(wire: Wire, sent: str, is_echo: bool) -> None:
    answer = await wire.call("tools/call", {"name": "echo"}, headers={"Mcp-Name": sent})

    if is_echo:
        assert answer.result["resultType"] == "task"
    else:
        assert answer.error == (400, -32020)


@pytest.mark.requirement("http/sentinel-exact")
async def test_half_a_sentinel_is_plain_text(wire: Wire) -> None:
    for name in ("=?base64?ZWNobw==", "ZWNobw==?="):
        answer = await wire.call("tools/call", {"name": name})

        assert answer.error == (200, -32602), "the header agrees; there is no such tool"


@pytest.mark.requirement("http/mirrored-invalid-characters")
@pytest.mark.parametrize("raw", [b"caf\xe9", b"caf\xc3\xa9", b"\x7f", b"a\x01b", b"\x00", b"a\rb"])
async def test_characters_that_no_header_may_hold_are_refused(wire: Wire, store: InMemoryTaskStore, raw: bytes) -> None:
    params = {"name": "regional", "arguments": {"region": raw.decode("latin-1")}}
    body = wire.body_of("tools/call", params).encode()
    headers = b"".join(
        f"{name}: {value}\r\n".encode() for name, value in wire.headers_for("tools/call", params).items()
    )
    host, port = wire.url.removeprefix("http://").removesuffix("/mcp").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))

    writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers)
    writer.write(b"Mcp-Param-Region: " + raw + f"\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    status = (await reader.readline()).split()[1]
    writer.close()
    await writer.wait_closed()

    assert status == b"400"
    assert store.created == []


@pytest.mark.requirement("http/decode-before-compare")
@given(st.text(max_size=30))
def test_an_encoded_header_means_exactly_the_text_it_encodes(text: str) -> None:
    assert decoded_value_of(named(sentinel(text)), "Mcp-Name") == text


@pytest.mark.requirement("http/sentinel-exact")
@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40))
def test_a_header_of_plain_text_is_itself_or_is_refused(text: str) -> None:
    value = text.strip(" \t")
    try:
        read = decoded_value_of(named(text), "Mcp-Name")
    except HeaderMismatchError:
        assert value.startswith("=?base64?")
        assert value.endswith("?=")
    else:
        assert read == value or sentinel(str(read)) == value


def named(value: str) -> Headers:
    return CIMultiDict({"Mcp-Name": value})


@pytest.mark.requirement("ours/answers-all-or-none")
@pytest.mark.parametrize(
    "responses",
    [{"q": None}, {"q": []}, {"q": "accept"}, {"q": {"action": None}}, {"q": {"action": "accept", "content": []}}],
)
async def test_a_wrong_answer_among_right_ones_refuses_them_all(
    wire: Wire, store: InMemoryTaskStore, responses: dict[str, Any]
) -> None:
    task_id = (await wire.call("tools/call", {"name": "echo"})).result["taskId"]
    await store.write_status(task_id, questions("q", "r"))
    mixed = {"r": {"action": "decline"}, **responses}

    answer = await wire.call("tasks/update", {"taskId": task_id, "inputResponses": mixed}, capabilities=WITH_FORMS)
    asked = (await wire.call("tasks/get", {"taskId": task_id}, capabilities=WITH_FORMS)).result["inputRequests"]

    assert answer.error == (200, -32602)
    assert '"q"' in answer.message
    assert set(asked) == {"q", "r"}


@pytest.mark.requirement("ext-tasks/update-ignores")
async def test_an_answer_that_comes_twice_or_after_the_end_is_acknowledged_and_changes_nothing(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    task_id = (await wire.call("tools/call", {"name": "echo"})).result["taskId"]
    await store.write_status(task_id, questions("q", "late"))
    first = {"q": {"action": "accept", "content": {"yes": True}}}
    other = {"q": {"action": "decline"}}

    for responses in (first, other):
        await wire.call("tasks/update", {"taskId": task_id, "inputResponses": responses})
    await store.write_status(task_id, over())
    after = await wire.call("tasks/update", {"taskId": task_id, "inputResponses": {"late": {"action": "accept"}}})

    answers = store.objects[task_id]["spec"]["answers"]
    assert set(answers) == {"q"}
    assert json.loads(answers["q"]["response"]) == first["q"]
    assert after.result["resultType"] == "complete"
