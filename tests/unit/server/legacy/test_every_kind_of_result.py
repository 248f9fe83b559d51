"""Results of every kind, in their task and beside it, as they come through both wires and each of their doors."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.task import McpTask
from mcptasks_server.errors import UnavailableError
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import Wire

from .conftest import write

DATA: Final = base64.b64encode(bytes(range(256))).decode()
PARTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "text": {"type": "text", "text": "é <&> \u2028 \0 😀"},
    "image": {"type": "image", "data": DATA, "mimeType": "image/png"},
    "audio": {"type": "audio", "data": DATA, "mimeType": "audio/wav"},
    "text resource": {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "a"}},
    "binary resource": {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": DATA}},
    "link": {"type": "resource_link", "uri": "https://example.com/report.pdf", "name": "The whole report"},
}
NUMBERS: Final = '{"none":null,"one":1.0,"big":123456789012345678901234567890,"small":-9223372036854775809}'
ERROR: Final = '{"content":[{"type":"text","text":"no such file"}],"isError":true}'
PLACES: Final = pytest.mark.parametrize("is_apart", [False, True], ids=["in its task", "beside it"])


async def end(
    store: InMemoryTaskStore, task_id: str, result: str, *, is_apart: bool, reason: str = "Succeeded", **status: Any
) -> None:
    """The pod's hand, and the operator's after it."""
    report: dict[str, Any] = {"result": result}
    if is_apart:
        name = names.result_secret_name(task_id, result)
        await store.results.keep(name, result, task=McpTask.model_validate(store.objects[task_id]))
        report = {
            "resultFrom": {
                "secretName": name,
                "bytes": len(result.encode()),
                "isError": '"isError":true' in result,
            }
        }
    ended = {**over(), "report": report, "reason": reason, "result": {"from": "report"}}
    await write(store, task_id, **{**ended, **status})


async def begun(wire: Wire, tool: str = "task-only") -> str:
    """A call as a task; its id."""
    created = (await wire.call("tools/call", {"name": tool})).result
    return str(created["taskId"])


def without_meta(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("_meta", "resultType")}


async def everywhere(wire: Wire, client: LegacyWire, task_id: str) -> dict[str, Any]:
    """The result by each door."""
    polled = (await wire.call("tasks/get", {"taskId": task_id})).result["result"]
    listening = {"notifications": {"taskIds": [task_id]}}
    async with wire.stream("subscriptions/listen", listening) as stream:
        await stream.next()  # the acknowledgement
        pushed = await stream.next()
    assert pushed is not None
    paged = {"name": "task_get", "arguments": {"taskId": task_id}}
    return {
        "polled": without_meta(polled),
        "pushed": without_meta(pushed["params"]["result"]),
        "paged": without_meta((await wire.call("tools/call", paged, capabilities={})).result),
        "fetched": without_meta((await client.call("tasks/result", {"taskId": task_id})).result),
        "paged on the legacy wire": without_meta((await client.call("tools/call", paged)).result),
    }


@PLACES
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
async def test_each_part_comes_as_it_was_given(
    part: Mapping[str, Any],
    is_apart: bool,
    replicas: tuple[Wire, Wire],
    client: LegacyWire,
    store: InMemoryTaskStore,
) -> None:
    result = {"content": [part, PARTS["text"]], "isError": False}
    task_id = await begun(replicas[0])
    await end(store, task_id, json.dumps(result), is_apart=is_apart)

    assert await everywhere(replicas[0], client, task_id) == dict.fromkeys(
        ("polled", "pushed", "paged", "fetched", "paged on the legacy wire"), result
    )


@PLACES
async def test_structured_content_is_always_in_the_answer_and_keeps_its_digits(
    is_apart: bool, replicas: tuple[Wire, Wire], client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(replicas[0])
    await end(store, task_id, f'{{"content":[],"structuredContent":{NUMBERS}}}', is_apart=is_apart)

    paged = {"name": "task_get", "arguments": {"taskId": task_id}}
    answers = [
        await replicas[0].call("tasks/get", {"taskId": task_id}),
        await client.call("tasks/result", {"taskId": task_id}),
        await client.call("tools/call", paged),
    ]
    for answer in answers:
        assert f'"structuredContent":{NUMBERS}' in answer.text


@PLACES
async def test_an_error_is_one_on_both_wires(
    is_apart: bool, replicas: tuple[Wire, Wire], client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(replicas[0])
    await end(store, task_id, ERROR, is_apart=is_apart, reason="ToolError")

    modern = (await replicas[0].call("tasks/get", {"taskId": task_id})).result
    assert (modern["status"], modern["result"]["isError"]) == ("completed", True)
    assert (await client.call("tasks/get", {"taskId": task_id})).result["status"] == "failed"
    assert (await client.call("tasks/result", {"taskId": task_id})).result["isError"] is True


@PLACES
@pytest.mark.parametrize("tool", ["held", "never-task"])
async def test_a_held_call_is_answered_by_the_result_wherever_it_is(
    tool: str, is_apart: bool, replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    result = {"content": [PARTS["image"], {"type": "text", "text": "x" * 700_000}], "isError": False}
    async with replicas[0].stream("tools/call", {"name": tool}, capabilities={}) as stream:
        while not store.objects:
            await stream.next()
        await end(store, next(iter(store.objects)), json.dumps(result), is_apart=is_apart)
        answer = await stream.answer()

    assert without_meta(answer.result) == result


async def test_a_result_of_a_mebibyte_comes_whole_from_any_replica(
    replicas: tuple[Wire, Wire], client: LegacyWire, elsewhere: LegacyWire, store: InMemoryTaskStore
) -> None:
    result = {"content": [{"type": "text", "text": "x" * 1_048_000}], "structuredContent": {"n": 1}}
    task_id = await begun(replicas[0])
    await end(store, task_id, json.dumps(result), is_apart=True)

    for wire in replicas:
        assert without_meta((await wire.call("tasks/get", {"taskId": task_id})).result["result"]) == result
    for each in (client, elsewhere):
        assert without_meta((await each.call("tasks/result", {"taskId": task_id})).result) == result


async def test_a_result_that_broke_its_schema_is_an_error_that_says_where_and_still_shows_it(
    replicas: tuple[Wire, Wire], client: LegacyWire, store: InMemoryTaskStore
) -> None:
    message = "what the tool gave breaks its outputSchema: /n: wrong"
    task_id = await begun(replicas[0])
    result = json.dumps({"content": [PARTS["image"]], "structuredContent": {"n": "x"}})
    await end(store, task_id, result, is_apart=True, reason="OutputInvalid", message=message)

    expected = {"content": [{"type": "text", "text": message}, PARTS["image"]], "isError": True}
    shown = await everywhere(replicas[0], client, task_id)
    assert list(shown.values()) == [expected] * len(shown)
    assert (await client.call("tasks/get", {"taskId": task_id})).result["status"] == "failed"


async def test_a_result_that_is_lost_is_an_error_with_a_reason_by_every_door(
    replicas: tuple[Wire, Wire], client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(replicas[0])
    await end(store, task_id, '{"content":[]}', is_apart=True)
    store.results.texts.clear()

    shown = (await replicas[0].call("tasks/get", {"taskId": task_id})).result
    assert (shown["status"], shown["error"]["data"]) == ("failed", {"reason": "ResultLost"})
    async with replicas[0].stream("subscriptions/listen", {"notifications": {"taskIds": [task_id]}}) as stream:
        await stream.next()
        pushed = await stream.next()
    assert pushed is not None
    assert pushed["params"]["error"]["data"] == {"reason": "ResultLost"}
    fetched = await client.call("tasks/result", {"taskId": task_id})
    assert fetched.body["error"]["data"] == {"reason": "ResultLost"}
    paged = {"name": "task_get", "arguments": {"taskId": task_id}}
    read = (await replicas[0].call("tools/call", paged, capabilities={})).result
    assert (read["isError"], "ResultLost" in read["content"][0]["text"]) == (True, True)


async def test_a_result_in_whose_place_somebody_has_put_another_one_is_lost(
    replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    task_id = await begun(replicas[0])
    await end(store, task_id, '{"content":[{"type":"text","text":"yes"}]}', is_apart=True)
    ((name, (owner, given)),) = store.results.texts.items()
    store.results.texts[name] = owner, given.replace("yes", "no!")

    assert (await replicas[0].call("tasks/get", {"taskId": task_id})).result["status"] == "failed"


@pytest.mark.parametrize(
    "name", ["somebody-elses", "0123456789abcdef", "mt-a-arguments", "{task}-arguments", "{task}-result-x"]
)
async def test_no_other_secret_is_shown_whatever_a_status_says(
    name: str, replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    task_id = await begun(replicas[0])
    secret = name.format(task=task_id)
    task = McpTask.model_validate(store.objects[task_id])
    await store.results.keep(secret, '{"content":[]}', task=task)
    await end(store, task_id, '{"content":[]}', is_apart=True)
    await write(store, task_id, report={"resultFrom": {"secretName": secret, "bytes": 14}})

    assert (await replicas[0].call("tasks/get", {"taskId": task_id})).result["status"] == "failed"


async def test_while_the_cluster_is_away_a_large_result_is_an_error_that_may_be_tried_again(
    replicas: tuple[Wire, Wire], store: InMemoryTaskStore
) -> None:
    task_id = await begun(replicas[0])
    await end(store, task_id, '{"content":[]}', is_apart=True)
    store.results.failure = UnavailableError("away")
    refused = await replicas[0].call("tasks/get", {"taskId": task_id})
    store.results.failure = None

    assert refused.body["error"]["message"] == "away"
    assert (await replicas[0].call("tasks/get", {"taskId": task_id})).result["status"] == "completed"


async def test_parts_beside_the_task_come_before_those_of_the_result(
    replicas: tuple[Wire, Wire], client: LegacyWire, store: InMemoryTaskStore
) -> None:
    task_id = await begun(replicas[0])
    keys = ("a" * 16, "b" * 16)
    for key, part in zip(keys, ("image", "link"), strict=True):
        text = json.dumps([PARTS[part]])
        task = McpTask.model_validate(store.objects[task_id])
        await store.results.keep(names.content_secret_name(task_id, key), text, task=task)
    report = {
        "content": json.dumps([PARTS["text"]]),
        "contentKeys": ["c" * 16, *keys],
        "contentFrom": {"posts": 2, "bytes": 900},
    }
    await write(store, task_id, **over(), report=report)

    parts = [PARTS["text"], PARTS["image"], PARTS["link"]]
    for shown in (await everywhere(replicas[0], client, task_id)).values():
        assert shown["content"][:3] == parts
        assert shown["content"][3]["text"] == "1.0"
