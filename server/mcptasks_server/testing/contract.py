"""What every `TaskStore` promises, as tests: a test module subclasses `TaskStoreContract` and gives it its fixtures."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import pytest

from mcptasks_crds.asking import open_questions
from mcptasks_crds.names import HELD_ANNOTATION, is_task_id
from mcptasks_crds.phases import Phase
from mcptasks_crds.task import McpTask
from mcptasks_crds.times import format_time
from mcptasks_server.caller import ANONYMOUS, Caller
from mcptasks_server.errors import LimitReachedError
from mcptasks_server.projection import result_text
from mcptasks_server.tasks import NewTask, TaskNotFoundError, TaskStore, held_at

STRANGER: Final = Caller(name="stranger")
RESULT: Final = '{"content": [{"type": "text", "text": "1.0"}], "structuredContent": {"n": 12345678901234567890123}}'
ACCEPT: Final = '{"action": "accept", "content": {"yes": true}}'
PATIENCE: Final = 20.0
"""For how long a test waits for what must come, in seconds."""
DECLINE: Final = '{"action": "decline"}'


class Hand(Protocol):
    """The operator's and the pod's hand: it writes a task's status."""

    async def __call__(self, task_id: str, patch: Mapping[str, Any]) -> None:
        """Merge a patch into a task's status, and return once a `get` may be expected to show it."""
        ...


def new_task(*, arguments: str = '{"n": 1.0}', **fields: Any) -> NewTask:
    """A call of a tool."""
    return NewTask(
        tool="add",
        tool_uid="0b7c1f0e-0000-4000-8000-000000000001",
        tool_generation=3,
        input_schema={"type": "object", "properties": {"n": {"type": "number"}}},
        arguments=arguments,
        **{"retention_seconds": 600, "poll_interval_ms": 700, **fields},
    )


def questions(*keys: str) -> dict[str, Any]:
    """A report that asks questions."""
    asked = {
        "message": "Sure?",
        "requestedSchema": '{"type":"object","properties":{"yes":{"type":"boolean"}}}',
        "askedAt": format_time(datetime.now(UTC)),
    }
    return {"phase": Phase.INPUT_REQUIRED, "report": {"questions": dict.fromkeys(keys, asked)}}


def over(phase: Phase = Phase.COMPLETED, *, kept_for: timedelta = timedelta(minutes=10)) -> dict[str, Any]:
    """A status that says the task has ended."""
    now = datetime.now(UTC)
    status: dict[str, Any] = {
        "phase": phase,
        "finishedAt": format_time(now),
        "lastUpdatedAt": format_time(now),
        "expiresAt": format_time(now + kept_for),
    }
    return status | ({"result": {"inline": RESULT}} if phase is Phase.COMPLETED else {})


async def until(store: TaskStore, task_id: str, is_so: Callable[[McpTask | None], bool]) -> None:
    """Wait until the store shows a task (None: does not find it) as it is to be."""
    with store.watch([task_id]) as changes:
        async with asyncio.timeout(PATIENCE):
            while True:
                await changes.next()
                try:
                    task = await store.get(task_id, caller=ANONYMOUS)
                except TaskNotFoundError:
                    task = None
                if is_so(task):
                    return


class TaskStoreContract:
    """Subclasses give the fixtures `store` and `hand`, both of the same tasks."""

    @pytest.mark.requirement("ext-tasks/create-durable")
    async def test_a_created_task_is_found_at_once_as_it_was_asked_for(self, store: TaskStore) -> None:
        created = await store.create(new_task(), caller=ANONYMOUS)
        found = await store.get(created.metadata.name, caller=ANONYMOUS)

        assert is_task_id(created.metadata.name)
        for task in (created, found):
            assert task.spec.tool.name == "add"
            assert task.spec.caller == "anonymous"
            assert (task.spec.retention_seconds, task.spec.poll_interval_ms) == (600, 700)
            assert task.status.phase is None

    async def test_two_calls_are_two_tasks(self, store: TaskStore) -> None:
        ids = {(await store.create(new_task(), caller=ANONYMOUS)).metadata.name for _ in range(3)}

        assert len(ids) == 3

    async def test_large_arguments_are_taken(self, store: TaskStore) -> None:
        created = await store.create(new_task(arguments='{"text": "' + "x" * 100_000 + '"}'), caller=ANONYMOUS)

        assert (await store.get(created.metadata.name, caller=ANONYMOUS)).spec.arguments is None

    async def test_a_call_beyond_its_tools_queue_makes_nothing_until_there_is_room(
        self, store: TaskStore, hand: Hand
    ) -> None:
        limited: dict[str, Any] = {"running_limit": 1, "queued_limit": 1}
        made = [await store.create(new_task(**limited), caller=ANONYMOUS) for _ in range(2)]

        with pytest.raises(LimitReachedError) as refused:
            await store.create(new_task(**limited), caller=STRANGER)
        assert await store.list(caller=STRANGER) == ()
        assert refused.value.data == {"reason": "QueueFull", "limit": "limits.queued"}

        await hand(made[0].metadata.name, over())
        await store.create(new_task(**limited), caller=STRANGER)
        assert len(await store.list(caller=STRANGER)) == 1

    @pytest.mark.parametrize(
        "task_id", ["mt-" + "a" * 32, "mt-short", "", "../mcptools/add", "MT-" + "A" * 32, "ä" * 40]
    )
    async def test_what_is_no_task_is_not_found(self, store: TaskStore, task_id: str) -> None:
        for ask in _everything(store, task_id, ANONYMOUS):
            with pytest.raises(TaskNotFoundError):
                await ask()

    @pytest.mark.requirement("ext-tasks/auth-binding")
    async def test_somebody_elses_task_is_not_found_and_not_touched(self, store: TaskStore) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name

        for ask in _everything(store, task_id, STRANGER):
            with pytest.raises(TaskNotFoundError):
                await ask()

        assert not (await store.get(task_id, caller=ANONYMOUS)).spec.cancel_requested

    async def test_what_the_operator_writes_is_shown(self, store: TaskStore, hand: Hand) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name

        await hand(task_id, {"phase": "Running", "message": "running"})
        running = await store.get(task_id, caller=ANONYMOUS)
        await hand(task_id, over())
        ended = await store.get(task_id, caller=ANONYMOUS)

        assert (running.status.phase, running.status.message) == (Phase.RUNNING, "running")
        assert (ended.status.phase, result_text(ended)) == (Phase.COMPLETED, RESULT)

    async def test_a_large_result_is_shown_whole(self, store: TaskStore, hand: Hand) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name
        large = '{"content":[{"type":"text","text":"' + "ä" * 50_000 + '"}]}'

        await hand(task_id, over() | {"result": {"inline": large}})

        assert result_text(await store.get(task_id, caller=ANONYMOUS)) == large

    async def test_a_cancel_is_shown_at_once_and_may_be_repeated(self, store: TaskStore) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name

        await store.cancel(task_id, caller=ANONYMOUS)
        await store.cancel(task_id, caller=ANONYMOUS)

        assert (await store.get(task_id, caller=ANONYMOUS)).spec.cancel_requested

    @pytest.mark.requirement("ext-tasks/status-machine", "ext-tasks/cancel-cooperative")
    async def test_a_task_that_is_over_stays_as_it_is(self, store: TaskStore, hand: Hand) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name
        await hand(task_id, questions("q"))
        await hand(task_id, over())

        await store.cancel(task_id, caller=ANONYMOUS)
        await store.answer(task_id, {"q": ACCEPT}, caller=ANONYMOUS)

        task = await store.get(task_id, caller=ANONYMOUS)
        assert (task.spec.cancel_requested, dict(task.spec.answers)) == (False, {})

    @pytest.mark.requirement("ext-tasks/keys-not-reused", "ext-tasks/update-partial")
    async def test_an_answered_question_is_never_asked_again(self, store: TaskStore, hand: Hand) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name
        await hand(task_id, questions("one", "two"))

        await store.answer(task_id, {"one": ACCEPT, "never-asked": ACCEPT}, caller=ANONYMOUS)

        task = await store.get(task_id, caller=ANONYMOUS)
        assert set(open_questions(task)) == {"two"}
        assert _answers(task) == {"one": (ACCEPT, "anonymous")}

    @pytest.mark.requirement("ext-tasks/update-ignores")
    async def test_the_first_answer_stays_and_the_rest_of_a_late_one_counts(self, store: TaskStore, hand: Hand) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name
        await hand(task_id, questions("one", "two"))

        await store.answer(task_id, {"one": ACCEPT}, caller=ANONYMOUS)
        await store.answer(task_id, {"one": DECLINE, "two": DECLINE}, caller=ANONYMOUS)

        task = await store.get(task_id, caller=ANONYMOUS)
        assert _answers(task) == {"one": (ACCEPT, "anonymous"), "two": (DECLINE, "anonymous")}

    async def test_a_task_is_not_found_once_its_time_is_over(self, store: TaskStore, hand: Hand) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name
        await hand(task_id, over(kept_for=timedelta(seconds=-1)))

        for ask in _everything(store, task_id, ANONYMOUS):
            with pytest.raises(TaskNotFoundError):
                await ask()

    @pytest.mark.requirement("ext-tasks/kept-until-ttl")
    async def test_a_task_whose_id_is_handed_out_says_so_everywhere(self, store: TaskStore) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name

        first = await store.detach(task_id, caller=ANONYMOUS)
        again = await store.detach(task_id, caller=ANONYMOUS)

        shown = await store.get(task_id, caller=ANONYMOUS)
        assert [task.spec.detached for task in (first, again, shown)] == [True, True, True]

    async def test_a_call_that_is_held_again_says_since_when(self, store: TaskStore) -> None:
        created = await store.create(new_task(), caller=ANONYMOUS)
        assert HELD_ANNOTATION not in created.metadata.annotations

        held = await store.hold_again(created.metadata.name, at=datetime.now(UTC), caller=ANONYMOUS)

        shown = await store.get(created.metadata.name, caller=ANONYMOUS)
        assert held.metadata.annotations[HELD_ANNOTATION] == shown.metadata.annotations[HELD_ANNOTATION]
        assert shown.metadata.annotations[HELD_ANNOTATION].endswith("Z")

    async def test_a_cut_call_is_abandoned_unless_it_was_handed_out_or_taken_up_again(self, store: TaskStore) -> None:
        cut, handed_out, taken_up = [(await store.create(new_task(), caller=ANONYMOUS)).metadata.name for _ in range(3)]
        await store.detach(handed_out, caller=ANONYMOUS)
        held = await store.hold_again(taken_up, at=datetime.now(UTC), caller=ANONYMOUS)

        for task_id in (cut, handed_out, taken_up, "mt-" + "a" * 32):
            await store.abandon(task_id, held_at={None}, caller=ANONYMOUS)
        before = await store.get(taken_up, caller=ANONYMOUS)
        await store.abandon(taken_up, held_at={held_at(held)}, caller=ANONYMOUS)

        assert (await store.get(cut, caller=ANONYMOUS)).spec.cancel_requested
        assert not (await store.get(handed_out, caller=ANONYMOUS)).spec.cancel_requested
        assert not before.spec.cancel_requested
        assert (await store.get(taken_up, caller=ANONYMOUS)).spec.cancel_requested

    async def test_a_list_shows_a_callers_own_tasks_the_newest_first(self, store: TaskStore, hand: Hand) -> None:
        created = [(await store.create(new_task(), caller=ANONYMOUS)).metadata.name for _ in range(3)]
        foreign = (await store.create(new_task(), caller=STRANGER)).metadata.name
        await hand(created[0], over(kept_for=timedelta(seconds=-1)))
        await until(store, created[0], lambda task: task is None)
        await store.cancel(created[1], caller=ANONYMOUS)

        own, others = await store.list(caller=ANONYMOUS), await store.list(caller=STRANGER)

        assert {task.metadata.name for task in own} == set(created[1:])
        assert [task.metadata.creation_timestamp for task in own] == sorted(
            (task.metadata.creation_timestamp for task in own if task.metadata.creation_timestamp), reverse=True
        )
        assert [task.metadata.name for task in others] == [foreign]
        assert next(task for task in own if task.metadata.name == created[1]).spec.cancel_requested

    async def test_a_watch_tells_of_each_task_at_first_and_of_its_changes_then(
        self, store: TaskStore, hand: Hand
    ) -> None:
        one, two, other = [(await store.create(new_task(), caller=ANONYMOUS)).metadata.name for _ in range(3)]

        with store.watch([one, two]) as changes:
            async with asyncio.timeout(PATIENCE):
                assert await changes.next() == {one, two}
                await store.cancel(other, caller=ANONYMOUS)
                await hand(two, over())
                assert await changes.next() == {two}

    async def test_a_request_is_cancelled_by_its_key_unless_its_tasks_id_was_handed_out(self, store: TaskStore) -> None:
        held, handed_out, foreign = [
            (await store.create(new_task(request_key=key, detached=detached), caller=caller)).metadata.name
            for key, detached, caller in (("k1", False, ANONYMOUS), ("k2", True, ANONYMOUS), ("k3", False, STRANGER))
        ]

        for key in ("k1", "k2", "k3", "never-made"):
            await store.cancel_request(key, caller=ANONYMOUS)

        assert (await store.get(held, caller=ANONYMOUS)).spec.cancel_requested
        assert not (await store.get(handed_out, caller=ANONYMOUS)).spec.cancel_requested
        assert not (await store.get(foreign, caller=STRANGER)).spec.cancel_requested

    async def test_a_request_that_is_cancelled_before_its_task_is_there_is_cancelled_all_the_same(
        self, store: TaskStore
    ) -> None:
        await store.cancel_request("early", caller=ANONYMOUS)

        created = (await store.create(new_task(request_key="early"), caller=ANONYMOUS)).metadata.name

        await until(store, created, lambda task: task is not None and task.spec.cancel_requested)

    async def test_a_living_task_is_found_however_old_its_lease_is(self, store: TaskStore, hand: Hand) -> None:
        task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name

        await hand(task_id, {"phase": "Running", "expiresAt": "2026-01-01T00:00:00.000Z"})

        assert (await store.get(task_id, caller=ANONYMOUS)).status.phase is Phase.RUNNING


def _everything(store: TaskStore, task_id: str, caller: Caller) -> tuple[Callable[[], Awaitable[object]], ...]:
    return (
        lambda: store.get(task_id, caller=caller),
        lambda: store.answer(task_id, {"q": ACCEPT}, caller=caller),
        lambda: store.cancel(task_id, caller=caller),
        lambda: store.detach(task_id, caller=caller),
        lambda: store.hold_again(task_id, at=datetime.now(UTC), caller=caller),
    )


def _answers(task: McpTask) -> dict[str, tuple[str, str | None]]:
    return {key: (answer.response, answer.by) for key, answer in task.spec.answers.items()}
