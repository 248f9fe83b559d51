"""Everything listed anew, at start and again and again: what no watch told is found out here.

kopf does not report the deletions that fell between two listings of its own, and a watch may die. So the names and
versions of all that is there are listed (metadata alone); what is gone is forgotten, what the watch did not bring is
read, and every task and tool is looked at once more.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import structlog

from mcptasks_crds import names
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, Kind, KubeError, NotFoundError

from .cluster import Cluster
from .drift import Drift
from .keys import Key, keys_about, task_key, tool_key
from .store import KINDS, Store, is_newer, version_of

PAGE_SIZE: Final = "500"
CATCH_UP_SECONDS: Final = 3.0
"""How long the watches are given to bring what a listing showed before it is read directly."""
RETRY_SECONDS: Final = 5.0
OURS: Final = f"{names.MANAGED_BY_LABEL}={names.MANAGED_BY}"
SELECTORS: Final[dict[Kind, str]] = {JOBS: OURS, PODS: OURS}
"""Only Jobs and pods are filtered by label: tasks and tools are all ours."""

_log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Resync:
    """Lists one namespace."""

    cluster: Cluster
    namespace: str
    store: Store
    drift: Drift
    enqueue: Callable[[Key], None]
    clock: Callable[[], float]
    """Monotonic seconds."""
    catch_up_seconds: float = CATCH_UP_SECONDS
    succeeded_at: float | None = field(default=None, init=False)
    """When the API server last answered all of it."""
    succeeded: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set once it succeeded."""
    failed: bool = field(default=False, init=False)
    """Whether the last try failed."""
    begun: int = field(default=0, init=False)
    """How many listings have begun."""
    done: int = field(default=0, init=False)
    """Which of them was the last that succeeded."""
    _ended: asyncio.Condition = field(default_factory=asyncio.Condition, init=False)
    _wanted: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def run(self, interval_seconds: float) -> None:
        """Resync until cancelled; sooner where the API server did not answer, or a watch owes what it has."""
        while True:
            self._wanted.clear()
            answered = await self.attempt()
            async with self._ended:
                self._ended.notify_all()
            is_well = answered and not self.drift.owed
            with suppress(TimeoutError):
                async with asyncio.timeout(interval_seconds if is_well else min(RETRY_SECONDS, interval_seconds)):
                    await self._wanted.wait()

    async def anew(self) -> None:
        """Have everything listed at once, and wait until it was; `run` must be under way."""
        next_one = self.begun + 1  # one that is under way may have read already what has changed since
        self._wanted.set()
        async with self._ended:
            await self._ended.wait_for(lambda: self.done >= next_one)

    async def attempt(self) -> bool:
        """Resync once. False where the API server did not answer; it is told once an episode."""
        self.begun += 1
        number = self.begun
        try:
            await self.once()
        except KubeError as error:
            if not self.failed:
                _log.warning("resync_failed", error=str(error))
            self.failed = True
            self.drift.forgive()
            return False
        if self.failed:
            _log.info("resync_recovered")
        self.failed = False
        self.succeeded.set()
        self.succeeded_at, self.done = self.clock(), number
        return True

    async def once(self) -> None:
        """List all kinds, let the watches catch up, repair what they did not bring, have everything looked at."""
        for kind in KINDS:
            await self._list(kind)
        await self._catch_up()
        for kind in KINDS:
            for name in self.drift.missing(kind):
                await self._read(kind, name)
        for name in self.store.names(TOOLS):
            self.enqueue(tool_key(name))
        for name in sorted(self.store.names(TASKS), key=self._created):
            self.enqueue(task_key(name))
        for key in self._orphaned():
            self.enqueue(key)

    def _orphaned(self) -> list[Key]:
        """Tasks that are not there any more, and whose Job is."""
        known = set(self.store.names(TASKS))
        about = (key for document in self.store.all(JOBS) for key in keys_about(JOBS, document))
        return [key for key in about if key.name not in known]

    def _created(self, task: str) -> tuple[str, str]:
        """The oldest first: that is the order in which they wait for their turn."""
        document = self.store.get(TASKS, task)
        return ("" if document is None else str(document["metadata"].get("creationTimestamp", ""))), task

    async def _catch_up(self) -> None:
        """Wait for the watches for as long as they bring something of what they owe."""
        owed = self.drift.owed
        while owed:
            try:
                async with asyncio.timeout(self.catch_up_seconds):
                    await self.drift.settled.wait()
            except TimeoutError:
                if self.drift.owed >= owed:
                    return
            owed = self.drift.owed

    async def _list(self, kind: Kind) -> None:
        versions: dict[str, str] = {}
        query = {"limit": PAGE_SIZE}
        if kind in SELECTORS:
            query["labelSelector"] = SELECTORS[kind]
        while True:
            page = await self.cluster.list_metadata(kind, self.namespace, **query)
            items = page["items"] or ()  # null, not empty, in a list of metadata
            versions |= {item["metadata"]["name"]: version_of(item) for item in items}
            more = page["metadata"].get("continue")
            if not more:
                break
            query["continue"] = more
        self.drift.listed(kind, versions)
        self._prune(kind, versions, as_of=page["metadata"]["resourceVersion"])

    def _prune(self, kind: Kind, versions: dict[str, str], *, as_of: str) -> None:
        for name in self.store.names(kind):
            document = self.store.get(kind, name)
            # What is newer than the listing was made after it.
            if document is None or name in versions or is_newer(version_of(document), as_of):
                continue
            if self.store.remove(kind, name, version=as_of):
                _log.info("missed_deletion_found", resource=kind.plural, name=name)
                for key in keys_about(kind, document):
                    self.enqueue(key)

    async def _read(self, kind: Kind, name: str) -> None:
        try:
            document = await self.cluster.get(kind, self.namespace, name)
        except NotFoundError:
            return  # the next listing prunes it
        if self.store.put(kind, document):
            for key in keys_about(kind, document):
                self.enqueue(key)
