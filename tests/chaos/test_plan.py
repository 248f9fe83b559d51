"""A seed's plan is the same everywhere, and any few seeds in a row have everything in them."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_chaos.plan import COMPONENTS, LASTING, SERVICES, Fate, Tool, Trouble, plan

HERE = Path(__file__).parent
SEEDS = st.integers(min_value=0, max_value=10_000)
TASKS = st.integers(min_value=1, max_value=200)


def test_another_process_makes_the_same_plan() -> None:
    program = "from mcptasks_chaos.plan import plan; print(plan(7, tasks=60).table())"
    found = subprocess.run([sys.executable, "-c", program], cwd=HERE, stdout=subprocess.PIPE, text=True, check=True)

    assert found.stdout.rstrip("\n") == plan(7, tasks=60).table()


def test_other_seeds_make_other_plans() -> None:
    assert len({plan(seed, tasks=60).table() for seed in range(50)}) == 50


@pytest.mark.parametrize("first", [1, 2, 17])
def test_six_seeds_in_a_row_have_everything_in_them(first: int) -> None:
    plans = [plan(seed, tasks=60) for seed in range(first, first + 6)]
    events = [event for each in plans for event in each.events]

    assert {event.component for event in events} - {None} == set(COMPONENTS)
    assert {event.trouble for event in events} == set(Trouble)
    for trouble in (Trouble.KILL, Trouble.CUT, Trouble.SILENCE, Trouble.SLOW):
        assert {event.service for event in events if event.trouble is trouble} == set(SERVICES), trouble
    for each in plans:
        assert {call.tool for call in each.calls} == set(Tool)
        assert {call.fate for call in each.calls} == set(Fate)


@given(seed=SEEDS, tasks=TASKS)
def test_everything_is_done_within_the_run_and_all_that_lasts_ends_in_it(seed: int, tasks: int) -> None:
    made = plan(seed, tasks=tasks)

    assert [call.number for call in made.calls] == list(range(tasks))
    for call in made.calls:
        assert call.fate is Fate.NOTHING or call.number < call.step <= tasks
    for event in made.events:
        assert 0 <= event.step < tasks
        if event.trouble in LASTING:
            assert event.step <= event.until <= tasks
    assert all(before.step <= after.step for before, after in zip(made.events, made.events[1:], strict=False))
