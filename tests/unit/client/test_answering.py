"""Questions are answered as they come: of tasks, and before there is one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from mcptasks import (
    FORMS,
    Answering,
    InputRequired,
    InputRequiredTask,
    InvalidAnswerError,
    NotFinishedError,
    Question,
    RequestError,
    TaskHandle,
    TasksClient,
    ToolResult,
    UnknownTaskError,
    call_and_answer,
    questions_of,
    wait_and_answer,
)
from mcptasks.models import CompletedTask
from mcptasks.testing import FakeServer, FakeTask, FakeTool, completed, drop, form, state, tool_result

SURE = {"sure": {"type": "boolean"}}
YES = {"action": "accept", "content": {"sure": True}}
NO = {"action": "decline"}


def asking(*keys: str) -> dict[str, Any]:
    return state("input_required", inputRequests={key: form(f"{key}?", **SURE) for key in keys}, pollIntervalMs=20)


class Person:
    """Answers in turn, and remembers what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str | None]] = []
        self.dropped: list[str] = []

    async def __call__(self, question: Question, refusal: str | None) -> Any:
        self.asked.append((question.key, refusal))
        answer = self.answers.pop(0) if self.answers else None
        return await answer if isinstance(answer, Awaitable) else answer

    def answering(self, **more: Any) -> Answering:
        return Answering(answerer=self, on_dropped=lambda question: self.dropped.append(question.key), **more)


@pytest.fixture
async def able(server: FakeServer) -> AsyncIterator[TasksClient]:
    """A client that declares that it can show forms."""
    async with TasksClient(server.url, capabilities=FORMS) as client:
        yield client


Handles = Callable[..., TaskHandle]


@pytest.fixture
def asked(able: TasksClient, server: FakeServer) -> Handles:
    """Makes a task that goes through its states."""

    def make(*states: dict[str, Any], **more: Any) -> TaskHandle:
        server.tasks["mt-1"] = FakeTask(states=list(states), **more)
        return able.task("mt-1")

    return make


async def test_each_question_of_a_task_is_answered_in_its_turn(asked: Handles, server: FakeServer) -> None:
    person = Person(YES, NO)

    task = await wait_and_answer(asked(asking("a", "b"), completed("done")), person.answering())

    assert isinstance(task, CompletedTask)
    assert server.tasks["mt-1"].answers == {"a": YES, "b": NO}
    assert person.asked == [("a", None), ("b", None)]
    meta = server.params("tasks/get")[0]["_meta"]
    assert meta["io.modelcontextprotocol/clientCapabilities"]["elicitation"] == {"form": {}}


async def test_a_question_asked_again_under_a_new_key_is_a_new_one(asked: Handles, server: FakeServer) -> None:
    person = Person(YES, YES)

    await wait_and_answer(asked(asking("a"), asking("a-2"), completed("done")), person.answering())

    assert list(server.tasks["mt-1"].answers) == ["a", "a-2"]


async def test_what_nobody_answers_ends_the_wait_with_the_question(asked: Handles, server: FakeServer) -> None:
    person = Person(YES)

    task = await wait_and_answer(asked(asking("a", "b"), completed("done")), person.answering())

    assert isinstance(task, InputRequiredTask)
    assert list(questions_of(task)) == ["b"]


async def test_what_nobody_answers_may_be_left_to_others(asked: Handles, server: FakeServer) -> None:
    handle = asked(asking("a"), completed("done"))
    waiting = asyncio.create_task(wait_and_answer(handle, Person().answering(leaves=True)))
    await server.until_asked("tasks/get")

    server.tasks["mt-1"].answers["a"] = YES

    assert isinstance(await waiting, CompletedTask)
    assert "tasks/update" not in server.methods()


async def test_an_answer_that_the_server_refuses_is_asked_for_again_with_its_reason(
    asked: Handles, server: FakeServer
) -> None:
    why = "Invalid params: the answer to `a` is not what was asked for: /content/sure: is wrong"
    person = Person(YES, NO)

    await wait_and_answer(asked(asking("a"), completed("done"), refusals=[why]), person.answering())

    assert person.asked == [("a", None), ("a", why)]
    assert server.tasks["mt-1"].answers == {"a": NO}


async def test_a_refused_answer_without_a_better_one_is_an_error(asked: Handles) -> None:
    with pytest.raises(InvalidAnswerError, match="is wrong"):
        await wait_and_answer(asked(asking("a"), refusals=["it is wrong"]), Person(YES).answering())


async def test_an_answer_to_a_task_that_is_gone_is_not_taken_for_a_wrong_one(
    asked: Handles, server: FakeServer
) -> None:
    async def later() -> Any:
        server.tasks.clear()
        return YES

    with pytest.raises(UnknownTaskError, match="not found"):
        await wait_and_answer(asked(asking("a")), Person(later()).answering())


async def test_an_answer_is_sent_again_where_it_may_have_been_lost(asked: Handles, server: FakeServer) -> None:
    async def later() -> Any:
        server.broken = [drop]
        return YES

    await wait_and_answer(asked(asking("a"), completed("done")), Person(later()).answering(sleep=only_once()))

    assert server.tasks["mt-1"].answers == {"a": YES}


def only_once() -> Callable[[float], Awaitable[None]]:
    """A sleep without end: nobody looks meanwhile whether the question is open."""

    async def sleep(_: float) -> None:
        await asyncio.Event().wait()

    return sleep


async def test_a_question_that_somebody_else_answers_meanwhile_is_dropped(asked: Handles, server: FakeServer) -> None:
    stopped = asyncio.Event()

    async def thinks() -> Any:
        server.tasks["mt-1"].answers["a"] = NO
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    person = Person(thinks())
    task = await wait_and_answer(asked(asking("a"), completed("done")), person.answering())

    assert isinstance(task, CompletedTask)
    assert stopped.is_set()
    assert person.dropped == ["a"]
    assert "tasks/update" not in server.methods()


async def test_a_server_that_is_away_while_somebody_thinks_closes_nothing(asked: Handles, server: FakeServer) -> None:
    looked = asyncio.Event()

    async def thinks() -> Any:
        server.broken = [drop, drop]
        await looked.wait()
        return YES

    async def sleep(_: float) -> None:
        await asyncio.sleep(0.01)
        if not server.broken:
            looked.set()

    person = Person(thinks())
    await wait_and_answer(asked(asking("a"), completed("done")), person.answering(sleep=sleep))

    assert (person.dropped, server.tasks["mt-1"].answers) == ([], {"a": YES})


async def test_the_time_to_wait_counts_while_somebody_thinks(asked: Handles) -> None:
    with pytest.raises(NotFinishedError):
        await wait_and_answer(asked(asking("a")), Person(asyncio.Event().wait()).answering(), timeout_seconds=0.05)


async def test_what_is_no_form_is_not_answered(asked: Handles) -> None:
    requests = {
        "roots": {"method": "roots/list"},
        "page": {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": "https://x"}},
        "odd": 3,
    }
    person = Person(YES)

    task = await wait_and_answer(asked(state("input_required", inputRequests=requests)), person.answering())

    assert isinstance(task, InputRequiredTask)
    assert (questions_of(task), person.asked) == ({}, [])


async def test_a_call_is_repeated_as_it_was_with_the_answers(able: TasksClient, server: FakeServer) -> None:
    schema = {"type": "object", "properties": {"who": {"type": "string", "x-mcp-header": "who"}}}
    first = {"a": form(**SURE), "b": form(**SURE)}
    server.tools["ask"] = FakeTool(schema=schema, asks_first=first, result=tool_result("done"))
    arguments = '{"who": "anna", "n": 1.0}'

    result = await call_and_answer(able, "ask", arguments, Person(YES, NO).answering())

    assert isinstance(result, ToolResult)
    calls = [seen for seen in server.seen if seen.method == "tools/call"]
    assert calls[-1].params["inputResponses"] == {"a": YES, "b": NO}
    assert f'"arguments": {arguments}' in calls[-1].text
    assert calls[-1].headers["Mcp-Param-who"] == "anna"


async def test_an_answer_before_the_task_that_is_refused_is_asked_for_again(
    able: TasksClient, server: FakeServer
) -> None:
    server.tools["ask"] = FakeTool(asks_first={"a": form(**SURE)}, states=[completed("done")], refusals=["it is wrong"])
    person = Person(NO, YES)

    handle = await call_and_answer(able, "ask", {}, person.answering())

    assert isinstance(handle, TaskHandle)
    assert person.asked == [("a", None), ("a", "it is wrong")]


async def test_a_call_whose_questions_nobody_answers_starts_nothing(able: TasksClient, server: FakeServer) -> None:
    server.tools["ask"] = FakeTool(asks_first={"a": form(**SURE)}, refusals=["it is wrong"])

    assert isinstance(await call_and_answer(able, "ask", {}, Person().answering()), InputRequired)
    with pytest.raises(RequestError, match="it is wrong"):
        await call_and_answer(able, "ask", {}, Person(YES).answering())
