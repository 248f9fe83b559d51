"""`make bench`: each figure a ratio of two things measured in the same run, printed as a table and written as JSON.

`--only` measures one part again, and keeps what the file has of the others.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import creation, fanout, handles, own_part, pods, polling, requests_per_task, spinners
from benchmarks.report import Found, Goal, Goals, all_met, table_of, write, written
from benchmarks.rig import rig
from rich.console import Console

IMAGE: Final = "mcptasks:dev"
LATEST: Final = "latest.json"


GOALS: Final[Goals] = {
    ("own part, $MCPTASK_RESULT", "own_part_per_write_p50"): Goal(most=10),
    ("own part, log", "own_part_per_write_p50"): Goal(most=25),
    ("creation", "call_per_bare_create_p50"): Goal(most=2.5),
    ("requests of the operator, log", "total"): Goal(most=7),
    ("requests of the operator, $MCPTASK_RESULT", "total"): Goal(most=7),
    ("tasks/get", "ours_per_quorum_read"): Goal(least=2),
    ("tasks/get", "ours_per_fastmcp"): Goal(least=6),
    ("tasks/get", "api_server_reads"): Goal(most=0),
    ("handle", "ours_per_fastmcp_redis_p50"): Goal(most=1),
    ("listening", "heard_ms_p99"): Goal(most=100),
    ("listening", "kib_per_idle_listener"): Goal(most=64),
    ("a pod's result", "heard_per_write_p50"): Goal(most=5),
    ("a pod's answer", "ms_p99"): Goal(most=100),
    # 50, as a watch of 45 s sees it whose first and last event may come a tenth of a second late.
    ("progress of 500 pods", "writes_per_second"): Goal(most=50.1),
    # Of 500 pods, 50 a second, each has its turn every 10 s exactly; the write, and this watch, take their time on top.
    ("progress of 500 pods", "oldest_shown_s"): Goal(most=10.5),
    ("progress of 500 pods", "last_values_missing"): Goal(most=0),
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where and how long is measured."""

    cluster: str
    kubeconfig: Path
    image: str
    tasks: int
    pairs: int


def _devcluster(*arguments: str) -> str:
    command = [sys.executable, "-m", "mcptasks_devcluster", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


async def _own_part(setting: Setting) -> Found:
    async with rig(kubeconfig=setting.kubeconfig, operator=True, tools=own_part.tools(setting.image)) as running:
        return {
            "own part, $MCPTASK_RESULT": await own_part.measure(running, name="by-result-file", count=setting.tasks),
            "own part, log": await own_part.measure(running, name="by-log", count=setting.tasks),
        }


async def _creation(setting: Setting) -> Found:
    async with rig(kubeconfig=setting.kubeconfig, operator=False, tools=own_part.tools(setting.image)) as running:
        return {
            "creation": await creation.measure(running, name="by-log", count=setting.pairs),
            "handle": await handles.measure(running, name="by-log", count=setting.pairs),
        }


async def _requests(setting: Setting) -> Found:
    # Requests are counted in a cluster of their own: an audit log would slow what is timed.
    name = f"{setting.cluster}-audit"
    audited = Path(_devcluster("up", "--name", name, "--provider", "local", "--audit"))
    _devcluster("load", "--name", name, _devcluster("image"))
    found: Found = {}
    for road, tool in (("$MCPTASK_RESULT", "by-result-file"), ("log", "by-log")):
        found[f"requests of the operator, {road}"] = await requests_per_task.measure(
            kubeconfig=audited,
            audit_log=audited.parent / "run" / "audit.log",
            tools=own_part.tools(setting.image),
            name=tool,
        )
    _devcluster("down", "--name", name)
    return found


async def _polling(setting: Setting) -> Found:
    return {"tasks/get": await polling.measure(kubeconfig=setting.kubeconfig, rounds=5, seconds=5)}


async def _listening(setting: Setting) -> Found:
    return {"listening": await fanout.measure(kubeconfig=setting.kubeconfig, writes=30)}


async def _pods(setting: Setting) -> Found:
    return await pods.measure(kubeconfig=setting.kubeconfig, count=setting.pairs // 5)


async def _spinners(setting: Setting) -> Found:
    return {
        "a poll beside spinning functions": await spinners.measure(kubeconfig=setting.kubeconfig, rounds=3, seconds=5)
    }


PARTS: Final[dict[str, Callable[[Setting], Coroutine[Any, Any, Found]]]] = {
    "own-part": _own_part,
    "creation": _creation,
    "requests": _requests,
    "polling": _polling,
    "listening": _listening,
    "pods": _pods,
    "spinners": _spinners,
}


def main() -> int:
    """Measure everything; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", default="mcptasks", help="the development cluster's name")
    parser.add_argument("--tasks", type=int, default=30, help="tasks for each way of giving a result")
    parser.add_argument("--pairs", type=int, default=300, help="pairs of two things that are compared")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part alone (may be repeated)")
    arguments = parser.parse_args()
    kubeconfig = Path(_devcluster("up", "--name", arguments.cluster))
    parts = arguments.only or list(PARTS)
    if {"own-part", "requests"} & set(parts):
        _devcluster("load", "--name", arguments.cluster, _devcluster("image"))
    setting = Setting(
        cluster=arguments.cluster,
        kubeconfig=kubeconfig,
        image=IMAGE,
        tasks=arguments.tasks,
        pairs=arguments.pairs,
    )
    found: Found = {}
    for part in parts:
        found |= asyncio.run(PARTS[part](setting))
    write(LATEST, {**(written(LATEST) if arguments.only else {}), **found})
    Console().print(table_of(found, GOALS))
    return not all_met(found, GOALS)


if __name__ == "__main__":
    sys.exit(main())
