"""Results too large for their task: where they are kept, what is refused, and that everything may be repeated."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from mcptasks_crds import limits, names
from mcptasks_crds.limits import stored_bytes
from mcptasks_crds.schemas import digest
from mcptasks_crds.task import McpTask, Report, ResultSource
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.errors import UnavailableError
from mcptasks_server.largeresults import whole
from mcptasks_server.projection import result_text
from mcptasks_server.taskendpoint.endpoint import LONG_BODIES_AT_ONCE, MAX_BODY_BYTES
from mcptasks_server.testing.catalogue import FixedCatalogue, ready_tool
from mcptasks_server.testing.pods import InMemoryReports, PodClient
from mcptasks_server.testing.results import InMemoryResults

FRAME = '{"content":[{"type":"text","text":"%s"}]}'
CHARACTERS = pytest.mark.parametrize("character", ["x", "é", "<", "\\n"])
SCHEMA = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "number"}}}}


def of_bytes(size: int, *, character: str = "x") -> bytes:
    """A result of so many bytes of UTF-8."""
    room = size - len(FRAME % "")
    words = character * (room // len(character.encode()))
    return (FRAME % (words + "x" * (room - len(words.encode())))).encode()


def of_stored_bytes(size: int, *, character: str) -> bytes:
    """A result of so many bytes as stored."""
    room = size - stored_bytes(FRAME % "")
    words = character * (room // stored_bytes(character))
    return (FRAME % (words + "x" * (room - stored_bytes(words)))).encode()


def parts(size: int) -> dict[str, Any]:
    """Parts of about so many bytes."""
    return {"content": [{"type": "text", "text": "x" * size}]}


def structured(*rows: object, **members: object) -> bytes:
    """A result with structured content that is too large for its task."""
    result = {**parts(limits.RESULT_STORED_BYTES), "structuredContent": {"rows": list(rows)}, **members}
    return json.dumps(result).encode()


def report(store: InMemoryReports, task_id: str) -> Report:
    found = store.task(task_id).status.report
    assert found is not None
    return found


def source(store: InMemoryReports, task_id: str) -> ResultSource:
    found = report(store, task_id).result_from
    assert found is not None
    return found


async def shown(store: InMemoryReports, results: InMemoryResults, task_id: str) -> str | None:
    """What a client is shown of the result once the task is over."""
    store.change(task_id, status={"phase": "Completed", "reason": "Succeeded", "result": {"from": "report"}})
    return result_text(await whole(store.task(task_id), results))


@CHARACTERS
async def test_a_result_that_just_fits_its_task_is_in_it(
    character: str, pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    fits = of_stored_bytes(limits.RESULT_STORED_BYTES, character=character)

    assert (await pod.put("/result", fits)).status == 204
    assert (report(store, task_id).result, results.texts) == (fits.decode(), {})


@CHARACTERS
async def test_a_result_of_one_byte_more_is_beside_it_to_the_byte(
    character: str, pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    larger = of_stored_bytes(limits.RESULT_STORED_BYTES + 1, character=character)

    assert (await pod.put("/result", larger)).status == 204
    assert report(store, task_id).result is None
    assert source(store, task_id) == ResultSource(
        secret_name=names.result_secret_name(task_id, larger.decode()), bytes=len(larger)
    )
    assert await shown(store, results, task_id) == larger.decode()


@pytest.mark.parametrize("character", ["x", "é"])
async def test_a_result_of_the_largest_size_is_kept_and_one_byte_more_is_not(
    character: str, pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    refused = await pod.put("/result", of_bytes(limits.LARGE_RESULT_BYTES + 1, character=character))
    taken = await pod.put("/result", of_bytes(limits.LARGE_RESULT_BYTES, character=character))

    assert (refused.status, refused.body["field"], taken.status) == (413, "result", 204)
    assert f"{limits.LARGE_RESULT_BYTES + 1} bytes" in refused.body["detail"]
    assert f"at most {limits.LARGE_RESULT_BYTES}" in refused.body["detail"]
    text = await shown(store, results, task_id)
    assert text is not None
    assert len(text.encode()) == limits.LARGE_RESULT_BYTES


VALUES = {
    "nulls": '{"a":null,"b":[null]}',
    "1.0": '{"a":1.0,"b":1e2}',
    "integers beyond 2^63": '{"a":123456789012345678901234567890,"b":-9223372036854775809}',
    "a zero byte": '{"a":"\\u0000"}',
    "a whole surrogate pair": '{"a":"\\ud83d\\ude00"}',
    "spaces": '{ "a" : 1 }',
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
async def test_beside_its_task_a_result_keeps(
    value: str, pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    padding = "x" * limits.RESULT_STORED_BYTES
    given = f'{{"content":[{{"type":"text","text":"{padding}"}}], "structuredContent":{value}}}'

    assert (await pod.put("/result", given.encode())).status == 204
    assert await shown(store, results, task_id) == given


@pytest.mark.parametrize("wrong", [b"\\ud800", b"\xff", b'"'])
async def test_a_large_result_that_is_no_text_is_refused(wrong: bytes, pod: PodClient, store: InMemoryReports) -> None:
    whole_result = of_bytes(300_000)

    assert (await pod.put("/result", whole_result.replace(b"xxx", wrong, 1))).status == 422
    assert store.writes == []


async def test_a_large_result_may_be_repeated_and_another_one_is_refused(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults
) -> None:
    given = structured(1.0)
    reordered = json.dumps(dict(reversed(json.loads(given).items()))).encode()
    said = [await pod.put("/result", body) for body in (given, given, reordered, structured(2.0), b'{"content":[]}')]

    assert [each.status for each in said] == [204, 204, 204, 409, 409]
    assert (len(store.writes), results.kept) == (1, 1)


async def test_a_large_result_may_be_repeated_after_the_end_of_its_task(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    await pod.put("/result", of_bytes(300_000))
    await shown(store, results, task_id)

    assert (await pod.put("/result", of_bytes(300_000))).status == 204
    assert (await pod.put("/result", of_bytes(300_001))).status == 409
    assert results.kept == 1


async def test_a_server_that_ended_between_the_two_writes_is_followed_by_one_that_makes_the_second(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    def end(_: str) -> None:
        store.before_write = lambda _: None
        raise UnavailableError("the server has ended")

    store.before_write = end
    cut = await pod.put("/result", of_bytes(300_000))
    kept = dict(results.texts)
    again = await pod.put("/result", of_bytes(300_000))

    assert (cut.status, again.status) == (503, 204)
    assert results.texts == kept
    assert await shown(store, results, task_id) == of_bytes(300_000).decode()


async def test_after_such_an_end_another_result_may_be_given_instead(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    def end(_: str) -> None:
        store.before_write = lambda _: None
        raise UnavailableError("the server has ended")

    store.before_write = end
    await pod.put("/result", of_bytes(300_000))

    assert (await pod.put("/result", of_bytes(300_001))).status == 204
    assert await shown(store, results, task_id) == of_bytes(300_001).decode()


async def test_few_large_bodies_are_in_memory_at_once_one_of_each_task_and_small_ones_wait_for_none(
    *,
    pod: PodClient,
    pod_of: Callable[[str], PodClient],
    store: InMemoryReports,
    results: InMemoryResults,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pod that sends many of them takes one place of the four: other tasks' pods have theirs."""
    kept, begun, go_on = results.keep, [], asyncio.Event()

    async def keep(name: str, text: str, *, task: McpTask) -> str:
        begun.append(name)
        await go_on.wait()
        return await kept(name, text, task=task)

    async def is_one() -> bool:
        return len(begun) == 1

    async def are_full() -> bool:
        return len(begun) == LONG_BODIES_AT_ONCE

    monkeypatch.setattr(results, "keep", keep)
    sent = [asyncio.create_task(pod.put("/result", of_bytes(300_000 + each))) for each in range(8)]
    await eventually(is_one, what="its first one is looked at")
    others = [pod_of(store.add()) for _ in range(LONG_BODIES_AT_ONCE)]
    sent += [asyncio.create_task(each.put("/result", of_bytes(300_000))) for each in others]
    await eventually(are_full, what="all places are taken")
    assert len({name.rpartition("-result-")[0] for name in begun}) == LONG_BODIES_AT_ONCE
    small = await pod.put("/progress", {"progress": 1})
    assert (small.status, len(begun)) == (202, LONG_BODIES_AT_ONCE)

    go_on.set()
    statuses = [each.status for each in await asyncio.gather(*sent)]
    assert sorted(statuses[:8]) == [204, *[409] * 7]
    assert statuses[8:] == [204] * LONG_BODIES_AT_ONCE


async def test_what_somebody_has_put_where_a_result_is_to_be_kept_is_not_taken_for_it(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    given = of_bytes(300_000)
    name = names.result_secret_name(task_id, given.decode())
    results.texts[name] = store.task(task_id).metadata.uid, of_bytes(300_000, character="y").decode()

    refused = await pod.put("/result", given)

    assert (refused.status, name in refused.body["detail"], store.writes) == (424, True, [])
    assert (await pod.put("/result", of_bytes(300_001))).status == 204


async def test_a_large_result_after_a_cancel_is_refused_and_nowhere_named(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    store.change(task_id, status={"phase": "Cancelled"})

    assert (await pod.put("/result", of_bytes(300_000))).status == 409
    assert results.texts == {}


async def test_a_cancel_that_comes_between_the_two_writes_wins(
    pod: PodClient, store: InMemoryReports, task_id: str
) -> None:
    def cancel(_: str) -> None:
        store.before_write = lambda _: None
        store.change(task_id, status={"phase": "Cancelled"})

    store.before_write = cancel

    assert (await pod.put("/result", of_bytes(300_000))).status == 409
    assert "report" not in store.objects[task_id]["status"]


async def test_while_secrets_cannot_be_written_a_pod_is_asked_to_try_again(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults
) -> None:
    results.failure = UnavailableError("away")
    refused = await pod.put("/result", of_bytes(300_000))
    results.failure = None

    assert (refused.status, refused.headers["Retry-After"], store.writes) == (503, "1", [])
    assert (await pod.put("/result", of_bytes(300_000))).status == 204


async def test_of_a_result_that_is_refused_the_task_keeps_both_ends_of_its_text(
    pod: PodClient, store: InMemoryReports, task_id: str
) -> None:
    words = "begin " + "x" * limits.LARGE_RESULT_BYTES + " end"
    said = await pod.put("/result", (FRAME % words).encode())
    again = await pod.put("/result", (FRAME % words).encode())

    kept = report(store, task_id).too_large
    assert kept is not None
    assert (said.status, again.status, len(store.writes)) == (413, 413, 1)
    assert (kept.bytes, kept.limit) == (len(FRAME % words), limits.LARGE_RESULT_BYTES)
    assert (kept.head[:7], kept.tail[-5:]) == ("begin x", "x end")
    assert stored_bytes(kept.head) == stored_bytes(kept.tail) == limits.REFUSED_END_STORED_BYTES


async def test_of_a_structure_that_is_refused_it_keeps_both_ends_of_its_json(
    pod: PodClient, store: InMemoryReports, task_id: str
) -> None:
    structure = {"first": "x" * limits.LARGE_RESULT_BYTES, "last": "end"}
    given = {"content": [{"type": "text", "text": "see the structure"}], "structuredContent": structure}
    said = await pod.put("/result", json.dumps(given).encode())

    kept = report(store, task_id).too_large
    assert kept is not None
    assert said.status == 413
    assert "parts before" not in said.body["detail"]
    assert (kept.head[:12], kept.tail[-15:]) == ('{"first": "x', '"last": "end"}'.rjust(15))


async def test_so_it_does_of_one_that_is_not_read_as_a_whole(
    pod: PodClient, store: InMemoryReports, task_id: str
) -> None:
    body = b"begin" + b"x" * (3 * MAX_BODY_BYTES) + b"end"
    said = await pod.put("/result", body)

    kept = report(store, task_id).too_large
    assert kept is not None
    assert (said.status, kept.bytes) == (413, len(body))
    assert f"{len(body)} bytes" in said.body["detail"]
    assert (kept.head[:6], kept.tail[-4:]) == ("beginx", "xend")


async def test_a_smaller_result_may_be_given_after_one_that_was_refused(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    await pod.put("/result", of_bytes(limits.LARGE_RESULT_BYTES + 1))

    assert (await pod.put("/result", b'{"content":[]}')).status == 204
    assert await shown(store, results, task_id) == '{"content":[]}'


async def test_parts_that_do_not_fit_the_task_are_beside_it_and_come_back_in_order(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    sizes = (100_000, 90_000, 10, 200_000)
    for number, size in enumerate(sizes):
        for _ in range(2):  # as a program does that got no answer
            said = await pod.post("/content", parts(size), **{"Idempotency-Key": str(number)})
            assert said.status == 204
    await pod.put("/result", b'{"content":[{"type":"text","text":"last"}],"structuredContent":{"n":1.0}}')

    apart = report(store, task_id).content_from
    assert apart is not None
    assert (apart.posts, len(results.texts)) == (3, 3)
    text = await shown(store, results, task_id)
    assert text is not None
    assert [len(part["text"]) for part in json.loads(text)["content"]] == [*sizes, 4]
    assert text.endswith('"structuredContent":{"n":1.0}}')


async def test_parts_leave_room_in_the_task_for_what_its_program_prints(
    pod: PodClient, store: InMemoryReports, task_id: str
) -> None:
    for _ in range(20):
        assert (await pod.post("/content", parts(40_000))).status == 204

    content = report(store, task_id).content
    assert content is not None
    assert stored_bytes(content) <= limits.CONTENT_INLINE_STORED_BYTES


async def test_parts_and_result_share_their_room(pod: PodClient) -> None:
    half = parts(limits.LARGE_RESULT_BYTES // 2 - 100)
    said = [await pod.post("/content", half), await pod.post("/content", half)]
    over = [await pod.post("/content", parts(200)), await pod.put("/result", parts(200))]

    assert [each.status for each in (*said, *over)] == [204, 204, 413, 413]
    assert [each.body["field"] for each in over] == ["content", "result"]
    assert all(str(limits.LARGE_RESULT_BYTES) in each.body["detail"] for each in over)


async def test_parts_that_a_server_kept_and_could_not_name_are_named_by_the_next(
    pod: PodClient, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    def end(_: str) -> None:
        store.before_write = lambda _: None
        raise UnavailableError("the server has ended")

    store.before_write = end
    cut = await pod.post("/content", parts(200_000), **{"Idempotency-Key": "a"})
    again = await pod.post("/content", parts(200_000), **{"Idempotency-Key": "a"})

    apart = report(store, task_id).content_from
    assert apart is not None
    assert (cut.status, again.status, apart.posts, len(results.texts)) == (503, 204, 1, 1)


async def test_a_large_result_says_whether_it_is_an_error(
    pod: PodClient, store: InMemoryReports, task_id: str, catalogue: FixedCatalogue
) -> None:
    catalogue.offer(ready_tool("train", output_schema=SCHEMA))

    assert (await pod.put("/result", structured("no number", isError=True))).status == 204
    assert source(store, task_id).is_error
    assert source(store, task_id).violation is None


@pytest.mark.parametrize(
    ("body", "violation"),
    [
        (structured(1, 2.5), None),
        (structured(1, "two"), "/rows/1: "),
        (structured(structuredContent={"rows": None}), "/rows: "),
        (of_bytes(300_000), "it has no structuredContent"),
    ],
)
async def test_a_large_result_is_held_against_the_output_schema(
    *,
    body: bytes,
    violation: str | None,
    pod: PodClient,
    store: InMemoryReports,
    task_id: str,
    catalogue: FixedCatalogue,
) -> None:
    catalogue.offer(ready_tool("train", output_schema=SCHEMA))

    assert (await pod.put("/result", body)).status == 204
    found = source(store, task_id)
    assert found.schema_digest == digest(SCHEMA)
    assert (found.violation is None) if violation is None else (found.violation or "").startswith(violation)


async def test_what_breaks_the_schema_is_told_in_bounds(
    pod: PodClient, store: InMemoryReports, task_id: str, catalogue: FixedCatalogue
) -> None:
    catalogue.offer(ready_tool("train", output_schema=SCHEMA))
    await pod.put("/result", structured("<" * 100_000))

    violation = source(store, task_id).violation
    assert violation is not None
    assert stored_bytes(violation) <= limits.VIOLATION_STORED_BYTES


async def test_without_its_tool_a_large_result_is_held_against_nothing(
    pod: PodClient, store: InMemoryReports, task_id: str, catalogue: FixedCatalogue
) -> None:
    catalogue.offer()

    assert (await pod.put("/result", structured("x"))).status == 204
    assert (source(store, task_id).schema_digest, source(store, task_id).violation) == (None, None)


async def test_as_long_as_the_tools_are_not_known_a_large_result_waits(
    pod: PodClient, store: InMemoryReports, catalogue: FixedCatalogue
) -> None:
    catalogue.is_known = False

    assert (await pod.put("/result", structured(1))).status == 503
    assert store.writes == []
