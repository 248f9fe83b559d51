"""`make bench`: each figure a ratio of two things measured in the same run, printed as a table and written as JSON."""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks import creation, own_part, requests_per_task
from benchmarks.rig import rig
from rich.console import Console
from rich.table import Table

IMAGE: Final = "mcptasks:dev"
RESULTS: Final = Path(__file__).parent / "results"

GOALS: Final = {
    ("own part, $MCPTASK_RESULT", "own_part_per_write_p50"): 10.0,
    ("own part, log", "own_part_per_write_p50"): 25.0,
    ("creation", "call_per_bare_create_p50"): 2.5,
    ("requests of the operator, log", "total"): 7.0,
    ("requests of the operator, $MCPTASK_RESULT", "total"): 7.0,
}
"""Measurement and figure -> the most that it may be."""


def _devcluster(*arguments: str) -> str:
    command = [sys.executable, "-m", "mcptasks_devcluster", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


async def _measure(
    *, kubeconfig: Path, audited: Path, image: str, tasks: int, pairs: int
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    tools = own_part.tools(image)
    async with rig(kubeconfig=kubeconfig, operator=True, tools=tools) as running:
        found["own part, $MCPTASK_RESULT"] = await own_part.measure(running, name="by-result-file", count=tasks)
        found["own part, log"] = await own_part.measure(running, name="by-log", count=tasks)
    async with rig(kubeconfig=kubeconfig, operator=False, tools=tools) as running:
        found["creation"] = await creation.measure(running, name="by-log", count=pairs)
    for road, name in (("$MCPTASK_RESULT", "by-result-file"), ("log", "by-log")):
        found[f"requests of the operator, {road}"] = await requests_per_task.measure(
            kubeconfig=audited, audit_log=audited.parent / "run" / "audit.log", tools=tools, name=name
        )
    return found


def _table(found: dict[str, dict[str, float]]) -> Table:
    table = Table("measurement", "figure", "value", "at most")
    for measurement, figures in found.items():
        for figure, value in figures.items():
            goal = GOALS.get((measurement, figure))
            mark = "" if goal is None else f"{goal:g}{'' if value <= goal else '  MISSED'}"
            table.add_row(measurement, figure, f"{value:.3g}", mark)
        table.add_section()
    return table


def main() -> int:
    """Measure everything; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", default="mcptasks", help="the development cluster's name")
    parser.add_argument("--tasks", type=int, default=30, help="tasks for each way of giving a result")
    parser.add_argument("--pairs", type=int, default=300, help="pairs of a call and a bare create")
    arguments = parser.parse_args()
    kubeconfig = Path(_devcluster("up", "--name", arguments.cluster))
    # Requests are counted in a cluster of their own: an audit log would slow what is timed.
    audited = Path(_devcluster("up", "--name", f"{arguments.cluster}-audit", "--provider", "local", "--audit"))
    for cluster in (arguments.cluster, f"{arguments.cluster}-audit"):
        _devcluster("load", "--name", cluster, _devcluster("image"))
    found = asyncio.run(
        _measure(kubeconfig=kubeconfig, audited=audited, image=IMAGE, tasks=arguments.tasks, pairs=arguments.pairs)
    )
    _devcluster("down", "--name", f"{arguments.cluster}-audit")
    RESULTS.mkdir(exist_ok=True)
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "found": found,
    }
    (RESULTS / "latest.json").write_text(json.dumps(document, indent=2) + "\n")
    Console().print(_table(found))
    return any(found[measurement][figure] > goal for (measurement, figure), goal in GOALS.items())


if __name__ == "__main__":
    sys.exit(main())
