"""The judges themselves: what they must let pass, and what they must not."""

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest

from mcptasks_server.testing.judges import Asked, judge_response
from mcptasks_server.testing.stream_judge import AnswerJudge

INFO: Final = {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}}
TASK: Final = {
    "taskId": "mt-a",
    "status": "working",
    "createdAt": "2026-11-29T21:45:32.325Z",
    "lastUpdatedAt": "2026-11-29T21:45:33.000Z",
    "ttlMs": 3_600_000,
    "pollIntervalMs": 1000,
}
HANDLE: Final = {"resultType": "task", **TASK, "_meta": INFO}
SHOWN: Final = {**HANDLE, "resultType": "complete"}
RESULT: Final = {"resultType": "complete", "content": [{"type": "text", "text": "x"}]}
FORM: Final = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}
LEGACY_TASK: Final = {
    **{name: TASK[name] for name in ("taskId", "status", "createdAt", "lastUpdatedAt")},
    "ttl": 1000,
    "pollInterval": 500,
}
SUBSCRIPTION: Final = {"io.modelcontextprotocol/subscriptionId": "s"}
Change = Callable[[dict[str, Any]], Any]


def response(result: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": result} | members


def modern(method: str, **params: Any) -> Asked:
    return Asked(method=method, id=1, params=params)


GOOD: Final[dict[str, tuple[Asked, dict[str, Any]]]] = {
    "handle": (modern("tools/call"), HANDLE),
    "working": (modern("tasks/get"), SHOWN),
    "input-required": (modern("tasks/get"), {**SHOWN, "status": "input_required", "inputRequests": {"q": FORM}}),
    "completed": (modern("tasks/get"), {**SHOWN, "status": "completed", "result": RESULT}),
    "failed": (modern("tasks/get"), {**SHOWN, "status": "failed", "error": {"code": -32603, "message": "x"}}),
    "acknowledged": (modern("tasks/cancel"), {"resultType": "complete", "_meta": INFO}),
    "result": (modern("tools/call"), {**RESULT, "_meta": INFO}),
    "tools": (
        modern("tools/list"),
        {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "public", "_meta": INFO},
    ),
    "questions": (
        modern("tools/call", _meta={"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}),
        {"resultType": "input_required", "inputRequests": {"q": FORM}, "requestState": "s", "_meta": INFO},
    ),
    "legacy-handle": (
        Asked(version="2025-11-25", method="tools/call", id=1, params={"task": {}}),
        {"task": LEGACY_TASK},
    ),
    "legacy-task": (Asked(version="2025-11-25", method="tasks/get", id=1), LEGACY_TASK),
    "legacy-ping": (Asked(version="2025-06-18", method="ping", id=1), {}),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_the_specifications_ask_for_passes(name: str) -> None:
    asked, result = GOOD[name]

    judge_response(asked, response(result))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("handle", lambda it: it.pop("ttlMs")),
        ("handle", lambda it: it.update(ttlMs=1.5)),
        ("handle", lambda it: it.update(ttlMs="1000")),
        ("handle", lambda it: it.update(pollIntervalMs=None)),
        ("handle", lambda it: it.update(statusMessage=None)),
        ("handle", lambda it: it.update(status="input_required")),
        ("handle", lambda it: it.update(resultType="complete")),
        ("handle", lambda it: it.update(result=RESULT)),
        ("handle", lambda it: it.update(requestState="x")),
        ("handle", lambda it: it.update(ttl=1)),
        ("handle", lambda it: it.update(lastUpdatedAt="2026-11-29T21:45:31.000Z")),
        ("handle", lambda it: it.update(createdAt="yesterday")),
        ("handle", lambda it: it.pop("_meta")),
        ("working", lambda it: it.update(resultType="task")),
        ("working", lambda it: it.update(result=RESULT)),
        ("input-required", lambda it: it.update(inputRequests={})),
        ("input-required", lambda it: it["inputRequests"]["q"].pop("method")),
        ("input-required", lambda it: it["inputRequests"]["q"]["params"].update(requestedSchema={"type": "array"})),
        ("completed", lambda it: it.pop("result")),
        ("completed", lambda it: it["result"].pop("content")),
        ("completed", lambda it: it["result"].pop("resultType")),
        ("completed", lambda it: it["result"].update(_meta={"io.modelcontextprotocol/related-task": {}})),
        ("failed", lambda it: it["error"].update(code="-32603")),
        ("failed", lambda it: it.pop("error")),
        ("acknowledged", lambda it: it.update(taskId="mt-a")),
        ("result", lambda it: it.pop("content")),
        ("result", lambda it: it.update(isError=None)),
        ("result", lambda it: it["content"][0].pop("text")),
        ("tools", lambda it: it.pop("ttlMs")),
        ("tools", lambda it: it.update(ttlMs=-1)),
        ("tools", lambda it: it.update(ttlMs=True)),
        ("tools", lambda it: it.update(cacheScope="mine")),
        ("tools", lambda it: it.update(nextCursor=None)),
        ("tools", lambda it: it.update(resultType="input_required", requestState="s")),
        ("questions", lambda it: [it.pop("inputRequests"), it.pop("requestState")]),
        ("questions", lambda it: it.update(ttlMs=1)),
        ("questions", lambda it: it["inputRequests"].update(r={"method": "roots/list"})),
        ("legacy-handle", lambda it: it["task"].update(status="completed")),
        ("legacy-handle", lambda it: it["task"].pop("ttl")),
        ("legacy-handle", lambda it: it["task"].update(ttlMs=1)),
        ("legacy-task", lambda it: it.update(resultType="complete")),
        ("legacy-task", lambda it: it.update(pollInterval="500")),
        ("legacy-ping", lambda it: it.update(_meta={})),
    ],
)
def test_what_breaks_them_is_refused(name: str, change: Change) -> None:
    asked, result = GOOD[name]
    broken = copy.deepcopy(result)
    change(broken)

    with pytest.raises((AssertionError, ValueError, KeyError)):
        judge_response(asked, response(broken))


@pytest.mark.parametrize(
    "message",
    [
        response(HANDLE, id="1"),
        response(HANDLE, id=2),
        response(HANDLE, id=None),
        response(HANDLE, extra=1),
        response(HANDLE, error={"code": -32603, "message": "both"}),
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": ""}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603.0, "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x", "more": 1}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32021, "message": "x", "data": {"requiredCapabilities": []}}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "x", "data": {"supported": []}}},
        {"jsonrpc": "2.0", "error": {"code": -32602, "message": "no id, though it could be read"}},
        {"jsonrpc": "1.0", "id": 1, "result": HANDLE},
    ],
)
def test_an_envelope_that_is_none_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises((AssertionError, ValueError, KeyError)):
        judge_response(modern("tools/call"), message)


def progress(value: float, token: Any = "t") -> dict[str, Any]:
    params = {"progressToken": token, "progress": value}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def told(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": {"_meta": SUBSCRIPTION, **params}}


CALL: Final = modern("tools/call", _meta={"progressToken": "t"})
LISTEN: Final = Asked(
    method="subscriptions/listen", id="s", params={"notifications": {"toolsListChanged": True, "taskIds": ["mt-a"]}}
)
ACKNOWLEDGED: Final = told("notifications/subscriptions/acknowledged", notifications={"taskIds": ["mt-a"]})
ENDED: Final = {"jsonrpc": "2.0", "id": "s", "result": {"resultType": "complete", "_meta": INFO | SUBSCRIPTION}}
DONE: Final = response({**RESULT, "_meta": INFO})


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        (CALL, [progress(0), progress(0.5), progress(7), DONE]),
        (LISTEN, [ACKNOWLEDGED, told("notifications/tasks", **TASK), ENDED]),
    ],
    ids=["call", "subscription"],
)
def test_an_answer_in_its_right_order_passes(asked: Asked, messages: list[dict[str, Any]]) -> None:
    judge = AnswerJudge(asked)

    for message in messages:
        judge.take(message)


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        (CALL, [progress(1), progress(1)]),
        (CALL, [progress(2), progress(1)]),
        (CALL, [progress(1, token="u")]),
        (modern("tools/call", _meta={"progressToken": 1}), [progress(1, token="1")]),
        (CALL, [DONE, progress(1)]),
        (CALL, [DONE, DONE]),
        (CALL, [{"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": FORM["params"]}]),
        (CALL, [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}]),
        (CALL, [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]),
        (LISTEN, [told("notifications/tasks", **TASK)]),
        (LISTEN, [ACKNOWLEDGED, ACKNOWLEDGED]),
        (LISTEN, [ACKNOWLEDGED, told("notifications/tools/list_changed")]),
        (LISTEN, [ACKNOWLEDGED, told("notifications/tasks", **(TASK | {"taskId": "mt-b"}))]),
        (LISTEN, [ACKNOWLEDGED, told("notifications/tasks", **SHOWN)]),
        (LISTEN, [ACKNOWLEDGED, progress(1)]),
        (LISTEN, [told("notifications/subscriptions/acknowledged", notifications={"promptsListChanged": True})]),
        (LISTEN, [told("notifications/subscriptions/acknowledged", notifications={"taskIds": ["mt-b"]})]),
        (LISTEN, [ACKNOWLEDGED, {**ENDED, "result": {"resultType": "complete", "_meta": INFO}}]),
    ],
)
def test_what_must_not_come_or_not_then_is_refused(asked: Asked, messages: list[dict[str, Any]]) -> None:
    judge = AnswerJudge(asked)
    for message in messages[:-1]:
        judge.take(message)

    with pytest.raises((AssertionError, ValueError, KeyError)):
        judge.take(messages[-1])
