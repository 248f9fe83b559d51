"""Judges of what the server sends: every message that a test's client gets passes through here.

Each message is held against models that nobody here wrote (`mcp-types`' dated wire models, read strictly; others may be
added, see `OTHERS`) and, where those are laxer than the specifications, against rules of our own.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, get_args

import mcp_types._v2025_11_25 as v2025
import mcp_types._v2026_07_28 as v2026
from mcp_types import PROTOCOL_VERSION_META_KEY, jsonrpc
from mcp_types.methods import CACHEABLE_METHODS, INPUT_REQUIRED_METHODS, SERVER_NOTIFICATIONS, SERVER_REQUESTS
from mcp_types.methods import SERVER_RESULTS as RESULTS
from pydantic import TypeAdapter

from . import strict_shapes as strict

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
_DATED: Final = frozenset({"2025-03-26", "2025-06-18", LEGACY, MODERN})
EXTENSION: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
EMPTY: Final = frozenset({"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
"""Legacy methods whose result is `{}` to the letter."""

Judge = Callable[[str, Mapping[str, Any]], None]
OTHERS: Final[list[Judge]] = []
"""Further judges of results of the tasks extension: called with `task` or a method's name, and the result."""

_STANDARD: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
_MODERN_CODES: Final = _STANDARD | {
    jsonrpc.HEADER_MISMATCH,
    jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY,
    jsonrpc.UNSUPPORTED_PROTOCOL_VERSION,
}
_LEGACY_CODES: Final = _MODERN_CODES | {-32002}
"""A legacy header over a modern body is told so in modern words."""

MISSING: Final = object()
"""An id that could not be read."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The request that messages belong to, as far as it could be read."""

    version: str = MODERN
    method: str = ""
    id: Any = MISSING
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_modern(self) -> bool:
        """Whether it is a request of the modern era."""
        return self.version == MODERN

    @classmethod
    def of(cls, body: bytes, *, header: str | None) -> "Asked":
        """The request in a body, under the version that its header names; of what is none, only the version."""
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        members = document if isinstance(document, dict) else {}
        params, message_id, method = members.get("params"), members.get("id", MISSING), members.get("method")
        readable = isinstance(message_id, str | int) and not isinstance(message_id, bool)
        params = params if isinstance(params, dict) else {}
        return cls(
            version=_version(header, params.get("_meta")),
            method=method if isinstance(method, str) else "",
            id=message_id if readable else MISSING,
            params=params,
        )


def _version(header: str | None, meta: Any) -> str:
    """Whose models judge: those of the version that the request names, else of the newest of its era."""
    if header is None:
        is_modern = isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
        return MODERN if is_modern else LEGACY
    return header.strip() if header.strip() in _DATED else MODERN


def judge_response(asked: Asked, message: Mapping[str, Any]) -> None:
    """That a message is a valid answer to a request.

    Raises:
        ValueError: it is not, by somebody's model.
        AssertionError: it is not, by a rule of our own.
    """
    assert message["jsonrpc"] == "2.0"
    if "error" in message:
        _judge_error(asked, message)
        return
    assert set(message) == {"jsonrpc", "id", "result"}, f"not a response: {sorted(message)}"
    _judge_id(asked, message["id"])
    result = message["result"]
    assert isinstance(result, dict), "a result is an object"
    if asked.is_modern:
        _judge_modern(asked, result)
    else:
        _judge_legacy(asked, result)


def judge_notification(asked: Asked, message: Mapping[str, Any]) -> None:
    """That a message is a valid notification of the request's era.

    Raises:
        ValueError, AssertionError: as `judge_response`.
    """
    assert set(message) <= {"jsonrpc", "method", "params"}, f"not a notification: {sorted(message)}"
    method, params = message["method"], message.get("params", {})
    if asked.is_modern and method == "notifications/tasks":
        strict.TOLD.validate_python(params)
        _judge_payload(params)
        return
    if not asked.is_modern and method == "notifications/tasks/status":
        _model(v2025.TaskStatusNotification, message)
        strict.LegacyTask.model_validate({name: value for name, value in params.items() if name != "_meta"})
        return
    row = SERVER_NOTIFICATIONS.get((method, asked.version))
    assert row is not None, f"{method} is no notification of {asked.version}"
    _model(row, message)
    assert None not in params.values(), f"null in {method}"


def judge_request(asked: Asked, message: Mapping[str, Any]) -> None:
    """That a message is a valid request of a legacy server.

    Raises:
        ValueError, AssertionError: as `judge_response`.
    """
    assert set(message) <= {"jsonrpc", "id", "method", "params"}, f"not a request: {sorted(message)}"
    assert not asked.is_modern, "no stream of the modern wire carries a request of the server"
    assert isinstance(message["id"], str | int)
    row = SERVER_REQUESTS.get((message["method"], asked.version))
    assert row is not None, f"{message['method']} is no request of {asked.version}"
    _model(row, message)


def _judge_id(asked: Asked, found: Any) -> None:
    assert (type(found), found) == (type(asked.id), asked.id), f"the id {found!r} is not the request's {asked.id!r}"


def _judge_error(asked: Asked, message: Mapping[str, Any]) -> None:
    assert set(message) <= {"jsonrpc", "id", "error"}, f"not an error: {sorted(message)}"
    error = strict.Error.model_validate(message["error"])
    assert error.code in (_MODERN_CODES if asked.is_modern else _LEGACY_CODES), f"{error.code} is not to be sent"
    if "id" in message:
        _judge_id(asked, message["id"])
    elif asked.id is not MISSING:
        # Without an id the answer tells nobody what failed; only what cannot be taken as a request may have none.
        assert error.code in {-32700, -32600}, f"the error {error.code} lacks the request's id"
    if error.code == jsonrpc.UNSUPPORTED_PROTOCOL_VERSION:
        assert error.data["supported"]
        assert isinstance(error.data["requested"], str)
    if error.code == jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY:
        TypeAdapter(v2026.ClientCapabilities).validate_python(error.data["requiredCapabilities"])
        assert error.data["requiredCapabilities"], "no capability is named"


def _judge_modern(asked: Asked, result: Mapping[str, Any]) -> None:
    kind = result.get("resultType")
    assert kind in {"complete", "input_required", "task"}, f"resultType {kind!r}"
    strict.ResultMeta.model_validate(result["_meta"])
    if kind == "task":
        assert asked.method == "tools/call", f"{asked.method} is answered by a handle"
        strict.Handle.model_validate(result)
        _others("task", result)
        return
    if kind == "input_required":
        _judge_input_required(asked, result)
    if asked.method in EXTENSION:
        if asked.method == "tasks/get":
            strict.DETAILED.validate_python(result)
            _judge_payload(result)
        else:
            strict.Acknowledged.model_validate(result)
        _others(asked.method, result)
        return
    row = RESULTS.get((asked.method, MODERN))
    assert row is not None, f"{asked.method} has no result on this wire"
    # Of two kinds of results the one that it says it is: of the other kind almost anything would be one.
    kinds = get_args(row) or (row,)
    _model(next(each for each in kinds if (each is v2026.InputRequiredResult) == (kind == "input_required")), result)
    if asked.method in CACHEABLE_METHODS and kind == "complete":
        assert type(result["ttlMs"]) is int
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] in {"public", "private"}
    _no_nulls(result)


def _judge_input_required(asked: Asked, result: Mapping[str, Any]) -> None:
    assert asked.method in INPUT_REQUIRED_METHODS, f"{asked.method} is answered by questions"
    assert {"inputRequests", "requestState"} & set(result), "neither questions nor a state"
    assert set(result) <= {"resultType", "inputRequests", "requestState", "_meta"}, sorted(result)
    meta = asked.params.get("_meta", {})
    declared = meta.get("io.modelcontextprotocol/clientCapabilities", {})
    needs = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
    for request in result.get("inputRequests", {}).values():
        assert needs[request["method"]] in declared, f"{request['method']} was not declared"


def _judge_payload(task: Mapping[str, Any]) -> None:
    """What a task carries beside itself."""
    if "result" in task:
        _model(v2026.CallToolResult, task["result"])
        assert task["result"].get("resultType") == "complete"
        assert strict.RELATED_TASK_META_KEY not in (task["result"].get("_meta") or {})
    for request in task.get("inputRequests", {}).values():
        _model(v2026.InputRequest, request)


def _judge_legacy(asked: Asked, result: Mapping[str, Any]) -> None:
    assert not {"resultType", "ttlMs", "cacheScope", "pollIntervalMs"} & set(result), "fields of the modern wire"
    if asked.method in EMPTY:
        assert result == {}, f"{asked.method} is answered by more than an empty object"
        return
    match asked.method:
        case "tasks/get" | "tasks/cancel":
            strict.LegacyTask.model_validate(result)
            _model(v2025.GetTaskResult, result)
        case "tasks/list":
            strict.LegacyTaskList.model_validate(result)
            _model(v2025.ListTasksResult, result)
        case "tasks/result":
            _model(v2025.CallToolResult, result)
            assert result["_meta"][strict.RELATED_TASK_META_KEY] == {"taskId": asked.params["taskId"]}
        case "tools/call" if "task" in asked.params and "task" in result:
            handle = strict.LegacyHandle.model_validate(result)
            assert handle.task.status == "working", "a task begins as working"
            _model(v2025.CreateTaskResult, result)
        case method:
            row = RESULTS.get((method, asked.version))
            assert row is not None, f"{method} has no result in {asked.version}"
            _model(row, result)
            _no_nulls(result)


def _no_nulls(result: Mapping[str, Any]) -> None:
    nulls = [name for name, value in result.items() if value is None and name != "structuredContent"]
    assert nulls == [], f"null in {nulls}: what is absent is left out"


def _others(what: str, result: Mapping[str, Any]) -> None:
    for judge in OTHERS:
        judge(what, result)


def _model(model: Any, document: Mapping[str, Any]) -> None:
    """By JSON and strictly: a number that is written as text is none."""
    _reader(model).validate_json(json.dumps(document), strict=True, by_name=False, by_alias=True)


@cache
def _reader(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)
