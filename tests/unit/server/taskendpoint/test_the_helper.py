"""`mcptasks.job`, which tools' programs use, against the endpoint itself; and its stand-in, which answers the same."""

import asyncio
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcptasks.job import (
    OvertakenError,
    RefusedError,
    Task,
    TaskCancelled,
    TooLargeError,
    audio,
    choice,
    file,
    image,
    link,
)
from mcptasks.job.running import run_tool
from mcptasks.job.standin import Desk
from mcptasks_crds.asking import open_questions
from mcptasks_crds.names import TASKS_PATH
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.largeresults import whole
from mcptasks_server.projection import result_text
from mcptasks_server.testing.pods import InMemoryReports, Issuer, PodClient
from mcptasks_server.testing.results import InMemoryResults

ACCEPT = {"response": '{"action":"accept","content":{"answer":"red"}}', "by": "alice"}


@pytest.fixture
def task(url: str, task_id: str, issuer: Issuer, tmp_path: Path) -> Task:
    """The task, as its program has it."""
    (tmp_path / "token").write_text(issuer.token(task_id))
    return Task({"MCPTASK_URL": f"{url}{TASKS_PATH}/{task_id}", "MCPTASK_TOKEN_FILE": str(tmp_path / "token")})


def in_thread(work: Callable[[], Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(asyncio.to_thread(work))


async def test_progress_a_question_parts_and_a_result(task: Task, store: InMemoryReports, task_id: str) -> None:
    def main() -> str:
        assert task.arguments == {}
        list(task.track(range(3), "reading"))
        colour = task.ask("Which colour?", choice(["red", "green"]), key="colour", expiry_seconds=60)
        parts = [image(b"GIF89a"), audio(b"OggS"), file(b"a,b", name="a.csv"), link("https://x/y", name="y")]
        task.add("first", *parts)
        task.complete("done", structured={"n": 1.0})
        return colour

    running = in_thread(main)
    asked = await eventually(lambda: _asked(store, task_id), what="it asks")
    store.change(task_id, spec={"answers": {"colour": ACCEPT}})

    assert await running == "red"
    assert asked["message"] == "Which colour?"
    report = store.objects[task_id]["status"]["report"]
    assert report["progress"]["progress"] == 3
    assert len(json.loads(report["content"])) == 5
    assert json.loads(report["result"])["structuredContent"] == {"n": 1.0}


async def _asked(store: InMemoryReports, task_id: str) -> Any:
    questions = store.objects[task_id]["status"].get("report", {}).get("questions", {})
    return questions.get("colour")


async def test_a_task_that_is_being_stopped_stops_its_program(task: Task, store: InMemoryReports, task_id: str) -> None:
    store.change(task_id, spec={"cancelRequested": True})

    def ask() -> None:
        task.ask("Which colour?", choice(["red"]))

    with pytest.raises(TaskCancelled):
        await in_thread(ask)
    assert task.cancelled
    assert not open_questions(store.task(task_id))


async def test_a_cancel_ends_the_wait_for_an_answer(task: Task, store: InMemoryReports, task_id: str) -> None:
    running = in_thread(lambda: task.ask("Which colour?", choice(["red"]), key="colour"))
    await eventually(lambda: _asked(store, task_id), what="it asks")
    store.change(task_id, spec={"cancelRequested": True})

    with pytest.raises(TaskCancelled):
        await running


async def test_a_task_that_is_over_stops_its_program(task: Task, store: InMemoryReports, task_id: str) -> None:
    store.change(task_id, status={"phase": "Completed"})

    with pytest.raises(TaskCancelled):
        await in_thread(lambda: task.ask("Which colour?", choice(["red"])))
    with pytest.raises(OvertakenError):
        await in_thread(lambda: task.complete("late"))


async def test_what_is_refused_is_refused_in_words(task: Task) -> None:
    with pytest.raises(TooLargeError, match="at most"):
        await in_thread(lambda: task.complete("x" * 1_500_000))
    with pytest.raises(RefusedError, match="key: must match"):
        await in_thread(lambda: task.ask("Which?", choice(["red"]), key="no key"))
    with pytest.raises(TooLargeError, match="message"):
        await in_thread(lambda: task.ask("x" * 5000, choice(["red"])))


async def test_large_results_are_given_like_any_other(
    task: Task, store: InMemoryReports, results: InMemoryResults, task_id: str
) -> None:
    rows = {"rows": [{"n": number, "words": "é" * 20} for number in range(12_000)]}

    def main() -> None:
        task.add("x" * 200_000)
        task.complete(structured=rows)

    await in_thread(main)
    store.change(task_id, status={"phase": "Completed", "result": {"from": "report"}})
    text = result_text(await whole(store.task(task_id), results))

    assert text is not None
    assert json.loads(text)["structuredContent"] == rows
    assert json.loads(text)["content"][1]["text"].startswith("(too large to be repeated")


async def test_of_a_result_that_is_too_large_a_tool_that_is_run_shows_both_ends(
    task: Task, store: InMemoryReports, task_id: str
) -> None:
    assert await in_thread(lambda: run_tool(task, lambda: "begin" + "x" * 1_200_000 + "end")) == 1
    report = store.objects[task_id]["status"]["report"]
    words = json.loads(report["result"])["content"][0]["text"]

    assert json.loads(report["result"])["isError"] is True
    assert all(each in words for each in ("1048576", "12000", "beginx", "xend"))
    assert report["tooLarge"]["head"].startswith("beginx")
    assert "parts before" not in words


async def test_of_a_structure_that_is_too_large_both_ends_of_its_json_are_shown(
    task: Task, store: InMemoryReports, task_id: str
) -> None:
    assert await in_thread(lambda: run_tool(task, lambda: {"first": "x" * 1_200_000, "last": "end"})) == 1
    report = store.objects[task_id]["status"]["report"]
    words = json.loads(report["result"])["content"][0]["text"]

    assert '{"first": "xxx' in words
    assert words.endswith('xxx", "last": "end"}')
    assert "see the structured content" not in words


async def test_texts_that_are_no_text_arrive_as_what_can_be_sent(
    task: Task, store: InMemoryReports, task_id: str
) -> None:
    def main() -> None:
        task.progress(1, message="half \ud800")
        task.complete("half \ud800", structured={"big": 2**70, "none": None, "one": 1.0})

    await in_thread(main)

    report = store.objects[task_id]["status"]["report"]
    assert report["progress"]["message"] == "half \ufffd"
    assert '"big":1180591620717411303424,"none":null,"one":1.0' in report["result"]


FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
QUESTION = {"message": "Sure?", "requestedSchema": FORM}
RESULT = {"content": [{"type": "text", "text": "done"}]}
TALK: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("PUT", "/progress", {"progress": 1, "total": 3}),
    ("POST", "/progress", {"progress": 2}),
    ("PUT", "/progress", {"progress": 1}),
    ("PUT", "/progress", {"progress": -1}),
    ("PUT", "/progress", {"progress": 4, "total": 3}),
    ("PUT", "/progress", {"progress": "1"}),
    ("PUT", "/progress", {"progress": True}),
    ("PUT", "/progress", {}),
    ("PUT", "/progress?wait=5", {"progress": 2, "total": 3}),
    ("PUT", "/progress?wait=5", {"progress": 1}),
    ("PUT", "/progress?wait=61", {"progress": 3}),
    ("PUT", "/progress?wait=soon", {"progress": 3}),
    ("PUT", "/progress", {"progress": 1, "totl": 2}),
    ("PUT", "/progress", b"{"),
    ("PUT", "/progress", b'{"progress": NaN}'),
    ("PUT", "/progress", []),
    ("GET", "/questions/q", None),
    ("PUT", "/questions/q", QUESTION),
    ("PUT", "/questions/q", QUESTION),
    ("PUT", "/questions/q", {**QUESTION, "message": "Really?"}),
    ("GET", "/questions/q", None),
    ("GET", "/questions/q?wait=61", None),
    ("GET", "/questions/q?wait=soon", None),
    ("PUT", "/questions/no%20key", QUESTION),
    ("PUT", "/questions/r", {"message": "Sure?"}),
    ("PUT", "/questions/r", {"message": 1, "requestedSchema": FORM}),
    ("PUT", "/questions/r", {**QUESTION, "requestedSchema": {**FORM, "required": ["other"]}}),
    ("PUT", "/questions/r", {**QUESTION, "more": 1}),
    ("POST", "/content", {"content": [{"type": "text", "text": "first"}]}),
    ("POST", "/content", {"content": []}),
    ("POST", "/content", {"content": [{"type": "film"}]}),
    ("PUT", "/nothing", {}),
    ("PUT", "/result", {"content": "done"}),
    ("PUT", "/result", {**RESULT, "structuredContent": [1]}),
    ("PUT", "/result", {**RESULT, "isError": "no"}),
    ("PUT", "/result", RESULT),
    ("PUT", "/result", RESULT),
    ("PUT", "/result", {"content": []}),
]


async def test_the_stand_in_answers_as_the_endpoint_does(pod: PodClient, task_id: str) -> None:
    desk = Desk(task_id=task_id, tool="train", arguments="{}")

    for method, path, body in TALK:
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {desk.token}", "idempotency-key": secrets.token_hex()}
        by_the_stand_in = desk.handle(method, f"{TASKS_PATH}/{task_id}{path}", headers, raw)
        by_the_endpoint = await pod.send(method, path, data=raw)

        assert by_the_stand_in.status == by_the_endpoint.status, (method, path, body)
        if body is None and by_the_endpoint.status == 200:
            assert json.loads(by_the_stand_in.body).keys() == by_the_endpoint.body.keys()


@pytest.mark.parametrize(
    "said", ["{}", "3", "{", '{"progress": -1}', '{"progress": 3, "totl": 4}', '{"progress": 1e999}']
)
async def test_both_refuse_a_result_whose_progress_is_none(pod: PodClient, task_id: str, said: str) -> None:
    desk = Desk(task_id=task_id, tool="train", arguments="{}")
    headers = {"authorization": f"Bearer {desk.token}", "mcptask-progress": said}

    by_the_stand_in = desk.handle("PUT", f"{TASKS_PATH}/{task_id}/result", headers, json.dumps(RESULT).encode())
    by_the_endpoint = await pod.put("/result", RESULT, **{"Mcptask-Progress": said})

    assert (by_the_stand_in.status, by_the_endpoint.status) == (422, 422)
    assert by_the_endpoint.body["field"] == json.loads(by_the_stand_in.body)["field"] == "Mcptask-Progress"


async def test_both_put_the_result_together_the_same_way(pod: PodClient, store: InMemoryReports, task_id: str) -> None:
    desk = Desk(task_id=task_id, tool="train", arguments="{}")
    part = {"content": [{"type": "text", "text": "first"}]}
    for method, path, body in (("POST", "/content", part), ("PUT", "/result", RESULT)):
        raw = json.dumps(body).encode()
        desk.handle(method, f"{TASKS_PATH}/{task_id}{path}", {"authorization": f"Bearer {desk.token}"}, raw)
        await pod.send(method, path, data=raw)

    store.change(task_id, status={"result": {"from": "report"}})
    whole = result_text(store.task(task_id))
    assert whole is not None
    assert json.loads(whole) == desk.whole_result
