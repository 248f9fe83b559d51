"""Each seed's storm ends with every task at its right end, once, and nothing left over."""

from collections.abc import Callable

import pytest

from mcptasks_chaos.plan import plan
from mcptasks_chaos.run import Place, run

pytestmark = [pytest.mark.cluster, pytest.mark.chaos, pytest.mark.timeout(900)]


async def test_every_task_ends_once_and_right_whatever_fails(
    seed: int, tasks: int, place: Place, show: Callable[[str], None]
) -> None:
    outcome = await run(plan(seed, tasks=tasks), place)
    show(f"seed {seed}: {outcome}")

    assert not outcome.words, outcome.words
