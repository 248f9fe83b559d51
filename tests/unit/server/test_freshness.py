"""When a watch may be read from."""

from mcptasks_server.cluster.freshness import (
    DEAD_SECONDS,
    MAX_LAG_SECONDS,
    PROBE_INTERVAL_SECONDS,
    QUIET_SECONDS,
    Freshness,
)


def opened(*, seen: int = 10) -> Freshness:
    freshness = Freshness()
    freshness.heard(seen, now=0.0)
    freshness.opened(now=0.0)
    return freshness


def test_a_watch_that_does_not_stand_is_not_read_from() -> None:
    freshness = Freshness()
    assert freshness.is_late(now=0.0)

    freshness.opened(now=0.0)
    assert not freshness.is_late(now=0.0)

    freshness.closed()
    assert freshness.is_late(now=0.0)


def test_a_write_that_the_watch_shows_in_time_is_its_lag() -> None:
    freshness = opened()

    assert freshness.expects(11, now=1.0)
    assert not freshness.is_late(now=1.0 + MAX_LAG_SECONDS)
    assert freshness.heard(12, now=1.1) == 1.1 - 1.0
    assert freshness.lag(now=9.0) == 0.0


def test_a_write_that_the_watch_does_not_show_in_time_makes_it_late_and_then_dead() -> None:
    freshness = opened()
    freshness.expects(11, now=1.0)
    freshness.heard(10, now=1.01)  # something older

    assert freshness.is_late(now=1.0 + MAX_LAG_SECONDS + 0.01)
    assert not freshness.is_dead(now=1.0 + DEAD_SECONDS)
    assert freshness.is_dead(now=1.0 + DEAD_SECONDS + 0.01)


def test_later_writes_do_not_make_an_overdue_one_young() -> None:
    freshness = opened()
    for version in range(11, 20):
        freshness.expects(version, now=1.0 + version / 100)
    freshness.heard(11, now=1.2)

    assert freshness.lag(now=2.0) == 2.0 - 1.12


def test_what_the_watch_has_shown_already_is_not_due() -> None:
    freshness = opened()

    assert not freshness.expects(10, now=1.0)
    assert not freshness.is_late(now=9.0)


def test_a_quiet_watch_is_probed_now_and_then_and_a_busy_one_is_not() -> None:
    freshness = opened()

    assert not freshness.wants_probe(now=QUIET_SECONDS)
    assert freshness.wants_probe(now=QUIET_SECONDS + 0.1)
    assert not freshness.wants_probe(now=QUIET_SECONDS + 0.1 + PROBE_INTERVAL_SECONDS / 2)
    assert freshness.wants_probe(now=QUIET_SECONDS + 0.2 + PROBE_INTERVAL_SECONDS)

    freshness.heard(11, now=20.0)
    assert not freshness.wants_probe(now=20.0 + QUIET_SECONDS)
