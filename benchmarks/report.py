"""Figures as a table, with their goals, and as a file."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.table import Table

RESULTS: Final = Path(__file__).parent / "results"

Found = dict[str, dict[str, float]]
"""Measurement -> figure -> value."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a figure must be: at most, or at least."""

    most: float | None = None
    least: float | None = None

    def is_met(self, value: float) -> bool:
        """Whether a figure is what it must be."""
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    def __str__(self) -> str:
        return f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"


Goals = Mapping[tuple[str, str], Goal]
"""Measurement and figure -> what it must be."""


def table_of(found: Found, goals: Goals) -> Table:
    """What a person reads."""
    table = Table("measurement", "figure", "value", "goal")
    for measurement, figures in found.items():
        for figure, value in figures.items():
            goal = goals.get((measurement, figure))
            mark = "" if goal is None else f"{goal}{'' if goal.is_met(value) else '  MISSED'}"
            table.add_row(measurement, figure, f"{value:.3g}", mark)
        table.add_section()
    return table


def all_met(found: Found, goals: Goals) -> bool:
    """Whether every figure that was measured is what it must be."""
    of_these = {where: goal for where, goal in goals.items() if where[0] in found}
    return all(goal.is_met(found[measurement][figure]) for (measurement, figure), goal in of_these.items())


def written(name: str) -> Found:
    """What the file of that name has of earlier runs."""
    try:
        found: Found = json.loads((RESULTS / name).read_text())["found"]
    except FileNotFoundError:
        return {}
    return found


def write(name: str, found: Found) -> None:
    """Write the figures, and what machine they are of."""
    RESULTS.mkdir(exist_ok=True)
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "found": found,
    }
    (RESULTS / name).write_text(json.dumps(document, indent=2) + "\n")
