"""Keeps a cache equal to the objects of one kind in one namespace: list, then watch, for ever.

A watch that ends is opened again where it ended; one that is refused as too old (410), or that has turned out dead, is
begun again with a list. Failures are waited out with a growing, jittered delay.
"""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import structlog

from mcptasks_crds.base import Json
from mcptasks_crds.kube import GoneError, Kind, Kube, KubeError
from mcptasks_server.metrics import Metrics

from .freshness import Freshness
from .object_cache import Known, ObjectCache

ValueT = TypeVar("ValueT")

PAGE: Final = "50"
"""Objects in one answer: tasks may have several hundred KiB each, and an answer is read in one go."""
STEP: Final = 20
"""Objects of a page that are read before others have their turn."""
WATCH_SECONDS: Final = 300
"""After this long the API server ends a watch by itself, which spreads clients over its replicas again."""
INACTIVITY_SECONDS: Final = 70.0
"""A watch on which nothing, not even a bookmark (one a minute), has come for this long is dead."""
MIN_WATCH_SECONDS: Final = 1.0
MIN_DELAY_SECONDS: Final = 0.2
MAX_DELAY_SECONDS: Final = 5.0


class Reflector(Generic[ValueT]):
    """A cache of the objects of one kind, kept up by `run`."""

    def __init__(
        self,
        kube: Kube,
        kind: Kind,
        *,
        namespace: str,
        parse: Callable[[Json], ValueT],
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`parse` makes a value of an object; an object for which it raises ValueError is left out."""
        self.cache: ObjectCache[ValueT] = ObjectCache()
        self.freshness = Freshness()
        self._kube, self._kind, self._namespace, self._parse = kube, kind, namespace, parse
        self._metrics, self._clock = metrics, clock
        overdue = metrics.watch_overdue.labels(kind.plural)
        metrics.looks.append(lambda: overdue.set(self.freshness.lag(now=clock())))
        self._log: Any = structlog.get_logger().bind(kind=kind.plural)
        self._dead = asyncio.Event()
        self._version = ""
        self._delay = MIN_DELAY_SECONDS
        self.is_synced = False
        """Whether the objects were listed once."""

    async def run(self) -> None:
        """Keep the cache up, until cancelled."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._follow()
            except GoneError:
                self._begin_again("the version is too old")
                await self._pause()
            except KubeError as error:
                self._log.warning("watch failed", error=str(error), retry_in=round(self._delay, 2))
                await self._pause()

    def learn(self, document: Json) -> None:
        """Take an object that the API server gave as the answer to a read or a write: the watch is to show it too."""
        version = _version(document)
        if not self.freshness.expects(version, now=self._clock()):
            self._metrics.watch_lag.labels(self._kind.plural).observe(0.0)
        self._take(document, version)

    def suspect(self) -> None:
        """Open the watch anew if it has turned out dead."""
        if self.freshness.is_dead(now=self._clock()):
            self._dead.set()

    async def _list(self) -> None:
        listed: dict[str, Known[ValueT]] = {}
        query = {"limit": PAGE}
        while True:
            page = await self._kube.list(self._kind, self._namespace, **query)
            for number, document in enumerate(page["items"], start=1):
                if number % STEP == 0:
                    await asyncio.sleep(0)
                value = self._parsed(document)
                if value is not None:
                    listed[document["metadata"]["name"]] = Known(version=_version(document), value=value)
            metadata = page["metadata"]
            if not metadata.get("continue"):
                break
            query["continue"] = metadata["continue"]
        self._version = metadata["resourceVersion"]
        self.cache.replace(listed, version=int(self._version))
        self._heard(int(self._version))
        self.is_synced = True
        self._metrics.watch_lists.labels(self._kind.plural).inc()
        self._log.info("listed", objects=len(listed))

    async def _follow(self) -> None:
        """Follow the watch until it ends, or is found dead."""
        self._dead.clear()
        began = self._clock()
        watching = asyncio.create_task(self._watch())
        found_dead = asyncio.create_task(self._dead.wait())
        try:
            await asyncio.wait({watching, found_dead}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()
            else:
                self._begin_again("the watch is dead")
        finally:
            for task in (watching, found_dead):
                task.cancel()
            await asyncio.gather(watching, found_dead, return_exceptions=True)
            self.freshness.closed()  # until the next one stands, be that a moment
        if self._clock() - began < MIN_WATCH_SECONDS:
            await self._pause()  # whoever ends each watch at once shall not be asked in a tight loop

    async def _watch(self) -> None:
        events = self._kube.watch(
            self._kind,
            self._namespace,
            timeout_seconds=INACTIVITY_SECONDS,
            on_open=self._opened,
            resourceVersion=self._version,
            allowWatchBookmarks="true",
            timeoutSeconds=str(WATCH_SECONDS),
        )
        async for event in events:
            self._delay = MIN_DELAY_SECONDS
            document = event["object"]
            version = _version(document)
            match event["type"]:
                case "ADDED" | "MODIFIED":
                    self._take(document, version)
                case "DELETED":
                    self.cache.remove(document["metadata"]["name"], version=version)
                case _:  # a bookmark: only its version counts
                    pass
            self._version = str(version)
            self._heard(version)

    def _opened(self) -> None:
        self.freshness.opened(now=self._clock())

    def _heard(self, version: int) -> None:
        lag = self.freshness.heard(version, now=self._clock())
        if lag is not None:
            self._metrics.watch_lag.labels(self._kind.plural).observe(lag)
        self._metrics.cached_objects.labels(self._kind.plural).set(len(self.cache))

    def _take(self, document: Json, version: int) -> None:
        name = document["metadata"]["name"]
        known = self.cache.get(name)
        if known is not None and known.version >= version:
            return  # of each write of this replica's own, the watch tells what its answer has told
        value = self._parsed(document)
        if value is not None:
            self.cache.offer(name, Known(version=version, value=value))

    def _parsed(self, document: Json) -> ValueT | None:
        try:
            return self._parse(document)
        except ValueError:
            # The error's text may hold what the object holds.
            self._log.warning("an object was passed over: it cannot be read", name=document["metadata"]["name"])
            return None

    def _begin_again(self, why: str) -> None:
        self._version = ""
        self._log.info("listing again", why=why)

    async def _pause(self) -> None:
        await asyncio.sleep(self._delay * random.uniform(0.8, 1.2))  # noqa: S311  # jitter is no secret
        self._delay = min(self._delay * 2, MAX_DELAY_SECONDS)


def _version(document: Json) -> int:
    return int(document["metadata"]["resourceVersion"])
