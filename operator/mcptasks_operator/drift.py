"""How far the watches are behind: what a listing showed and no watch has brought yet.

A watch can die without a word. A listing that shows a version which the watch does not bring within a minute or two
proves it, and nothing else does: silence alone is what a quiet cluster looks like.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mcptasks_crds.kube import Kind

from .store import is_newer

DEAD_AFTER_SECONDS: Final = 150.0
"""Beyond this lag a watch is dead, and beginning it anew has not helped: the process is to be started anew."""
LATE_AFTER_SECONDS: Final = 10.0
"""Beyond this lag a watch is begun anew."""


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A version that a listing showed and the watch has not brought."""

    version: str
    since: float
    """When that object was first found to be missing, on the monotonic clock."""


class Drift:
    """What every watch is yet to bring."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[Kind, dict[str, str]] = {}
        self._missing: dict[Kind, dict[str, Missing]] = {}
        self.settled = asyncio.Event()
        """Set while the watches owe nothing."""
        self.settled.set()

    def watched(self, kind: Kind, name: str, version: str) -> None:
        """A watch brought an object in this version, be it with its end."""
        seen = self._seen.setdefault(kind, {})
        if name not in seen or is_newer(version, seen[name]):
            seen[name] = version
        missing = self._missing.get(kind, {}).get(name)
        if missing is not None and not is_newer(missing.version, seen[name]):
            del self._missing[kind][name]
            self._settle()

    def listed(self, kind: Kind, versions: Mapping[str, str]) -> None:
        """A listing showed these objects, and no others, in these versions."""
        seen, before = self._seen.setdefault(kind, {}), self._missing.get(kind, {})
        late = {name: version for name, version in versions.items() if is_newer(version, seen.get(name, "0"))}
        now = self._clock()
        self._missing[kind] = {
            name: Missing(version=version, since=before[name].since if name in before else now)
            for name, version in late.items()
        }
        for name in [name for name in seen if name not in versions]:
            del seen[name]
        self._settle()

    def forgive(self) -> None:
        """Nothing can be said, for the API server does not answer: that is no watch's fault."""
        self._missing.clear()
        self._settle()

    def missing(self, kind: Kind) -> tuple[str, ...]:
        """The objects that the watch is yet to bring."""
        return tuple(self._missing.get(kind, ()))

    @property
    def owed(self) -> int:
        """How many objects the watches are yet to bring."""
        return sum(len(each) for each in self._missing.values())

    @property
    def lag_seconds(self) -> float:
        """Since when the longest missing version is missing."""
        now = self._clock()
        sinces = [missing.since for each in self._missing.values() for missing in each.values()]
        return max((now - since for since in sinces), default=0.0)

    @property
    def is_late(self) -> bool:
        """Whether some watch is to be begun anew."""
        return self.lag_seconds > LATE_AFTER_SECONDS

    @property
    def is_dead(self) -> bool:
        """Whether some watch is proven dead."""
        return self.lag_seconds > DEAD_AFTER_SECONDS

    def _settle(self) -> None:
        if self.owed:
            self.settled.clear()
        else:
            self.settled.set()
