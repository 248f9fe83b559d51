"""Watches for Kubernetes' Events that say why a start waits.

Two watches of what hardly ever comes, each a filter that the API server applies: warnings, and images being pulled. So
a start that goes well costs nothing, and one that does not is told of at once. What they bring is a help, not a need:
where they fail, tasks go on, and the cause of a late start is told less precisely.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Protocol

import structlog

from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, PODS, Kind, KubeError

from .eventbook import EventBook
from .keys import Key, task_key
from .store import Store, task_of

SELECTORS: Final = ("type=Warning", "reason=Pulling,regarding.kind=Pod")
SERVER_SECONDS: Final = 240
"""The API server ends a watch after this long."""
SILENCE_SECONDS: Final = 300.0
LEAST_PAUSE_SECONDS: Final = 1.0
MOST_PAUSE_SECONDS: Final = 60.0

_log = structlog.get_logger(__name__)


class Watching(Protocol):
    """Whoever can watch: `mcptasks_crds.kube.Kube`."""

    def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        timeout_seconds: float,
        on_open: Callable[[], None] = ...,
        **query: str,
    ) -> AsyncGenerator[Json, None]:
        """The events of a watch."""


@dataclass(frozen=True, kw_only=True)
class EventWatch:
    """Follows the Events of one namespace."""

    kube: Watching
    namespace: str
    book: EventBook
    store: Store
    enqueue: Callable[[Key], None]
    pause: Callable[[float], Any] = asyncio.sleep

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as group:
            for selector in SELECTORS:
                group.create_task(self.follow(selector))

    async def follow(self, selector: str) -> None:
        """Follow one selector until cancelled: a watch that ends, or is refused, is begun anew."""
        pause = LEAST_PAUSE_SECONDS
        while True:
            try:
                await self._once(selector)
            except KubeError as error:
                if pause == LEAST_PAUSE_SECONDS:
                    _log.warning("events_not_watched", selector=selector, error=str(error))
                await self.pause(pause)
                pause = min(2 * pause, MOST_PAUSE_SECONDS)
            else:
                pause = LEAST_PAUSE_SECONDS
                await self.pause(pause)

    async def _once(self, selector: str) -> None:
        # Without a version: what is there comes first, so that nothing is missed; it is few, and old news is no news.
        watch = self.kube.watch(
            EVENTS,
            self.namespace,
            timeout_seconds=SILENCE_SECONDS,
            fieldSelector=selector,
            timeoutSeconds=str(SERVER_SECONDS),
        )
        async with aclosing(watch) as changes:
            async for change in changes:
                if change["type"] != "DELETED":
                    self.take(change["object"])

    def take(self, document: Mapping[str, Any]) -> None:
        """Take one Event in."""
        if not self.book.put(document):
            return
        about = document["regarding"]
        if about["kind"] == "Job":
            self.enqueue(task_key(about["name"]))  # a Job has its task's name, see `names.job_name`
            return
        pod = self.store.get(PODS, about["name"])
        if pod is not None and task_of(pod):  # else the pod itself is still to come, and with it a look at its task
            self.enqueue(task_key(task_of(pod)))
