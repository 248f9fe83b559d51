"""When progress is written: soon, not too often, never backwards, and the last value always."""

import itertools
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.task import Progress
from mcptasks_server.taskendpoint.schedule import (
    INTERVAL_SECONDS,
    Schedule,
)

BUDGET = 5
POD = "pod-1"


def at(value: float, *, pod: str = POD, message: str | None = None) -> Progress:
    """A value of progress."""
    return Progress(progress=value, message=message, pod_uid=pod)


@dataclass(kw_only=True)
class World:
    """A cluster in which writes take no time, and one replica's schedule of them."""

    schedule: Schedule = field(default_factory=lambda: Schedule(budget=BUDGET))
    now: float = 1000.0
    written: list[tuple[float, str, Progress]] = field(default_factory=list)

    def offer(self, task: str, value: float, **more: str) -> None:
        """A pod says how far it is."""
        stands = next((progress for _, name, progress in reversed(self.written) if name == task), None)
        self.schedule.offer(task, at(value, **more), stands=stands, now=self.now)
        self.write()

    def write(self) -> None:
        """Write what is due."""
        for task, progress in self.schedule.due(now=self.now):
            self.written.append((self.now, task, progress))
            self.schedule.noticed(task, progress, now=self.now)
            self.schedule.done(task)

    def run(self, seconds: float) -> None:
        """Let time pass, and write whenever something is due."""
        end = self.now + seconds
        while (moment := self.schedule.next_at(now=self.now)) is not None and moment <= end:
            self.now = max(moment, self.now)
            before = len(self.written)
            self.write()
            assert len(self.written) > before, "what is said to be due is due"
        self.now = end

    def values(self, task: str) -> list[float]:
        """What was written of a task, in order."""
        return [progress.progress for _, name, progress in self.written if name == task]


def test_the_first_value_is_written_at_once() -> None:
    world = World()
    world.offer("a", 1)

    assert world.values("a") == [1]


def test_of_many_values_in_a_second_the_first_and_the_last_are_written() -> None:
    world = World()
    for number in range(1000):
        world.offer("a", number)
        world.now += 0.0005
    world.run(2)

    assert world.values("a") == [0, 999]


def test_a_value_that_falls_is_passed_over_and_another_attempt_begins_anew() -> None:
    world = World()
    world.offer("a", 5)
    world.offer("a", 3)
    world.run(2)
    world.offer("a", 1, pod="pod-2")
    world.run(2)

    assert world.values("a") == [5, 1]


def test_a_value_that_falls_is_passed_over_however_long_the_task_was_silent() -> None:
    world = World()
    world.offer("a", 5)
    world.run(100)
    world.offer("b", 1)  # so that the schedule has a look at what it keeps
    world.offer("a", 3)
    world.run(5)

    assert world.values("a") == [5]


def test_the_same_value_is_not_written_twice_but_its_new_message_is() -> None:
    world = World()
    for message in ("x", "x", "y"):
        world.offer("a", 1, message=message)
        world.run(2)

    assert [progress.message for _, _, progress in world.written] == ["x", "y"]


def test_what_another_replica_wrote_further_on_is_not_undone() -> None:
    world = World()
    world.offer("a", 1)
    world.offer("a", 2)
    world.schedule.noticed("a", at(7), now=world.now)
    world.run(5)

    assert world.values("a") == [1]


def test_another_replicas_write_counts_for_the_interval() -> None:
    world = World()
    world.offer("a", 1)
    world.run(0.9)
    world.schedule.noticed("a", at(2), now=world.now)
    world.offer("a", 3)
    world.run(0.5)
    early = world.values("a")
    world.run(1)

    assert (early, world.values("a")) == ([1], [1, 3])


def test_a_write_that_failed_is_made_again_with_the_newest_value() -> None:
    schedule = Schedule(budget=BUDGET)
    schedule.offer("a", at(1), now=0)
    assert schedule.due(now=0) == [("a", at(1))]
    schedule.offer("a", at(2), now=0.1)
    schedule.failed("a", again=True)

    assert schedule.due(now=0.5) == []
    assert schedule.due(now=1.0) == [("a", at(2))]
    schedule.failed("a", again=True)
    assert schedule.due(now=2.0) == [("a", at(2))]
    schedule.failed("a", again=False)
    assert schedule.next_at(now=3.0) is None


def test_one_task_is_written_by_one_write_at_a_time() -> None:
    schedule = Schedule(budget=BUDGET)
    schedule.offer("a", at(1), now=0)
    schedule.due(now=0)
    schedule.offer("a", at(2), now=5)

    assert schedule.due(now=5) == []
    assert schedule.taken("a") == at(2)
    schedule.done("a")
    assert schedule.due(now=5) == [("a", at(2))]


def test_no_more_is_begun_than_can_be_and_the_longest_waiting_first() -> None:
    schedule = Schedule(budget=BUDGET)
    for task in ("a", "b", "c"):
        schedule.offer(task, at(1), now=0)
    first = schedule.due(now=0, most=1)
    schedule.done("a")
    schedule.offer("a", at(2), now=3)

    assert first == [("a", at(1))]
    assert schedule.due(now=3, most=2) == [("b", at(1)), ("c", at(1))]
    assert schedule.due(now=4, most=0) == []
    assert schedule.due(now=4, most=9) == [("a", at(2))]


def test_of_a_task_that_is_over_nothing_is_written() -> None:
    schedule = Schedule(budget=BUDGET)
    schedule.offer("a", at(1), now=0)
    schedule.forget("a")

    assert (schedule.due(now=1), schedule.taken("a"), len(schedule)) == ([], None, 0)
    schedule.failed("a", again=True)
    schedule.done("a")


def test_at_the_end_all_that_is_left_is_written() -> None:
    schedule = Schedule(budget=1)
    for number in range(10):
        schedule.offer(f"t{number}", at(number), now=0)
    begun = schedule.due(now=0)

    rest = schedule.rest(now=0)

    assert len(begun) == 1
    assert sorted(task for task, _ in (*begun, *rest)) == [f"t{number}" for number in range(10)]


def test_many_tasks_are_each_written_in_their_turn_within_the_budget() -> None:
    """Ten times as many as the budget, each reporting all the time: each value is shown at most ten seconds old."""
    world = World()
    tasks = [f"t{number}" for number in range(BUDGET * 10)]
    for step in range(600):
        for task in tasks:
            world.schedule.offer(task, at(step), now=world.now)
        world.run(0.1)

    for task in tasks:
        moments = [when for when, name, _ in world.written if name == task]
        gaps = [after - before for before, after in itertools.pairwise(moments)]
        assert max(gaps) <= 10.1
    assert_within_the_budget(world)


def test_a_process_that_is_often_late_uses_the_whole_budget_all_the_same() -> None:
    world = World()
    for step in range(60):
        for task in range(BUDGET * 10):
            world.schedule.offer(f"t{task}", at(step), now=world.now)
        world.write()  # and then it is away for most of a second
        world.now += 0.9
        world.write()
        world.now += 0.1

    assert len(world.written) >= 59 * BUDGET
    assert_within_the_budget(world, late=True)


def test_those_who_begin_together_are_written_one_by_one() -> None:
    """At the API server they would wait for each other, and so they would in each round from then on."""
    world = World()
    for step in range(30):
        report(world, tasks=BUDGET * 10, step=step)
        world.run(1)

    assert least_gap(world) >= 1 / BUDGET - 1e-6


def test_what_was_late_once_is_made_up_for_and_they_come_one_by_one_again() -> None:
    world = World(schedule=Schedule(budget=50))
    for step in range(10):
        report(world, tasks=500, step=step)
        world.run(1)
    world.now += 0.3
    late_until, before = world.now, len(world.written)
    world.write()
    made_up = len(world.written) - before
    world.run(0.7)
    for step in range(10, 40):
        report(world, tasks=500, step=step)
        world.run(1)

    assert made_up == 0.3 * 50
    assert len(world.written) >= 41 * 50
    assert least_gap(world, since=late_until + 2) >= 1 / 50 - 1e-6
    assert_within_the_budget(world, budget=50, late=True)


def test_places_that_nobody_needed_are_not_taken_later() -> None:
    world = World()
    world.offer("a", 1)
    world.run(30)
    report(world, tasks=BUDGET, step=0)
    before = len(world.written)
    world.run(2)

    assert len(world.written) == before + BUDGET
    assert least_gap(world, since=1030) >= 1 / BUDGET - 1e-6


def test_two_replicas_share_the_budget_by_their_tasks() -> None:
    one, other = World(), World()
    for step in range(400):
        for world, names in ((one, range(30)), (other, range(30, 60))):
            for number in names:
                world.schedule.offer(f"t{number}", at(step), now=world.now)
        for world, beside in ((one, other), (other, one)):
            before = len(world.written)
            world.run(0.1)
            for _, task, progress in world.written[before:]:
                beside.schedule.noticed(task, progress, now=beside.now)

    late = [when for world in (one, other) for when, *_ in world.written if when > 1030]
    assert len(late) / (max(late) - min(late)) <= BUDGET * 1.1
    counts = [len(world.written) for world in (one, other)]
    assert min(counts) > 0.7 * max(counts)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]),
            st.floats(0, 100),
            st.sampled_from([0.0, 0.01, 0.3, 1.0, 4.0]),
        ),
        max_size=60,
    )
)
def test_whatever_is_reported_the_rules_hold(said: list[tuple[str, float, float]]) -> None:
    world = World(schedule=Schedule(budget=2))
    highest: dict[str, float] = {}
    for task, value, pause in said:
        world.offer(task, value)
        highest[task] = max(value, highest.get(task, value))
        world.run(pause)
    world.run(60)

    assert world.schedule.next_at(now=world.now) is None
    for task, value in highest.items():
        values = world.values(task)
        assert values[-1] == value
        assert values == sorted(values)
        moments = [when for when, name, _ in world.written if name == task]
        assert all(after - before >= INTERVAL_SECONDS - 1e-6 for before, after in itertools.pairwise(moments))
    assert_within_the_budget(world, budget=2)


def report(world: World, *, tasks: int, step: int) -> None:
    """So many pods say how far they are; nothing is written yet."""
    for task in range(tasks):
        world.schedule.offer(f"t{task}", at(step), now=world.now)


def least_gap(world: World, *, since: float = 0.0) -> float:
    """The least time between two writes from then on."""
    moments = [when for when, *_ in world.written if when >= since]
    return min(after - before for before, after in itertools.pairwise(moments))


def assert_within_the_budget(world: World, *, budget: int = BUDGET, late: bool = False) -> None:
    """Whenever one looks, and for however long, there are no more writes.

    `late`: the process was not always there when it should have been, and made up for a second at most.
    """
    moments = [when for when, *_ in world.written]
    for first, when in enumerate(moments):
        for seconds in (1, 5):
            inside = sum(other - when < seconds - 1e-6 for other in moments[first:])
            most = budget * seconds
            if late:
                most = min(most + budget, int(most * 1.2))
            assert inside <= most
