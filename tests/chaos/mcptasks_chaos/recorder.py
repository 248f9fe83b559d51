"""Whoever sees everything: watches all of a namespace by a connection of its own, past the faults, and keeps it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kind, Kube, KubeError

from .recording import Recording, Version, Versions, key
from .timeline import Timeline

AGAIN_SECONDS: Final = 0.2
"""How soon an API server that is away is asked again."""
_MOST_SECONDS: Final = 300.0


@dataclass(kw_only=True)
class Recorder(Recording):
    """Whoever makes a recording, by watches."""

    kube: Kube
    namespace: str
    timeline: Timeline
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

    async def _watch(self, kind: Kind, into: Versions) -> None:
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

    async def _list(self, kind: Kind, into: Versions) -> str:
        page = await self.kube.list(kind, self.namespace)
        there = set()
        for document in page["items"]:
            there.add(key(document))
            self._take(into, document, is_gone=False)
        for known, versions in into.items():
            if known not in there and not versions[-1].is_gone:
                versions.append(Version(at=self.timeline.now(), document=versions[-1].document, is_gone=True))
        self.relists += 1
        return str(page["metadata"]["resourceVersion"])

    def _take(self, into: Versions, document: Json, *, is_gone: bool) -> None:
        self.take(into, Version(at=self.timeline.now(), document=document, is_gone=is_gone))
