"""One feed a task, however many listen; its notifications are made once."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from mcptasks_crds.task import McpTask
from mcptasks_devcluster.eventually import eventually
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.modern.feeds import Feeds
from mcptasks_server.modern.notifications import LARGEST_KEPT, MOST_KEPT, TaskNotifications, task_head
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import new_task, over


class Told:
    """A listener that keeps what it was told."""

    def __init__(self) -> None:
        self.seen: list[McpTask] = []
        self.ended: list[str] = []
        self.failures: list[BaseException] = []

    def take(self, task: McpTask) -> None:
        self.seen.append(task)

    def take_end(self, task_id: str) -> None:
        self.ended.append(task_id)

    def fail(self, error: BaseException) -> None:
        self.failures.append(error)


class CountingStore(InMemoryTaskStore):
    """Counts reads."""

    reads = 0
    broken: Exception | None = None

    async def get(self, task_id: str, *, caller: object) -> McpTask:
        self.reads += 1
        if self.broken is not None:
            raise self.broken
        return await super().get(task_id, caller=ANONYMOUS)


@pytest.fixture
def tasks() -> CountingStore:
    return CountingStore(clock=lambda: datetime.now(UTC))


async def until_so(what: str, is_so: Callable[[], object]) -> None:
    async def probe() -> bool:
        return bool(is_so())

    await eventually(probe, what=what, timeout_seconds=10)


async def test_a_task_is_read_once_for_each_change_for_all_who_listen(tasks: CountingStore) -> None:
    task_id = (await tasks.create(new_task(), caller=ANONYMOUS)).metadata.name
    feeds, listeners = Feeds(), [Told() for _ in range(50)]
    contexts = [feeds.listening(each, [task_id], tasks=tasks, caller=ANONYMOUS) for each in listeners]
    for context in contexts:
        context.__enter__()
    await until_so("all are told", lambda: all(len(each.seen) == 1 for each in listeners))
    await tasks.write_status(task_id, over())
    await until_so("all are told the end", lambda: all(each.ended == [task_id] for each in listeners))

    assert (tasks.reads, len(feeds), len(tasks.watches)) == (2, 1, 0)
    late = Told()
    with feeds.listening(late, [task_id], tasks=tasks, caller=ANONYMOUS):
        await until_so("a late one is told too", lambda: late.ended == [task_id])
        for context in contexts:
            context.__exit__(None, None, None)
    assert len(feeds) == 0


async def test_whoever_has_left_is_told_nothing_more_and_the_last_one_ends_the_feed(tasks: CountingStore) -> None:
    task_id = (await tasks.create(new_task(), caller=ANONYMOUS)).metadata.name
    feeds, gone, there = Feeds(), Told(), Told()
    with feeds.listening(there, [task_id], tasks=tasks, caller=ANONYMOUS):
        with feeds.listening(gone, [task_id], tasks=tasks, caller=ANONYMOUS):
            await until_so("both are told", lambda: gone.seen and there.seen)
        await tasks.cancel(task_id, caller=ANONYMOUS)
        await until_so("the other one is told", lambda: len(there.seen) == 2)

    assert len(gone.seen) == 1
    assert len(feeds) == 0
    await until_so("nothing is watched", lambda: len(tasks.watches) == 0)


async def test_an_unexpected_failure_is_told_to_all_who_listen(tasks: CountingStore) -> None:
    task_id = (await tasks.create(new_task(), caller=ANONYMOUS)).metadata.name
    feeds, told = Feeds(), Told()
    tasks.broken = ZeroDivisionError("a bug")
    with feeds.listening(told, [task_id], tasks=tasks, caller=ANONYMOUS):
        await until_so("the failure is told", lambda: told.failures)

    assert [type(each) for each in told.failures] == [ZeroDivisionError]


async def test_a_notification_is_made_once_for_a_version_and_an_ability(tasks: CountingStore) -> None:
    task = await tasks.create(new_task(), caller=ANONYMOUS)
    notifications = TaskNotifications()

    tails = [notifications.tail_of(task, elicitation=each) for each in (True, True, False, False)]
    changed = await tasks.detach(task.metadata.name, caller=ANONYMOUS)

    assert tails[0] is tails[1]
    assert tails[2] is tails[3]
    assert notifications.tail_of(changed, elicitation=True) is not tails[0]
    assert notifications.tail_of(changed, elicitation=True) == tails[0]
    assert task_head("7") == (
        b'{"jsonrpc":"2.0","method":"notifications/tasks","params":'
        b'{"_meta":{"io.modelcontextprotocol/subscriptionId":7}'
    )


async def test_what_is_kept_of_notifications_is_bounded(tasks: CountingStore) -> None:
    notifications = TaskNotifications()
    for _ in range(MOST_KEPT + 5):
        notifications.tail_of(await tasks.create(new_task(), caller=ANONYMOUS), elicitation=True)
    assert len(notifications) == MOST_KEPT

    large = await tasks.create(new_task(), caller=ANONYMOUS)
    text = '{"content":[{"type":"text","text":"' + "x" * LARGEST_KEPT + '"}]}'
    await tasks.write_status(large.metadata.name, over() | {"result": {"inline": text}})
    tail = notifications.tail_of(await tasks.get(large.metadata.name, caller=ANONYMOUS), elicitation=True)

    assert len(notifications) == MOST_KEPT
    assert len(tail) > LARGEST_KEPT
