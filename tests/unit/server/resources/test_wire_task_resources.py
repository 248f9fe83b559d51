"""A task's log and result as resources, on both wires."""

import json
from datetime import timedelta

import pytest

from mcptasks_crds.limits import RESULT_STORED_BYTES
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_server.tasklogs import LOG_META, LogSource, TaskLog
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import RESULT, over
from mcptasks_server.testing.wire import Wire

from .conftest import NOT_FOUND, Logs, Reader, reader_of

pytestmark = pytest.mark.requirement("ours/task-resources")

UNKNOWN = "mt-" + "a" * 32


@pytest.mark.requirement("resources/capability", "discover/contents", "cache/hints")
async def test_two_templates_are_listed_without_any_pack_and_no_task_is(anna: Reader, task_id: str) -> None:
    templates = (await anna.call("resources/templates/list")).result
    resources = (await anna.call("resources/list")).result

    assert [(each["uriTemplate"], each["mimeType"]) for each in templates["resourceTemplates"]] == [
        ("mcptask://{taskId}/log", "text/plain"),
        ("mcptask://{taskId}/result", "application/json"),
    ]
    assert all(each["description"] and each["name"] for each in templates["resourceTemplates"])
    assert resources["resources"] == []
    hints = [(result.get("cacheScope"), "ttlMs" in result) for result in (templates, resources)]
    assert hints == [("private", True) if anna.era == "modern" else (None, False)] * 2
    assert task_id not in json.dumps(templates)


@pytest.mark.requirement("resources/list", "resources/list-not-per-connection")
async def test_the_lists_are_the_same_whatever_was_called_before(anna: Reader, bert: Reader, task_id: str) -> None:
    before = [(await each.call("resources/list")).result["resources"] for each in (anna, bert)]
    await anna.read(f"mcptask://{task_id}/log")

    assert [(await each.call("resources/list")).result["resources"] for each in (anna, bert)] == before == [[], []]


@pytest.mark.requirement("resources/capability", "legacy/negotiated-only")
async def test_the_capability_promises_neither_updates_nor_changes_of_the_list(wire: Wire) -> None:
    modern, legacy = await reader_of(wire, "modern", "anna"), await reader_of(wire, "legacy", "anna")
    handshake = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}

    declared = [
        (await modern.call("server/discover")).result["capabilities"]["resources"],
        (await legacy.call("initialize", **handshake)).result["capabilities"]["resources"],
    ]

    assert declared == [{}, {}]
    for reader in (modern, legacy):
        for method in ("resources/subscribe", "resources/unsubscribe"):
            assert (await reader.call(method, uri=f"mcptask://{UNKNOWN}/log")).body["error"]["code"] == -32601


async def test_a_living_log_is_shown_as_it_is_now(anna: Reader, logs: Logs, task_id: str) -> None:
    uri = f"mcptask://{task_id}/log"
    logs.printed[task_id] = TaskLog(source=LogSource.POD, text="one\n")
    first = await anna.read(uri)
    logs.printed[task_id] = TaskLog(source=LogSource.POD, text="one\ntwo \x1b[1m\N{REPLACEMENT CHARACTER}\x00\n")
    second = await anna.read(uri)

    assert first == {
        "uri": uri,
        "mimeType": "text/plain",
        "text": "one\n",
        "_meta": {LOG_META: {"source": "pod", "isWhole": True}},
    }
    assert second["text"] == "one\ntwo \x1b[1m\N{REPLACEMENT CHARACTER}\x00\n"


@pytest.mark.requirement("cache/hints", "cache/ttl", "cache/access-controls")
async def test_what_is_read_may_be_kept_by_nobody_else_and_not_at_all(wire: Wire, task_id: str) -> None:
    answer = await (await reader_of(wire, "modern", "anna")).call("resources/read", uri=f"mcptask://{task_id}/log")

    assert (answer.result["cacheScope"], answer.result["ttlMs"], answer.result["resultType"]) == (
        "private",
        0,
        "complete",
    )


@pytest.mark.parametrize(
    ("log", "note"),
    [
        (TaskLog(source=LogSource.POD, text="é\n", is_whole=False), "[Only the end of the log: its last 3 bytes.]"),
        (TaskLog(source=LogSource.POD), "[Nothing was printed so far.]"),
        (TaskLog(source=LogSource.KEPT, text="end\n", is_whole=False), "[The end of the log, as it was kept.]"),
        (TaskLog(source=LogSource.NONE, why="no\n pod " + "x" * 1000), f"[There is no log: no pod {'x' * 293}.]"),
    ],
    ids=["cut", "empty", "kept", "none"],
)
async def test_what_is_missing_is_said_before_the_text_and_for_programs(
    anna: Reader, logs: Logs, task_id: str, log: TaskLog, note: str
) -> None:
    logs.printed[task_id] = log

    content = await anna.read(f"mcptask://{task_id}/log")

    assert content["text"] == f"{note}\n{log.text}"
    assert content["_meta"][LOG_META] == {"source": log.source, "isWhole": log.is_whole, "note": note}


async def test_a_task_without_a_pod_says_so(anna: Reader, store: InMemoryTaskStore, task_id: str) -> None:
    uri = f"mcptask://{task_id}/log"
    before = (await anna.read(uri))["text"]
    await store.write_status(task_id, over(Phase.CANCELLED))
    after = (await anna.read(uri))["text"]

    assert before == "[There is no log: the task's pod has not started yet.]\n"
    assert after == "[There is no log: the task has never had a pod.]\n"


async def test_a_log_that_is_gone_names_the_result_which_may_hold_its_end(
    anna: Reader, store: InMemoryTaskStore, task_id: str
) -> None:
    pod = {"job": {"name": task_id, "uid": "j", "podName": f"{task_id}-x", "podUID": "p"}}
    await store.write_status(task_id, over() | pod)

    assert f"mcptask://{task_id}/result" in (await anna.read(f"mcptask://{task_id}/log"))["text"]


async def test_the_result_is_the_tools_own_to_the_digit(anna: Reader, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, over())
    uri = f"mcptask://{task_id}/result"

    assert await anna.read(uri) == {"uri": uri, "mimeType": "application/json", "text": RESULT}


async def test_the_largest_result_is_given_whole(anna: Reader, store: InMemoryTaskStore, task_id: str) -> None:
    text = '{"content":[{"type":"text","text":"' + "x" * (RESULT_STORED_BYTES - 100) + '"}]}'
    await store.write_status(task_id, over() | {"result": {"inline": text}})

    assert (await anna.read(f"mcptask://{task_id}/result"))["text"] == text


async def test_parts_that_a_pod_added_before_are_in_the_result(
    anna: Reader, store: InMemoryTaskStore, task_id: str
) -> None:
    report = {"content": '[{"type":"text","text":"part"}]', "result": '{"content":[]}'}
    await store.write_status(task_id, over() | {"result": {"inline": None, "from": "report"}, "report": report})

    content = json.loads((await anna.read(f"mcptask://{task_id}/result"))["text"])

    assert content == {"content": [{"type": "text", "text": "part"}]}


@pytest.mark.requirement("resources/never-empty", "resources/not-found", "legacy/resource-not-found")
async def test_a_task_that_goes_on_has_no_result_yet(anna: Reader, store: InMemoryTaskStore, task_id: str) -> None:
    await store.write_status(task_id, {"phase": Phase.RUNNING, "message": "pulling the image"})

    error = await anna.refusal(f"mcptask://{task_id}/result")

    assert "no result yet" in error["message"]
    assert "pulling the image" in error["message"]
    assert error["data"] == {"uri": f"mcptask://{task_id}/result"}


ENDS: dict[str, tuple[dict[str, object], str, str]] = {
    "cancelled": (over(Phase.CANCELLED) | {"reason": Reason.CANCELLED}, "cancelled", "Cancelled"),
    "failed": (
        over(Phase.FAILED) | {"reason": Reason.START_DEADLINE, "error": {"code": -32603, "message": "no such image"}},
        "no such image",
        "StartDeadline",
    ),
    "lost": (over() | {"result": None}, "the task's result is not there any more", "ResultLost"),
}
"""A status, words of it, and its reason."""


@pytest.mark.parametrize("end", ENDS)
async def test_an_end_without_a_result_says_which(
    anna: Reader, store: InMemoryTaskStore, task_id: str, end: str
) -> None:
    status, words, reason = ENDS[end]
    await store.write_status(task_id, status)

    error = await anna.refusal(f"mcptask://{task_id}/result")

    assert words in error["message"]
    assert error["data"]["reason"] == reason


@pytest.mark.requirement(
    "resources/access", "resources/not-found", "legacy/resource-not-found", "resources/never-empty"
)
@pytest.mark.parametrize("part", ["log", "result"])
async def test_missing_expired_and_foreign_tasks_are_one_answer(
    anna: Reader, bert: Reader, store: InMemoryTaskStore, task_id: str, part: str
) -> None:
    await store.write_status(task_id, over() | {"logTail": "secret"})
    foreign = await bert.refusal(f"mcptask://{task_id}/{part}")
    missing = await bert.refusal(f"mcptask://{UNKNOWN}/{part}")
    await store.write_status(task_id, over(kept_for=timedelta(seconds=-1)))
    expired = await anna.refusal(f"mcptask://{task_id}/{part}")

    for error, named in ((foreign, task_id), (missing, UNKNOWN), (expired, task_id)):
        assert error == {
            "code": NOT_FOUND[anna.era],
            "message": "Resource not found",
            "data": {"uri": f"mcptask://{named}/{part}"},
        }


@pytest.mark.requirement("resources/uris-validated")
@pytest.mark.parametrize(
    "uri",
    [
        "mcptask://{id}",
        "mcptask://{id}/",
        "mcptask://{id}/log/",
        "mcptask://{id}/Log",
        "mcptask://{id}/logs",
        "mcptask://{id}/log?tail=1",
        "mcptask://{id}/log#x",
        "mcptask://{id}/../{id}/log",
        "mcptask://{id}/./log",
        "mcptask://{id}//log",
        "mcptask://{id}%2flog",
        "mcptask://%6d{rest}/log",
        "mcptask://anna@{id}/log",
        "mcptask://{id}:80/log",
        "mcptask:{id}/log",
        "mcptask:///{id}/log",
        "MCPTASK://{id}/log",
        "mcptask://{upper}/log",
        "mcptask://../mcptools/add/log",
        "mcptask://{{taskId}}/log",
        "mcptask://",
        "mcptask:",
        "mcptask",
    ],
)
async def test_nothing_but_a_tasks_own_uri_names_it(anna: Reader, logs: Logs, task_id: str, uri: str) -> None:
    asked = uri.format(id=task_id, rest=task_id[1:], upper=task_id.upper())

    error = await anna.refusal(asked)

    assert error["data"] == {"uri": asked}
    assert logs.asked == []


@pytest.mark.requirement("resources/uris-validated")
async def test_a_uri_that_is_no_text_is_refused(anna: Reader) -> None:
    for params in ({"uri": 1}, {"uri": None}, {}):
        assert (await anna.call("resources/read", **params)).body["error"]["code"] in {-32602, -32020}


@pytest.mark.requirement("pages/invalid-cursor")
async def test_a_cursor_that_was_never_given_is_refused(anna: Reader) -> None:
    for method in ("resources/list", "resources/templates/list"):
        assert (await anna.call(method, cursor="x")).error == (200, -32602)
