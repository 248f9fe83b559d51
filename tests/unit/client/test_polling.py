"""When a client looks again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks.polling import LONGEST_RETRY_SECONDS, poll_delay, retry_delay

COUNTS = st.integers(min_value=0, max_value=10_000)


def test_the_first_looks_come_quickly_and_grow_to_the_servers_interval() -> None:
    assert [poll_delay(polls, 1000) for polls in range(7)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_a_server_that_names_no_interval_is_asked_each_second_in_the_end() -> None:
    assert poll_delay(100, None) == 1.0


@given(polls=COUNTS, interval_ms=st.integers(min_value=10, max_value=3_600_000))
def test_no_look_waits_longer_than_the_server_asked_for(polls: int, interval_ms: int) -> None:
    assert 0 < poll_delay(polls, interval_ms) <= interval_ms / 1000


@given(polls=COUNTS, interval_ms=st.integers(max_value=3_600_000))
def test_delays_never_shrink_and_are_never_nothing(polls: int, interval_ms: int) -> None:
    assert 0.01 <= poll_delay(polls, interval_ms) <= poll_delay(polls + 1, interval_ms)


@given(failures=st.integers(min_value=1, max_value=10_000), chance=st.floats(min_value=0, max_value=1))
def test_retries_are_bounded(failures: int, chance: float) -> None:
    assert 0.1 <= retry_delay(failures, asked_seconds=None, chance=chance) <= LONGEST_RETRY_SECONDS


@pytest.mark.parametrize("failures", [1, 50])
def test_a_server_that_asks_for_more_time_gets_it(failures: int) -> None:
    assert retry_delay(failures, asked_seconds=30, chance=0.5) == 30
