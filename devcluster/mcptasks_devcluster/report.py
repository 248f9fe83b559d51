"""Reading what the supervisor wrote, with process ids as this side numbers them."""

import json
from dataclasses import dataclass, field

from mcptasks_devcluster.paths import ClusterPaths
from mcptasks_devcluster.processes import inner_to_outer, marked


@dataclass(frozen=True, kw_only=True)
class ComponentState:
    """One component as seen from outside; ``pid`` is None while it is not running."""

    pid: int | None
    starts: int
    last_exit: int | None
    done: bool


@dataclass(frozen=True, kw_only=True)
class Report:
    """All components, and the checks that only the supervisor can make."""

    components: dict[str, ComponentState] = field(default_factory=dict)
    checks: dict[str, bool] = field(default_factory=dict)

    def restarting(self, *, beyond: int) -> list[str]:
        """Components that were started more often than this."""
        return [name for name, state in self.components.items() if state.starts > beyond]


def read_report(paths: ClusterPaths) -> Report:
    """Empty while there is none; a process that is gone has no pid whatever the file says."""
    if not paths.report.exists():
        return Report()
    raw = json.loads(paths.report.read_text())
    outer = inner_to_outer(marked(paths.state))
    components = {
        name: ComponentState(
            pid=outer.get(item["pid"]), starts=item["starts"], last_exit=item["last_exit"], done=item["done"]
        )
        for name, item in raw["components"].items()
    }
    return Report(components=components, checks=raw["checks"])
