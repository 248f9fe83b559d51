"""The process that holds a local cluster together: it starts the plan's components and starts again what ends.

``python -m mcptasks_devcluster.supervisor STATE [LISTENER]``, started by ``local.py``. For a whole cluster it is
process 1 of a process namespace of its own, so that its end is the end of everything; it also reaps there what is
reparented to it. It asks nothing of the API server and decides nothing: that is for ``up``.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from mcptasks_devcluster.plan import Component, Plan, read_plan
from mcptasks_devcluster.probes import passes

_TICK = 0.05
_RESTART_DELAY = 1.0
_CHECK_AGAIN = 10.0
_LISTENER_IN_CHILD = 3
_OUT_OF_THE_WAY = 10


@dataclass(kw_only=True)
class Running:
    """What the supervisor knows of one component."""

    component: Component
    pid: int | None = None
    starts: int = 0
    last_exit: int | None = None
    done: bool = False
    not_before: float = 0.0


@dataclass(kw_only=True)
class Supervisor:
    """One plan being carried out."""

    state: Path
    plan: Plan
    listener: int | None
    running: dict[str, Running] = field(default_factory=dict)
    checks: dict[str, bool] = field(default_factory=dict)
    check_at: float = 0.0

    def run_forever(self) -> None:
        """Until it is killed."""
        for argv in self.plan.setup:
            log(f"setup: {' '.join(argv)}")
            subprocess.run(argv, check=True)
        self.running = {component.name: Running(component=component) for component in self.plan.components}
        self.checks = dict.fromkeys(self.plan.checks, False)
        self.report()
        while True:
            changed = [self.reap(), self.start_what_can(), self.check()]
            if any(changed):
                self.report()
            time.sleep(_TICK)

    def start_what_can(self) -> bool:
        """Start every component that is not running, is due, and whose probes pass."""
        changed = False
        for entry in self.running.values():
            if entry.pid is not None or entry.done or time.monotonic() < entry.not_before:
                continue
            if all(self.passes(probe) for probe in entry.component.after):
                entry.pid = self.spawn(entry.component)
                entry.starts += 1
                log(f"{entry.component.name}: started as {entry.pid}")
                changed = True
        return changed

    def passes(self, probe: str) -> bool:
        """A probe of ``probes.py``, or ``done:COMPONENT``."""
        kind, _, name = probe.partition(":")
        return self.running[name].done if kind == "done" else passes(probe)

    def spawn(self, component: Component) -> int:
        """Start one process, its output going to its log."""
        path = str(self.state / "logs" / f"{component.name}.log")
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        if component.listener and self.listener is not None:
            actions.append((os.POSIX_SPAWN_DUP2, self.listener, _LISTENER_IN_CHILD))
        return os.posix_spawnp(component.argv[0], component.argv, os.environ, file_actions=actions)

    def reap(self) -> bool:
        """Collect every child that ended, ours and the reparented."""
        by_pid = {entry.pid: entry for entry in self.running.values() if entry.pid is not None}
        changed = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return changed
            if pid == 0:
                return changed
            entry = by_pid.get(pid)
            if entry is None:
                continue
            entry.pid = None
            entry.last_exit = os.waitstatus_to_exitcode(status)
            entry.done = entry.component.once and entry.last_exit == 0
            entry.not_before = time.monotonic() + _RESTART_DELAY
            log(f"{entry.component.name}: ended with {entry.last_exit}")
            changed = True

    def check(self) -> bool:
        """Ask the plan's checks again: often until they all pass, then now and then."""
        now = time.monotonic()
        if not self.checks or now < self.check_at:
            return False
        before = dict(self.checks)
        self.checks = {name: passes(probe) for name, probe in self.plan.checks.items()}
        self.check_at = now + (_CHECK_AGAIN if all(self.checks.values()) else 10 * _TICK)
        return self.checks != before

    def report(self) -> None:
        """Write what is so, whole, for ``report.py`` to read. Process ids are those of this namespace."""
        content = {
            "components": {
                name: {"pid": entry.pid, "starts": entry.starts, "last_exit": entry.last_exit, "done": entry.done}
                for name, entry in self.running.items()
            },
            "checks": self.checks,
        }
        unfinished = self.state / "report.json.new"
        unfinished.write_text(json.dumps(content))
        unfinished.replace(self.state / "report.json")


def log(line: str) -> None:
    """To the supervisor's own log, which is its stdout."""
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def main(argv: list[str]) -> None:
    """The listening socket, if there is one, was left open for this process by whoever started it."""
    state = Path(argv[0])
    listener = None
    if len(argv) > 1:
        inherited = int(argv[1])
        # Closed in every child but the one that asks for it, and not where the children's own numbers are.
        listener = fcntl.fcntl(inherited, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY)
        os.close(inherited)
    Supervisor(state=state, plan=read_plan(state / "plan.json"), listener=listener).run_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
