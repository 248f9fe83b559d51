"""Requests as bytes, answers as values: JSON-RPC with MCP's envelope, without any I/O.

Spec: MCP 2026-07-28, basic/index ("_meta"), basic/transports/streamable-http ("Sending Messages").
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from .errors import (
    ArgumentsError,
    HeaderMismatchError,
    InternalServerError,
    ProtocolError,
    RequestError,
    UnknownTaskError,
)
from .headers import encode_value

PROTOCOL_VERSION: Final = "2026-07-28"
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022

_NAMED_BY: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
    "resources/read": "uri",
}
"""Which parameter of a method stands in the header `Mcp-Name` too."""

Arguments = Mapping[str, Any] | str
"""A tool's arguments: a mapping, or a JSON object as text, which is sent as it is written."""


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """One request, ready to be sent."""

    id: int
    method: str
    headers: Mapping[str, str]
    body: bytes


def arguments_text(arguments: Arguments) -> str:
    """The arguments as JSON text. Text stays as it is: parsing and writing anew would lose digits.

    Raises:
        ArgumentsError: it is not a JSON object.
    """
    if not isinstance(arguments, str):
        try:
            return json.dumps(arguments, allow_nan=False, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentsError(f"the arguments are not JSON: {error}") from error
    if not isinstance(parse_json(arguments), dict):
        raise ArgumentsError("the arguments are not a JSON object")
    return arguments


def parse_json(text: str) -> Any:
    """The one value that a JSON text holds. NaN and infinities, which Python takes, are not JSON.

    Raises:
        ArgumentsError: it holds none, or more than one.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ArgumentsError(f"this is not JSON: {error}") from error


def encode(
    method: str,
    params: Mapping[str, Any],
    *,
    request_id: int,
    capabilities: Mapping[str, Any],
    arguments: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Outgoing:
    """One request with the envelope and the headers that the protocol wants.

    Args:
        method: MCP's name of it.
        params: its parameters, without `_meta` and `arguments`.
        request_id: by which its answer and its progress are known.
        capabilities: what this client can do for the server, for this request.
        arguments: a tool's arguments as JSON text.
        headers: further headers.
    """
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "mcptasks", "version": _own_version()},
        "io.modelcontextprotocol/clientCapabilities": dict(capabilities),
    }
    if arguments is not None:
        meta["progressToken"] = request_id
    texts = {name: json.dumps(value) for name, value in params.items()}
    if arguments is not None:
        texts["arguments"] = arguments
    texts["_meta"] = json.dumps(meta)
    envelope = {"jsonrpc": '"2.0"', "id": str(request_id), "method": json.dumps(method), "params": _object(texts)}
    standard = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": PROTOCOL_VERSION,
        "Mcp-Method": method,
    }
    if method in _NAMED_BY:
        standard["Mcp-Name"] = encode_value(str(params[_NAMED_BY[method]]))
    try:
        body = _object(envelope).encode()
    except UnicodeEncodeError as error:
        raise ArgumentsError("the arguments hold half a character (a lone surrogate)") from error
    return Outgoing(id=request_id, method=method, headers={**standard, **(headers or {})}, body=body)


def message(data: str | bytes) -> dict[str, Any]:
    """One JSON-RPC message.

    Raises:
        ProtocolError: it is none.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the answer is not JSON: {error}") from error
    if not isinstance(document, dict) or document.get("jsonrpc") != "2.0":
        raise ProtocolError("the answer is not a JSON-RPC message")
    return document


def result(document: Mapping[str, Any], *, method: str) -> dict[str, Any]:
    """The result in an answer.

    Raises:
        RequestError: the answer is an error; one of its kinds where the caller can tell.
        ProtocolError: it is neither.
    """
    if "error" in document:
        raise request_error(document["error"], method=method)
    found = document.get("result")
    if not isinstance(found, dict):
        raise ProtocolError("the answer holds neither a result nor an error")
    return found


def request_error(body: Any, *, method: str) -> RequestError:
    """The error that a JSON-RPC error stands for."""
    if not isinstance(body, dict) or not isinstance(body.get("code"), int):
        raise ProtocolError("the answer's error has no code")
    code: int = body["code"]
    kind = RequestError
    if code == INVALID_PARAMS and method.startswith("tasks/"):
        kind = UnknownTaskError
    elif code == INTERNAL_ERROR:
        kind = InternalServerError
    elif code == HEADER_MISMATCH:
        kind = HeaderMismatchError
    text = str(body.get("message", ""))
    data = body.get("data")
    if code == UNSUPPORTED_PROTOCOL_VERSION and isinstance(data, dict):
        text = f"{text}: the server speaks {data.get('supported')}, this client {PROTOCOL_VERSION}"
    return kind(text, code=code, data=data)


def _object(members: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in members.items()) + "}"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@cache
def _own_version() -> str:
    try:
        return version("mcptasks")
    except PackageNotFoundError:  # run from a source tree
        return "0"
