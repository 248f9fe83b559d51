"""Whoever sees everything: watches all of a namespace by a connection of its own, past the faults, and keeps it."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kind, Kube, KubeError

from .timeline import Timeline
from .tools import number_of

AGAIN_SECONDS: Final = 0.2
"""How soon an API server that is away is asked again."""
_MOST_SECONDS: Final = 300.0


@dataclass(frozen=True, kw_only=True)
class Version:
    """An object as it was told."""

    at: float
    """Seconds since the run began."""
    document: Json
    is_gone: bool


@dataclass(kw_only=True)
class Recorder:
    """All versions of the tasks, Jobs and pods of a namespace that its watches told of."""

    kube: Kube
    namespace: str
    timeline: Timeline
    tasks: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    jobs: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    pods: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    """By name and uid, so that a second object of a name is another one."""
    task_of: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The names of the tasks of a call."""
    relists: int = 0
    """How often a watch could not go on: what was in between may be missing."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Recorder"]:
        """Record for as long as the context lasts."""
        kinds = {TASKS: self.tasks, JOBS: self.jobs, PODS: self.pods}
        watching = [asyncio.create_task(self._watch(kind, into)) for kind, into in kinds.items()]
        try:
            yield self
        finally:
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)
            for task in watching:
                if not task.cancelled():
                    task.result()

    def living(self, kind: Callable[["Recorder"], dict[str, list[Version]]]) -> list[Json]:
        """The objects of a kind that are there."""
        return [versions[-1].document for versions in kind(self).values() if not versions[-1].is_gone]

    async def _watch(self, kind: Kind, into: dict[str, list[Version]]) -> None:
        version = ""
        while True:
            try:
                if not version:
                    version = await self._list(kind, into)
                events = self.kube.watch(kind, self.namespace, timeout_seconds=_MOST_SECONDS, resourceVersion=version)
                async with aclosing(events):
                    async for event in events:
                        self._take(into, event["object"], is_gone=event["type"] == "DELETED")
                        version = event["object"]["metadata"]["resourceVersion"]
            except KubeError as error:
                if error.status == 410:
                    version = ""
                await asyncio.sleep(AGAIN_SECONDS)

    async def _list(self, kind: Kind, into: dict[str, list[Version]]) -> str:
        page = await self.kube.list(kind, self.namespace)
        there = set()
        for document in page["items"]:
            there.add(_key(document))
            self._take(into, document, is_gone=False)
        for key, versions in into.items():
            if key not in there and not versions[-1].is_gone:
                versions.append(Version(at=self.timeline.now(), document=versions[-1].document, is_gone=True))
        self.relists += 1
        return str(page["metadata"]["resourceVersion"])

    def _take(self, into: dict[str, list[Version]], document: Json, *, is_gone: bool) -> None:
        versions = into[_key(document)]
        if versions and not is_gone and versions[-1].document == document:
            return
        versions.append(Version(at=self.timeline.now(), document=document, is_gone=is_gone))
        if into is self.tasks:
            self.task_of[number_of(document)].add(document["metadata"]["name"])


def _key(document: Json) -> str:
    return f"{document['metadata']['name']}/{document['metadata']['uid']}"
