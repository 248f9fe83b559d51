"""Requests as bytes, answers as values."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks import errors
from mcptasks.wire import arguments_text, encode, message, result

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=10,
)


def call(arguments: str, name: str = "tool") -> Any:
    return encode("tools/call", {"name": name}, request_id=7, capabilities={}, arguments=arguments)


def test_a_request_carries_the_envelope_and_its_headers() -> None:
    request = encode("tasks/get", {"taskId": "mt-1"}, request_id=7, capabilities={"extensions": {"x": {}}})
    body = json.loads(request.body)

    assert (body["jsonrpc"], body["id"], body["method"]) == ("2.0", 7, "tasks/get")
    assert body["params"]["taskId"] == "mt-1"
    assert body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"extensions": {"x": {}}}
    assert request.headers["MCP-Protocol-Version"] == "2026-07-28"
    assert request.headers["Mcp-Method"] == "tasks/get"
    assert request.headers["Mcp-Name"] == "mt-1"


@pytest.mark.parametrize(
    "text",
    ['{"n":12345678901234567890123, "f": 1.0,  "e":1E+2 }', "{}", '{"a": null, "s": "\\u00e9\\n"}', '\n{"a":1}\n'],
)
def test_arguments_that_are_text_are_sent_as_they_are_written(text: str) -> None:
    assert f'"arguments": {text}'.encode() in call(arguments_text(text)).body


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_arguments_that_are_values_arrive_as_those_values(arguments: dict[str, Any]) -> None:
    assert json.loads(call(arguments_text(arguments)).body)["params"]["arguments"] == arguments


def test_half_a_character_is_refused_before_it_is_sent() -> None:
    with pytest.raises(errors.ArgumentsError, match="surrogate"):
        call(arguments_text({"a": "\ud800"}))


@pytest.mark.parametrize("text", ["", "[]", "3", '{"a":}', '{"a": NaN}', "{} {}", "[" * 100_000, '{"a": "\\u'])
def test_what_is_no_json_object_is_refused_before_it_is_sent(text: str) -> None:
    with pytest.raises(errors.ArgumentsError):
        arguments_text(text)


def test_values_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(errors.ArgumentsError):
        arguments_text({"a": float("inf")})
    with pytest.raises(errors.ArgumentsError):
        arguments_text({"a": object()})


@pytest.mark.parametrize(
    ("code", "method", "kind"),
    [
        (-32602, "tasks/get", errors.UnknownTaskError),
        (-32602, "tools/call", errors.RequestError),
        (-32603, "tasks/get", errors.InternalServerError),
        (-32020, "tools/call", errors.HeaderMismatchError),
        (-32021, "tasks/get", errors.RequestError),
    ],
)
def test_an_error_is_of_the_kind_that_tells_what_to_do(code: int, method: str, kind: type[Exception]) -> None:
    with pytest.raises(errors.RequestError, match="no") as caught:
        result({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", "data": {"a": 1}}}, method=method)

    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.data) == (code, {"a": 1})


def test_an_unsupported_version_says_what_the_server_speaks() -> None:
    error = {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2025-11-25"]}}

    with pytest.raises(errors.RequestError, match=r"2025-11-25.*2026-07-28"):
        result({"jsonrpc": "2.0", "id": 1, "error": error}, method="server/discover")


@pytest.mark.parametrize("data", ["", "<html>", "[]", "{}", '{"jsonrpc": "1.0"}', "[" * 100_000])
def test_what_is_no_message_is_no_answer(data: str) -> None:
    with pytest.raises(errors.ProtocolError):
        message(data)


@pytest.mark.parametrize("document", [{}, {"result": 3}, {"error": 3}, {"error": {"code": "x"}}])
def test_an_answer_without_result_and_error_is_none(document: dict[str, Any]) -> None:
    with pytest.raises(errors.ProtocolError):
        result({"jsonrpc": "2.0", "id": 1, **document}, method="tasks/get")
