"""The official MCP conformance suite: running it against a URL, and counting what it found.

Its exit code is of no use to us: with `--requirements` it is 0 although every check of an extension fails, and warnings
never count. So every result file is read, a scenario that left none is a failure, and who runs it counts scenarios.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcptasks_devcluster.errors import CommandError
from mcptasks_devcluster.nodejs import NodePackages, install
from mcptasks_devcluster.productimage.sources import REPOSITORY

PACKAGES: Final = REPOSITORY / "tests" / "node" / "conformance"
SCENARIO_SECONDS: Final = 120
"""How long one scenario may take; the suite's own 30 s are less than five pods take on a busy machine."""
FINDINGS: Final = frozenset({"FAILURE", "WARNING"})
_TIME_LENGTH: Final = len("-2026-07-28T12-00-00-000Z")


@dataclass(frozen=True, kw_only=True)
class Check:
    """What the suite says of one thing that it looked at."""

    scenario: str
    id: str
    status: str
    """SUCCESS, FAILURE, WARNING, INFO or SKIPPED."""
    message: str

    @property
    def is_finding(self) -> bool:
        """Whether something is not as it should be."""
        return self.status in FINDINGS

    def __str__(self) -> str:
        return f"{self.status} {self.scenario} {self.id}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run of the suite found."""

    checks: tuple[Check, ...]
    scenarios: frozenset[str]

    @property
    def findings(self) -> list[str]:
        """Each failure and each warning, in words."""
        return [str(check) for check in self.checks if check.is_finding]

    @property
    def unseen(self) -> list[str]:
        """What the suite did not look at, in words."""
        return [str(check) for check in self.checks if check.status in {"INFO", "SKIPPED"}]

    def count(self, status: str) -> int:
        """How many checks ended so."""
        return sum(check.status == status for check in self.checks)

    @property
    def summary(self) -> str:
        """The counts, in a line."""
        counts = Counter(check.status for check in self.checks)
        return f"{len(self.scenarios)} scenarios, " + ", ".join(f"{number} {what}" for what, number in counts.items())


async def run_requirements(url: str, revision: str, *, results: Path) -> Outcome:
    """Run all that the suite requires of a server of a revision of the specification.

    Raises:
        CommandError: the suite itself did not get to its end.
    """
    return await _run(["server", "--url", url, "--requirements", revision], results=results)


async def run_scenarios(url: str, scenarios: Iterable[str], *, results: Path) -> Outcome:
    """Run some scenarios, one after the other.

    Raises:
        CommandError: the suite itself did not get to its end.
    """
    for scenario in scenarios:
        await _run(["server", "--url", url, "--scenario", scenario], results=results)
    return read_outcome(results)


def read_outcome(results: Path) -> Outcome:
    """What stands in a directory of results."""
    checks: list[Check] = []
    scenarios: set[str] = set()
    for directory in sorted(results.iterdir()):
        scenario = directory.name.removeprefix("server-")[:-_TIME_LENGTH]
        scenarios.add(scenario)
        try:
            checks += [_check(scenario, each) for each in json.loads((directory / "checks.json").read_text())]
        except FileNotFoundError:
            checks.append(Check(scenario=scenario, id="results", status="FAILURE", message="the scenario broke off"))
    return Outcome(checks=tuple(checks), scenarios=frozenset(scenarios))


def _check(scenario: str, found: dict[str, Any]) -> Check:
    return Check(
        scenario=scenario, id=found["id"], status=found["status"], message=found.get("errorMessage") or found["name"]
    )


async def _run(arguments: Sequence[str], *, results: Path) -> Outcome:
    await asyncio.to_thread(results.mkdir, parents=True, exist_ok=True)
    packages: NodePackages = await asyncio.to_thread(install, PACKAGES)
    more = ["--timeout", str(SCENARIO_SECONDS * 1000), "--output-dir", str(results)]
    process = await asyncio.create_subprocess_exec(
        packages.program("conformance"),
        *arguments,
        *more,
        env=packages.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    outcome = read_outcome(results)
    if not outcome.scenarios:
        raise CommandError(f"the conformance suite left no results in {results}: {output.decode()[-2000:]}")
    return outcome
