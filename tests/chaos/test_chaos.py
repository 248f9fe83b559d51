"""Each seed's storm ends with every task at its right end, once, and nothing left over."""

import pytest

from mcptasks_chaos.plan import plan
from mcptasks_chaos.run import Place, run

pytestmark = [pytest.mark.cluster, pytest.mark.chaos, pytest.mark.timeout(900)]


async def test_every_task_ends_once_and_right_whatever_fails(
    seed: int, tasks: int, place: Place, remarks: list[str]
) -> None:
    outcome = await run(plan(seed, tasks=tasks), place)
    remarks.append(f"seed {seed}: {outcome}")

    assert not outcome.words, outcome.words
