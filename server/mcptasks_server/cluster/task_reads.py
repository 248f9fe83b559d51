"""Which reads of a task the cache may answer, and which must be made at the API server.

Ten thousand tasks polled once a second are five times what an API server can serve, so the cache answers what it can:
never less than this replica has written or shown, and nothing while its watch is late or dead.
"""

import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, Kube, NotFoundError, RejectedError
from mcptasks_crds.task import McpTask
from mcptasks_server.errors import RefusedError
from mcptasks_server.metrics import Metrics
from mcptasks_server.projection import is_over
from mcptasks_server.tasks import TaskNotFoundError

from .coalesce import Coalescing
from .patience import persist
from .reflector import PAGE, Reflector
from .seen_task import SeenTask


class Source(StrEnum):
    """Where a read is answered from: the cache, or the API server and why."""

    CACHE = "cache"
    MISS = "miss"
    LATE = "late"
    PROBE = "probe"
    ASKING = "asking"
    LARGE = "large"


class TaskReads:
    """Reads of the tasks of one namespace."""

    def __init__(
        self,
        kube: Kube,
        *,
        namespace: str,
        reflector: Reflector[SeenTask],
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kube, self._namespace, self._reflector = kube, namespace, reflector
        self._clock = clock
        self._counters = {source: metrics.task_reads.labels(source) for source in Source}
        self._reads = Coalescing(self._read)

    async def get(self, name: str) -> McpTask:
        """The task as it is now.

        Raises:
            TaskNotFoundError: there is none.
            UnavailableError: the API server had to be asked, and did not answer in time.
        """
        known = self._reflector.cache.get(name)
        seen = None if known is None else known.value
        source = self._source_for(seen)
        self._counters[source].inc()
        if source is Source.CACHE and seen is not None:
            return seen.task
        return await self.fresh(name)

    async def fresh(self, name: str) -> McpTask:
        """The task as the API server has it now.

        Raises:
            TaskNotFoundError: there is none.
            UnavailableError: the API server did not answer in time.
        """
        self._reflector.suspect()
        return await persist(partial(self._reads.get, name))  # the wait for its turn is in the time, too

    def known(self, name: str) -> McpTask | None:
        """What is known of the task without asking; only what never changes of it may be relied on."""
        known = self._reflector.cache.get(name)
        return None if known is None else known.value.task

    def is_late(self) -> bool:
        """Whether what is known may be older than it should be."""
        return not self._reflector.is_synced or self._reflector.freshness.is_late(now=self._clock())

    async def fetch(self, selector: str) -> frozenset[str]:
        """Read all tasks that a label selector names at the API server, so that they are known; gives their names.

        Raises:
            UnavailableError: it did not answer in time.
        """
        self._reflector.suspect()
        query = {"labelSelector": selector, "limit": PAGE}
        found: list[str] = []
        while True:
            try:
                page = await persist(partial(self._kube.list, TASKS, self._namespace, **query))
            except RejectedError as error:
                raise RefusedError(f"The cluster refuses to list tasks ({error.reason or error.status})") from error
            for document in page["items"]:
                self._reflector.learn(document)
                found.append(document["metadata"]["name"])
            more = page["metadata"].get("continue")
            if not more:
                return frozenset(found)
            query["continue"] = more

    def learn(self, document: Json) -> McpTask:
        """Take an object that the API server has answered, so that no older one is shown from here on."""
        self._reflector.learn(document)
        return _task(document)

    def _source_for(self, seen: SeenTask | None) -> Source:
        now, freshness = self._clock(), self._reflector.freshness
        if seen is None:
            return Source.MISS
        if is_over(seen.task):  # for ever: however late the watch is
            return Source.CACHE if seen.is_whole else Source.LARGE
        if self.is_late():
            return Source.LATE
        if seen.asks:
            # Somebody may have answered at another replica a moment ago, and must not be asked again.
            return Source.ASKING
        return Source.PROBE if freshness.wants_probe(now=now) else Source.CACHE

    async def _read(self, name: str) -> McpTask:
        try:
            document = await persist(lambda: self._kube.get(TASKS, self._namespace, name))
        except NotFoundError as error:
            raise TaskNotFoundError from error
        except RejectedError as error:
            raise RefusedError(f"The cluster refuses to show the task ({error.reason or error.status})") from error
        return self.learn(document)


def _task(document: Json) -> McpTask:
    try:
        return McpTask.model_validate(document)
    except ValueError as error:
        raise RefusedError("The task's object cannot be read") from error
