"""What is read out of the conformance suite's results."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcptasks_devcluster.conformance import read_outcome


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two scenarios' results, as the suite writes them."""
    _write(tmp_path, "tools-list", ("tools-list", "SUCCESS", None), ("tools-name-format", "WARNING", "a slash"))
    _write(tmp_path, "tasks-lifecycle", ("a", "FAILURE", "no task"), ("b", "SKIPPED", None), ("c", "INFO", "aside"))
    return tmp_path


def _write(results: Path, scenario: str, *checks: tuple[str, str, str | None]) -> None:
    written: list[dict[str, Any]] = [
        {"id": identifier, "name": identifier.title(), "status": status, "errorMessage": message}
        for identifier, status, message in checks
    ]
    directory = results / f"server-{scenario}-2026-11-30T03-31-43-397Z"
    directory.mkdir()
    (directory / "checks.json").write_text(json.dumps(written))


def test_failures_and_warnings_are_findings_of_their_scenarios(results: Path) -> None:
    assert read_outcome(results).findings == [
        "FAILURE tasks-lifecycle a: no task",
        "WARNING tools-list tools-name-format: a slash",
    ]


def test_what_was_not_looked_at_is_told_apart(results: Path) -> None:
    assert read_outcome(results).unseen == ["SKIPPED tasks-lifecycle b: B", "INFO tasks-lifecycle c: aside"]


def test_scenarios_are_counted_by_what_they_left(results: Path) -> None:
    outcome = read_outcome(results)

    assert outcome.scenarios == {"tools-list", "tasks-lifecycle"}
    assert outcome.summary == "2 scenarios, 1 FAILURE, 1 SKIPPED, 1 INFO, 1 SUCCESS, 1 WARNING"


def test_a_scenario_that_left_no_checks_is_a_failure(results: Path) -> None:
    (results / "server-ping-2026-11-30T03-31-43-397Z").mkdir()

    outcome = read_outcome(results)

    assert "FAILURE ping results: the scenario broke off" in outcome.findings
    assert "ping" in outcome.scenarios
