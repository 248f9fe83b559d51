"""The official conformance suite against two replicas of an installed release, with real Jobs: no finding at all.

`make conformance` runs this alone and shows the counts.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from mcptasks_devcluster.conformance import run_requirements

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]

SCENARIOS: Final = {"2026-07-28": 50, "2025-11-25": 33}
"""How many the suite has of each revision: one that is renamed or skipped must not vanish."""
SUCCESSES: Final = {"2026-07-28": 195, "2025-11-25": 78}
"""How many checks succeeded at least when this was written."""


@pytest.mark.parametrize("revision", SCENARIOS)
async def test_the_suite_finds_nothing_wrong(
    revision: str, endpoint: str, tmp_path: Path, show: Callable[[str], None]
) -> None:
    outcome = await run_requirements(endpoint, revision, results=tmp_path)

    show(f"conformance {revision}: {outcome.summary}")
    for line in (*outcome.findings, *outcome.unseen):
        show(f"  {line}")
    assert outcome.findings == []
    assert len(outcome.scenarios) == SCENARIOS[revision]
    assert outcome.count("SUCCESS") >= SUCCESSES[revision]
