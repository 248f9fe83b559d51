"""What a supervisor runs, as data: rendered by ``up``, written to a file, read back by the supervisor."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Component:
    """One process, started when everything it waits for is there, and again whenever it ends."""

    name: str
    argv: tuple[str, ...]
    after: tuple[str, ...] = ()
    """Probes that must pass first; see ``probes.py`` for their words. ``done:NAME`` is the end of a ``once``."""
    once: bool = False
    """Run until it succeeds, and not again."""
    listener: bool = False
    """Whether it is handed the host's listening socket, as file descriptor 3."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole cluster."""

    setup: tuple[tuple[str, ...], ...] = ()
    """Commands run first, in order, each of which must succeed."""
    components: tuple[Component, ...]
    checks: Mapping[str, str] = field(default_factory=dict)
    """Probes that the supervisor repeats and reports: what can only be seen from inside."""

    def write(self, path: Path) -> None:
        """For the supervisor to read."""
        path.write_text(json.dumps(asdict(self), indent=1))


def read_plan(path: Path) -> Plan:
    """The reverse of ``Plan.write``."""
    raw = json.loads(path.read_text())
    return Plan(
        setup=tuple(tuple(argv) for argv in raw["setup"]),
        components=tuple(
            Component(**{**item, "argv": tuple(item["argv"]), "after": tuple(item["after"])})
            for item in raw["components"]
        ),
        checks=raw["checks"],
    )
