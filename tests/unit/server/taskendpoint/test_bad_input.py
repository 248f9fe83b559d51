"""What a pod may not send, and that each refusal names the field, and the limit where there is one."""

import base64
from typing import Any

import pytest

from mcptasks_crds import limits
from mcptasks_crds.limits import stored_bytes
from mcptasks_server.taskendpoint.endpoint import MAX_BODY_BYTES
from mcptasks_server.testing.pods import InMemoryReports, PodClient

FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
QUESTION = {"message": "Deploy?", "requestedSchema": FORM}
TEXT = {"type": "text", "text": "x"}

PROGRESS: dict[str, tuple[bytes, str | None]] = {
    "not a number": (b'{"progress": NaN}', None),
    "infinite": (b'{"progress": Infinity}', None),
    "beyond what a float can be": (b'{"progress": 1e999}', "progress"),
    "an integer beyond that": (b'{"progress": 1' + b"0" * 400 + b"}", "progress"),
    "too many digits": (b'{"progress": 1' + b"0" * 5000 + b"}", None),
    "negative": (b'{"progress": -1}', "progress"),
    "a truth": (b'{"progress": true}', "progress"),
    "a text": (b'{"progress": "3"}', "progress"),
    "missing": (b"{}", "progress"),
    "null": (b'{"progress": null}', "progress"),
    "a total smaller than it": (b'{"progress": 3, "total": 2}', "total"),
    "a total that is none": (b'{"progress": 3, "total": "10"}', "total"),
    "a message that is none": (b'{"progress": 3, "message": 1}', "message"),
    "a misspelt member": (b'{"progress": 3, "totals": 10}', "totals"),
    "a member twice": (b'{"progress": 3, "progress": 4}', None),
    "a list": (b"[3]", None),
    "no JSON": (b"3 of 10", None),
    "nothing": (b"", None),
    "not UTF-8": (b'{"progress": 3, "message": "\xff"}', None),
    "half a surrogate pair": (b'{"progress": 3, "message": "\\ud800"}', None),
    "too deep": (b"[" * 100 + b"]" * 100, None),
}


@pytest.mark.parametrize(("body", "field"), PROGRESS.values(), ids=PROGRESS)
async def test_progress_is_refused_that_is(
    body: bytes, field: str | None, pod: PodClient, store: InMemoryReports
) -> None:
    said = await pod.put("/progress", body)

    assert (said.status, said.body.get("field")) == (422, field)
    assert said.headers["Content-Type"].startswith("application/problem+json")
    assert said.body["detail"]
    assert store.writes == []


def question(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**QUESTION, **changes}.items() if value is not ...}


QUESTIONS: dict[str, tuple[dict[str, Any], int, str]] = {
    "without words": (question(message=""), 422, "message"),
    "without a message": (question(message=...), 422, "message"),
    "too long": (question(message="x" * (limits.QUESTION_MESSAGE_STORED_BYTES + 1)), 413, "message"),
    "without a form": (question(requestedSchema=...), 422, "requestedSchema"),
    "with a text for a form": (question(requestedSchema="{}"), 422, "requestedSchema"),
    "with a form of no object": (question(requestedSchema={"type": "string"}), 422, "requestedSchema"),
    "with a nested form": (
        question(requestedSchema={"type": "object", "properties": {"a": {"type": "object"}}}),
        422,
        "requestedSchema/properties/a/type",
    ),
    "with a keyword that no client shows": (
        question(requestedSchema={"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}),
        422,
        "requestedSchema/properties/a",
    ),
    "with a default that is none": (
        question(requestedSchema={"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}),
        422,
        "requestedSchema/properties/a/default",
    ),
    "with a form that is too large": (
        question(requestedSchema={**FORM, "$schema": "x" * limits.QUESTION_SCHEMA_STORED_BYTES}),
        413,
        "requestedSchema",
    ),
    "that expires at once": (question(expirySeconds=0), 422, "expirySeconds"),
    "that expires in a year": (question(expirySeconds=31_536_000), 422, "expirySeconds"),
    "that expires at a truth": (question(expirySeconds=True), 422, "expirySeconds"),
    "that a model may perhaps answer": (question(modelMayAnswer="yes"), 422, "modelMayAnswer"),
    "with a member that there is not": (question(answeredBy="me"), 422, "answeredBy"),
}


@pytest.mark.parametrize(("body", "status", "field"), QUESTIONS.values(), ids=QUESTIONS)
async def test_a_question_is_refused_that_is(
    body: dict[str, Any], status: int, field: str, pod: PodClient, store: InMemoryReports
) -> None:
    said = await pod.put("/questions/deploy", body)

    assert said.status == status
    assert said.body["field"].startswith(field)
    assert store.writes == []


@pytest.mark.parametrize("key", ["a b", "x" * 65, "a%0Ab", "é"])
async def test_a_question_cannot_have_such_a_key(key: str, pod: PodClient) -> None:
    said = [await pod.put(f"/questions/{key}", QUESTION), await pod.get(f"/questions/{key}")]

    assert [(each.status, each.body["field"]) for each in said] == [(422, "key")] * 2


async def test_a_question_cannot_have_the_key_of_one_of_the_tools_own(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    own = {"message": "Sure?", "requestedSchema": "{}", "when": "beforeStart"}
    store.change(task_id, spec={"questions": {"deploy": own}})

    assert (await pod.put("/questions/deploy", QUESTION)).status == 409


async def test_all_questions_together_are_bounded(pod: PodClient) -> None:
    fields = {"sure": {"type": "boolean", "description": "x" * 15_000}}
    large = question(requestedSchema={"type": "object", "properties": fields})
    said = [await pod.put(f"/questions/q{number}", large) for number in range(5)]

    assert [each.status for each in said] == [201, 201, 201, 413, 413]
    assert str(limits.QUESTIONS_STORED_BYTES) in said[-1].body["detail"]


@pytest.mark.parametrize("wait", ["-1", "61", "x", "nan", "inf", ""])
async def test_an_answer_is_waited_for_a_minute_at_most(wait: str, pod: PodClient) -> None:
    await pod.put("/questions/deploy", QUESTION)

    said = await pod.get("/questions/deploy", wait=wait)

    assert (said.status, said.body["field"]) == (422, "wait")


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": "image/png"}


def resource(**body: Any) -> dict[str, Any]:
    return {"content": [{"type": "resource", "resource": {"uri": "a:b", **body}}]}


RESULTS: dict[str, tuple[bytes | dict[str, Any], str | None]] = {
    "no object": (b"[]", None),
    "no JSON": (b"done", None),
    "binary": (b"\x89PNG\r\n\x1a\n", None),
    "half a surrogate pair": (b'{"content":[{"type":"text","text":"\\udc00"}]}', None),
    "without content": ({"structuredContent": {}}, "content"),
    "with null for content": ({"content": None}, "content"),
    "with a text for content": ({"content": "done"}, "content"),
    "with a text for a part": ({"content": ["done"]}, "content/0"),
    "with a part of no kind": ({"content": [TEXT, {"text": "x"}]}, "content/1/type"),
    "with a part of an unknown kind": ({"content": [{"type": "video"}]}, "content/0/type"),
    "with a part of a list of kinds": ({"content": [{"type": ["text"]}]}, "content/0/type"),
    "with a part without its text": ({"content": [{"type": "text"}]}, "content/0/text"),
    "with a part whose text is a number": ({"content": [{"type": "text", "text": 1}]}, "content/0/text"),
    "with an image without its kind": ({"content": [{"type": "image", "data": "eA=="}]}, "content/0/mimeType"),
    "with an image that is not base64": ({"content": [image("x!")]}, "content/0/data"),
    "with a resource without a body": ({"content": [{"type": "resource", "resource": {"uri": "a:b"}}]}, "content/0"),
    "with a resource whose blob is not base64": (resource(blob="x!"), "content/0/resource/blob"),
    "with a resource whose blob beside a text is null": (resource(text="x", blob=None), "content/0/resource/blob"),
    "with a resource whose blob beside a text is a number": (resource(text="x", blob=5), "content/0/resource/blob"),
    "with a list for structured content": ({"content": [], "structuredContent": []}, "structuredContent"),
    "with null for structured content": ({"content": [], "structuredContent": None}, "structuredContent"),
    "with a text for isError": ({"content": [], "isError": "false"}, "isError"),
    "with a text for _meta": ({"content": [], "_meta": "x"}, "_meta"),
}


@pytest.mark.parametrize(("body", "field"), RESULTS.values(), ids=RESULTS)
async def test_a_result_is_refused_that_is(
    body: Any, field: str | None, pod: PodClient, store: InMemoryReports
) -> None:
    said = await pod.put("/result", body)

    assert said.status == 422
    assert field is None or said.body["field"].startswith(field)
    assert store.writes == []


GOOD: dict[str, bytes] = {
    "a null": b'{"content":[],"structuredContent":{"a":null}}',
    "1.0": b'{"content":[],"structuredContent":{"a":1.0}}',
    "an integer beyond 2^63": b'{"content":[],"structuredContent":{"a":123456789012345678901234567890}}',
    "a whole surrogate pair": b'{"content":[{"type":"text","text":"\\ud83d\\ude00"}]}',
    "a zero byte": b'{"content":[{"type":"text","text":"\\u0000"}]}',
    "an image": b'{"content":[{"type":"image","data":"' + base64.b64encode(b"\0\xff") + b'","mimeType":"image/png"}]}',
    "spaces": b' { "content" : [ ] } ',
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
async def test_a_result_is_kept_to_the_byte_with(
    body: bytes, pod: PodClient, store: InMemoryReports, task_id: str
) -> None:
    assert (await pod.put("/result", body)).status == 204
    assert store.objects[task_id]["status"]["report"]["result"].encode() == body


async def test_parts_are_added_so_often_and_no_more(pod: PodClient) -> None:
    said = [await pod.post("/content", {"content": [TEXT]}) for _ in range(limits.MAX_CONTENT_POSTS + 1)]

    assert {each.status for each in said[:-1]} == {204}
    assert (said[-1].status, str(limits.MAX_CONTENT_POSTS) in said[-1].body["detail"]) == (413, True)


@pytest.mark.parametrize("content", [None, [], "x", [{"type": "text"}]])
async def test_parts_are_refused_that_are_none(content: Any, pod: PodClient) -> None:
    assert (await pod.post("/content", {"content": content})).status == 422


async def test_a_message_that_is_too_long_is_cut(pod: PodClient, store: InMemoryReports, task_id: str) -> None:
    await pod.put("/progress", {"progress": 1, "message": "<" * 5000})
    await pod.put("/result", {"content": []})

    message = store.objects[task_id]["status"]["report"]["progress"]["message"]
    assert stored_bytes(message) <= limits.PROGRESS_MESSAGE_STORED_BYTES
    assert message.endswith("…")


@pytest.mark.parametrize("path", ["/progress", "/questions/deploy"])
async def test_a_body_is_not_read_beyond_all_limits(path: str, pod: PodClient) -> None:
    said = await pod.put(path, b"x" * (MAX_BODY_BYTES + 1))

    assert said.status == 413
    assert all(str(number) in said.body["detail"] for number in (MAX_BODY_BYTES, MAX_BODY_BYTES + 1))


async def test_a_compressed_body_is_refused(pod: PodClient) -> None:
    assert (await pod.put("/progress", b"x", **{"Content-Encoding": "gzip"})).status == 415


async def test_what_is_not_there_is_said_to_be_so(pod: PodClient) -> None:
    elsewhere = await pod.get("/nothing")
    wrong = await pod.send("DELETE", "/result")

    assert (elsewhere.status, elsewhere.headers["Content-Type"]) == (404, "application/problem+json")
    assert (wrong.status, wrong.headers["Allow"]) == (405, "POST, PUT")
