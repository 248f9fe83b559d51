"""Bodies, hosts and origins that must not get far: each gets a clear error, and nothing is created."""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.errors import RpcError
from mcptasks_server.http import LARGE_BODIES_AT_ONCE, LARGE_BODY_BYTES
from mcptasks_server.jsonrpc import IdentifiedError, Message, parse
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.wire import VERSION, Wire

MAX_BODY: Final = 300 * 1024


@pytest.mark.requirement("base/json-rpc", "base/utf-8", "failures/f3-29")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hello",
        b'{"jsonrpc":"2.0"',
        b"\xff\xfe{}",
        b'\xef\xbb\xbf{"jsonrpc":"2.0"}',
        b'{"a":NaN}',
        b'{"a":01}',
        b"{'a':1}",
        b'{"a":1}{"b":2}',
        b'{"a":"\\ud800"}',
        b'{"a":' + b"1" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"server/discover"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"a":{"b":1,"b":2}}}}',
    ],
    ids=[
        *("empty", "text", "cut", "not-utf-8", "byte-order-mark", "nan", "leading-zero", "single-quotes", "two-values"),
        *("half-a-surrogate", "5000-digits", "100000-deep", "65-deep", "an-id-twice", "a-deep-member-twice"),
    ],
)
async def test_a_body_that_is_not_json_is_a_parse_error_without_an_id(wire: Wire, body: bytes) -> None:
    answer = await wire.post(body)

    assert answer.error == (400, -32700)
    assert "id" not in answer.body


@pytest.mark.requirement("http/single-message")
@pytest.mark.parametrize(
    "body",
    [
        "[]",
        '[{"jsonrpc":"2.0","id":1,"method":"server/discover"}]',
        '"text"',
        "7",
        "null",
        "{}",
        '{"jsonrpc":"1.0","method":"x"}',
        '{"jsonrpc":2.0,"method":"x"}',
        '{"jsonrpc":"2.0","method":7}',
        '{"jsonrpc":"2.0","result":{}}',
    ],
)
async def test_json_that_is_not_one_message_is_an_invalid_request_without_an_id(wire: Wire, body: str) -> None:
    answer = await wire.post(body)

    assert answer.error == (400, -32600)
    assert "id" not in answer.body


@pytest.mark.requirement("http/no-client-responses")
async def test_a_response_is_refused_for_the_server_asks_nothing(wire: Wire) -> None:
    answer = await wire.post('{"jsonrpc":"2.0","id":3,"result":{}}', headers={"MCP-Protocol-Version": VERSION})

    assert answer.error == (400, -32600)
    assert "id" not in answer.body  # it is no answer to a request: nobody waits for one


@pytest.mark.requirement("ours/bounded-bodies")
async def test_a_message_of_64_levels_is_taken(wire: Wire) -> None:
    deep: Any = 1
    for _ in range(61):  # the message, params and arguments are three more
        deep = [deep]

    assert (await wire.call("tools/call", {"name": "echo", "arguments": {"deep": deep}})).result["resultType"] == "task"
    assert (await wire.call("tools/call", {"name": "echo", "arguments": {"deep": [deep]}})).error == (400, -32700)


@pytest.mark.requirement("ours/bounded-bodies", "ours/limits-in-words")
async def test_a_body_over_the_limit_is_refused_by_its_length(wire: Wire) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "padding": "x" * MAX_BODY})

    answer = await wire.post(body)

    assert answer.error == (413, -32600)
    assert str(MAX_BODY) in answer.body["error"]["message"]


@pytest.mark.requirement("ours/bounded-bodies", "failures/f3-29")
async def test_a_body_without_a_length_is_refused_once_it_is_over_the_limit(wire: Wire) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100 * MAX_BODY:
            sent += 16 * 1024
            yield b" " * 16 * 1024

    async with aiohttp.ClientSession() as session:
        headers = {"Content-Type": "application/json"}
        async with session.post(wire.url, data=endless(), headers=headers) as response:
            body = await response.json()

    assert (response.status, body["error"]["code"]) == (413, -32600)
    assert sent < 100 * MAX_BODY


@pytest.mark.requirement("ours/bounded-bodies", "failures/f3-29")
@pytest.mark.parametrize("encoding", ["deflate", "gzip", "br"])
async def test_a_compressed_body_is_refused_by_its_header(wire: Wire, encoding: str) -> None:
    bomb = zlib.compress(b" " * 50_000_000)

    answer = await wire.post(bomb, headers={"Content-Encoding": encoding})

    assert answer.error == (415, -32600)
    assert "Content-Encoding" in answer.body["error"]["message"]


@pytest.mark.requirement("ours/bounded-bodies", "ours/fair")
async def test_few_large_bodies_are_worked_on_at_once_and_small_ones_pass_them(
    wire: Wire, store: InMemoryTaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, inside, most, go_on = store.create, 0, 0, asyncio.Event()

    async def slow(*arguments: Any, **keywords: Any) -> Any:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await go_on.wait()
        inside -= 1
        return await create(*arguments, **keywords)

    monkeypatch.setattr(store, "create", slow)
    large = {"name": "echo", "arguments": {}, "z": "x" * (LARGE_BODY_BYTES + 1)}
    calls = [asyncio.create_task(wire.call("tools/call", large)) for _ in range(3 * LARGE_BODIES_AT_ONCE)]

    async def all_places_are_taken() -> bool:
        return inside == LARGE_BODIES_AT_ONCE

    await eventually(all_places_are_taken, what="as many calls are worked on as may be")
    small = await wire.call("tools/list")
    go_on.set()
    answers = await asyncio.gather(*calls)

    assert small.status == 200
    assert [answer.result["resultType"] for answer in answers] == ["task"] * len(calls)
    assert most == LARGE_BODIES_AT_ONCE


@pytest.mark.requirement("ours/web-pages")
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_body_that_a_web_page_could_send_unasked_is_refused(wire: Wire, content_type: str) -> None:
    answer = await wire.post("{}", headers={"Content-Type": content_type})

    assert answer.error == (415, -32600)


@pytest.mark.requirement("ours/hosts")
@pytest.mark.parametrize(
    "host",
    ["evil.example.com", "evil.example.com:8080", "localhost.evil.example", "127.0.0.1@evil", "", "[::2]"],
)
async def test_a_foreign_host_is_forbidden(wire: Wire, host: str) -> None:
    assert (await wire.call("server/discover", headers={"Host": host})).error == (403, -32600)


@pytest.mark.requirement("ours/hosts", "failures/f3-23")
@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "127.0.0.1:65535", "[::1]:8080", "[::1]", "mcp.example.com", "MCP.Example.com.:443"],
)
async def test_loopback_and_the_configured_hosts_are_served_at_any_port(wire: Wire, host: str) -> None:
    assert (await wire.call("server/discover", headers={"Host": host})).status == 200


@pytest.mark.requirement("http/origin-validated", "http/origin-403", "failures/f3-23")
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "file://",
        "http://",
        "https://app.example.evil",
        "x",
    ],
)
async def test_a_foreign_origin_is_forbidden_before_its_body_is_looked_at(wire: Wire, origin: str) -> None:
    answer = await wire.post(b"not json", headers={"Origin": origin})

    assert answer.error == (403, -32600)
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.requirement("ours/web-pages")
@pytest.mark.parametrize(
    "origin", ["http://localhost:6274", "http://127.0.0.1", "https://[::1]:1", "https://app.example"]
)
async def test_an_allowed_origin_is_served_and_its_browser_told_so(wire: Wire, origin: str) -> None:
    answer = await wire.call("server/discover", headers={"Origin": origin})

    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == origin


@pytest.mark.requirement("ours/web-pages")
async def test_a_browser_may_ask_first_and_is_told_which_headers_it_may_send(wire: Wire) -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "mcp-method, mcp-param-region, x-evil",
    }

    answer = await wire.post(b"", headers={"Origin": "https://app.example", **asked}, verb="OPTIONS")

    allowed = answer.headers["Access-Control-Allow-Headers"].lower()
    assert answer.status == 204
    assert "mcp-method" in allowed
    assert "mcp-param-region" in allowed
    assert "x-evil" not in allowed


@pytest.mark.requirement("ours/hosts", "failures/f3-22")
@pytest.mark.parametrize("host", ["10.244.0.5:8080", "[fd00::5]:8080"])
async def test_probes_are_answered_whatever_their_host_is(wire: Wire, host: str) -> None:
    base = wire.url.removesuffix("/mcp")
    async with aiohttp.ClientSession() as session:
        for path in ("/livez", "/readyz"):
            async with session.get(base + path, headers={"Host": host}) as response:
                assert (response.status, await response.text()) == (200, "ok\n")


@pytest.mark.requirement("ext-tasks/internal-error")
async def test_a_failure_that_nobody_expected_is_an_internal_error_that_tells_nothing(
    wire: Wire, store: InMemoryTaskStore, capfd: pytest.CaptureFixture[str]
) -> None:
    store.failure = ZeroDivisionError("a-secret")  # type: ignore[assignment]  # what no store ever raises

    answer = await wire.call("tools/call", {"name": "echo"}, message_id="mine")
    captured = capfd.readouterr()

    assert answer.error == (200, -32603)
    assert answer.body["id"] == "mine"
    assert "a-secret" not in answer.text + captured.out + captured.err
    assert "ZeroDivisionError" in captured.out + captured.err


@pytest.mark.requirement("ours/nothing-unexpected")
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_whatever_comes_is_a_message_or_an_error_of_ours(body: bytes) -> None:
    with suppress(RpcError, IdentifiedError):
        assert isinstance(parse(body), Message)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=10,
)


@pytest.mark.requirement("base/response-id")
@given(st.dictionaries(st.text(), _JSON, max_size=4), st.integers() | st.text(), st.booleans())
def test_a_message_keeps_the_text_of_its_id_and_of_each_parameter(
    params: dict[str, Any], message_id: int | str, is_ascii: bool
) -> None:
    body = json.dumps(
        {"params": params, "jsonrpc": "2.0", "method": "x", "id": message_id}, ensure_ascii=is_ascii, indent=1
    )

    message = parse(body.encode())

    assert message.id == json.dumps(message_id, ensure_ascii=is_ascii)
    assert {name: json.loads(text) for name, text in message.sources.items()} == params
    assert all(text in body for text in message.sources.values())


@pytest.mark.requirement("ours/hosts", "failures/f3-22")
async def test_an_old_client_without_a_host_may_probe_but_not_call(wire: Wire) -> None:
    port = int(wire.url.split(":")[2].split("/")[0])
    statuses = []
    for request in (b"GET /livez HTTP/1.0\r\n\r\n", b"POST /mcp HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        statuses.append((await reader.readline()).split()[1])
        writer.close()
        await writer.wait_closed()

    assert statuses == [b"200", b"403"]
