"""The same for coroutines: what waits is awaited, and the event loop goes on meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mcptasks.job import DeclinedError, TaskCancelled, text
from mcptasks.job.aio import AsyncTask
from mcptasks_devcluster.eventually import eventually

ACCEPTED = {"action": "accept", "content": {"answer": "red"}}


@pytest.fixture
def task(bench: Any) -> AsyncTask:
    return AsyncTask(bench.task())


async def numbers() -> AsyncIterator[int]:
    for number in range(3):
        await asyncio.sleep(0)
        yield number


async def test_questions_do_not_hold_the_loop(bench: Any, task: AsyncTask) -> None:
    first, second = (asyncio.create_task(task.ask(f"{key}?", text(), key=key)) for key in ("a", "b"))

    async def both_are_asked() -> bool:
        return len(bench.desk.questions) == 2

    await eventually(both_are_asked, what="both questions are asked", timeout_seconds=20)
    bench.desk.answer("b", ACCEPTED)
    assert await second == "red"
    bench.desk.answer("a", {"action": "decline"})
    with pytest.raises(DeclinedError):
        await first


async def test_who_gives_up_waiting_leaves_nothing_behind(bench: Any, task: AsyncTask) -> None:
    asked = asyncio.create_task(task.ask("Which?", text(), key="k"))

    async def is_asked() -> bool:
        return "k" in bench.desk.questions

    await eventually(is_asked, what="it is asked", timeout_seconds=20)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked

    bench.desk.answer("k", ACCEPTED)
    assert await task.ask("Which?", text(), key="k") == "red"


async def test_everything_else_is_the_same(bench: Any, task: AsyncTask) -> None:
    bench.answers["Sure?"] = {"action": "accept", "content": {"answer": True}}

    assert (task.id, task.tool, task.arguments, task.answers) == ("mt-bench", "bench", {"n": 3}, {})
    assert [number async for number in task.track(numbers(), "counting", total=3)] == [0, 1, 2]
    assert list(task.track("ab")) == ["a", "b"]
    assert await task.confirm("Sure?")
    await task.add("part")
    await task.complete("done")
    assert [part["text"] for part in bench.desk.whole_result["content"]] == ["part", "done"]
    assert bench.desk.progress[-1] == {"progress": 2, "total": 2}


async def test_a_cancel_is_told_at_the_next_call(bench: Any, task: AsyncTask) -> None:
    bench.desk.cancel()

    with pytest.raises(TaskCancelled):
        await task.ask("Which?", text())
    assert task.cancelled


async def test_the_last_progress_goes_with_the_result(bench: Any, task: AsyncTask) -> None:
    bench.desk.refused = {"/progress"}
    task.progress(3, 3, "all of it")
    await task.complete("done")

    assert bench.desk.progress == [{"progress": 3, "total": 3, "message": "all of it"}]
