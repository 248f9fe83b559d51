"""Following a task: time limits and Ctrl-C."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mcptasks.cli.commands import NOBODY
from mcptasks.cli.exits import Exit
from mcptasks.cli.follow import Limits, Outcome, follow, or_interrupt
from mcptasks.cli.interrupts import Interrupts
from mcptasks.client import TasksClient
from mcptasks.errors import McptasksError, UnreachableError
from mcptasks.handle import TaskHandle
from mcptasks.models import CancelledTask, CompletedTask, Task
from mcptasks.testing import FakeServer, FakeTask, completed, drop, state

WORKING = state("working", pollIntervalMs=10)


class Notes:
    """Keeps what was said, and presses Ctrl-C at a note if it is told to."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.presses_at_note: list[Interrupts] = []
        self.presses_at_task: list[Interrupts] = []

    def note(self, text: str) -> None:
        self.notes.append(text)
        if self.presses_at_note:
            self.presses_at_note.pop().press()

    def task(self, task: Task) -> None:
        if self.presses_at_task:
            self.presses_at_task.pop().press()

    def progress(self, progress: object) -> None:
        raise AssertionError("a task has none")

    def retry(self, error: McptasksError) -> None:
        self.notes.append(f"retry: {error}")

    def close(self) -> None:
        pass


@pytest.fixture
async def handle(server: FakeServer) -> AsyncIterator[TaskHandle]:
    """A task that works for ever, followed in real time with short intervals."""
    server.tasks["mt-1"] = FakeTask(states=[WORKING])
    async with TasksClient(server.url) as client:
        yield client.task("mt-1")


@pytest.fixture
def reporter() -> Notes:
    return Notes()


@pytest.fixture
def interrupts() -> Interrupts:
    return Interrupts()


async def run(handle: TaskHandle, reporter: Notes, interrupts: Interrupts, **limits: float) -> Outcome:
    async with asyncio.timeout(10):
        return await follow(handle, answering=NOBODY, reporter=reporter, interrupts=interrupts, limits=Limits(**limits))


async def test_a_task_is_followed_to_its_end(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    server.tasks["mt-1"].states.append(completed("done"))

    outcome = await run(handle, reporter, interrupts)

    assert outcome.exit is Exit.COMPLETED
    assert isinstance(outcome.task, CompletedTask)
    assert reporter.notes == []


async def test_the_first_ctrl_c_lets_go_and_says_how_to_come_back(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    reporter.presses_at_task = [interrupts]

    outcome = await run(handle, reporter, interrupts, second_press_seconds=0.05)

    assert outcome == Outcome(exit=Exit.INTERRUPTED)
    assert "mcptasks wait mt-1" in reporter.notes[0]
    assert "tasks/cancel" not in server.methods()


async def test_the_second_ctrl_c_cancels_and_waits_for_the_end(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    reporter.presses_at_task = [interrupts]
    reporter.presses_at_note = [interrupts]

    outcome = await run(handle, reporter, interrupts, second_press_seconds=5)

    assert server.methods().count("tasks/cancel") == 1
    assert outcome.exit is Exit.CANCELLED
    assert isinstance(outcome.task, CancelledTask)


async def test_the_third_ctrl_c_does_not_wait_for_the_end(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    server.tasks["mt-1"].cancelled_by_request = False
    reporter.presses_at_task = [interrupts]
    reporter.presses_at_note = [interrupts, interrupts]

    outcome = await run(handle, reporter, interrupts, second_press_seconds=5)

    assert server.methods().count("tasks/cancel") == 1
    assert outcome == Outcome(exit=Exit.INTERRUPTED)


async def test_a_task_that_ends_after_the_first_ctrl_c_is_shown_after_all(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    server.tasks["mt-1"].states.append(completed("done"))
    reporter.presses_at_task = [interrupts]

    outcome = await run(handle, reporter, interrupts, second_press_seconds=5)

    assert outcome.exit is Exit.COMPLETED


async def test_the_time_to_wait_may_be_over(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    outcome = await run(handle, reporter, interrupts, timeout_seconds=0.05)

    assert outcome == Outcome(exit=Exit.NOT_FINISHED)
    assert "tasks/cancel" not in server.methods()


async def test_a_task_may_be_cancelled_after_a_while(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    outcome = await run(handle, reporter, interrupts, cancel_after_seconds=0.05)

    assert outcome.exit is Exit.CANCELLED
    assert reporter.notes == ["Cancelling mt-1 after 0.05 s."]


async def test_a_task_that_ends_in_time_is_not_cancelled(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    server.tasks["mt-1"].states.append(completed("done"))

    outcome = await run(handle, reporter, interrupts, cancel_after_seconds=60)

    assert outcome.exit is Exit.COMPLETED
    assert "tasks/cancel" not in server.methods()


async def test_ctrl_c_before_a_planned_cancel_lets_go_too(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    reporter.presses_at_task = [interrupts]

    outcome = await run(handle, reporter, interrupts, cancel_after_seconds=60, second_press_seconds=0.05)

    assert outcome.exit is Exit.INTERRUPTED
    assert "tasks/cancel" not in server.methods()


async def test_a_server_that_is_away_is_told_and_the_task_is_followed_on(
    handle: TaskHandle, server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    server.tasks["mt-1"].states.append(completed("done"))
    server.broken = [drop]

    assert (await run(handle, reporter, interrupts)).exit is Exit.COMPLETED
    assert [note.startswith("retry: ") for note in reporter.notes] == [True]


async def test_a_server_that_stays_away_ends_it_with_the_way_back(
    server: FakeServer, reporter: Notes, interrupts: Interrupts
) -> None:
    server.broken = [drop] * 100
    async with TasksClient(server.url, patience_seconds=0) as client:
        with pytest.raises(UnreachableError):
            await run(client.task("mt-1"), reporter, interrupts)

    assert "mcptasks wait mt-1" in reporter.notes[-1]


async def test_work_that_is_interrupted_is_given_up(interrupts: Interrupts) -> None:
    started = asyncio.Event()
    ended = asyncio.Event()

    async def work() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async def press() -> None:
        await started.wait()
        interrupts.press()

    pressing = asyncio.create_task(press())
    assert await or_interrupt(work(), interrupts) is None
    await pressing
    assert ended.is_set()
