"""What the watches owe: proven by a listing, never by silence."""

from mcptasks_crds.kube import JOBS, TASKS
from mcptasks_operator.drift import DEAD_AFTER_SECONDS, Drift


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_what_the_watch_brought_is_not_owed() -> None:
    drift = Drift(Clock())
    drift.watched(TASKS, "a", "10")
    drift.listed(TASKS, {"a": "10"})

    assert drift.owed == 0
    assert drift.settled.is_set()


async def test_what_only_a_listing_showed_is_owed_until_the_watch_brings_it() -> None:
    drift = Drift(Clock())
    drift.watched(TASKS, "a", "10")
    drift.listed(TASKS, {"a": "12", "b": "11"})
    assert set(drift.missing(TASKS)) == {"a", "b"}
    assert not drift.settled.is_set()

    drift.watched(TASKS, "a", "11")
    assert set(drift.missing(TASKS)) == {"a", "b"}
    drift.watched(TASKS, "a", "13")
    drift.watched(TASKS, "b", "11")

    assert drift.settled.is_set()


async def test_a_debt_keeps_its_age_though_the_object_goes_on_changing() -> None:
    clock = Clock()
    drift = Drift(clock)
    drift.listed(JOBS, {"a": "10"})
    clock.seconds = 100
    drift.listed(JOBS, {"a": "20"})
    clock.seconds = DEAD_AFTER_SECONDS + 1

    assert drift.lag_seconds == DEAD_AFTER_SECONDS + 1
    assert drift.is_dead


async def test_silence_proves_nothing() -> None:
    clock = Clock()
    drift = Drift(clock)
    drift.watched(TASKS, "a", "10")
    drift.listed(TASKS, {"a": "10"})
    clock.seconds = 10 * DEAD_AFTER_SECONDS

    assert not drift.is_dead


async def test_what_is_gone_is_not_owed_any_more_and_not_remembered() -> None:
    drift = Drift(Clock())
    drift.listed(TASKS, {"a": "10"})
    drift.listed(TASKS, {})

    assert drift.owed == 0
    drift.listed(TASKS, {"a": "10"})
    assert drift.missing(TASKS) == ("a",)


async def test_an_api_server_that_does_not_answer_is_no_watchs_fault() -> None:
    clock = Clock()
    drift = Drift(clock)
    drift.listed(TASKS, {"a": "10"})
    drift.forgive()
    clock.seconds = 10 * DEAD_AFTER_SECONDS

    assert not drift.is_dead
    drift.listed(TASKS, {"a": "10"})
    assert drift.lag_seconds == 0
