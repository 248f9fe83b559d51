"""A cluster that only whoever leads may write to.

All writes pass here, and not only those that create Jobs: one place cannot be forgotten. The check is the last thing
before the request, by this machine's own clock, so a process that stood still for longer than its Lease writes nothing.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kind

from .cluster import Cluster
from .errors import NotLeadingError
from .leadership import Leadership


@dataclass(frozen=True)
class FencedCluster:
    """Hands every read on, and each write if this process may act.

    Each write raises NotLeadingError where it may not.
    """

    cluster: Cluster
    leadership: Leadership

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """See `Cluster`."""
        return await self.cluster.get(kind, namespace, name)

    async def list(self, kind: Kind, namespace: str, **query: str) -> Json:
        """See `Cluster`."""
        return await self.cluster.list(kind, namespace, **query)

    async def list_metadata(self, kind: Kind, namespace: str, **query: str) -> Json:
        """See `Cluster`."""
        return await self.cluster.list_metadata(kind, namespace, **query)

    async def create(self, kind: Kind, namespace: str, manifest: Json, **query: str) -> Json:
        """See `Cluster`."""
        self._check(f"no {kind.plural} are created")
        return await self.cluster.create(kind, namespace, manifest, **query)

    async def patch(
        self, kind: Kind, namespace: str, name: str, patch: Json, *, subresource: str | None = None, **query: str
    ) -> Json:
        """See `Cluster`."""
        self._check(f"no {kind.plural} are changed")
        return await self.cluster.patch(kind, namespace, name, patch, subresource=subresource, **query)

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> None:
        """See `Cluster`."""
        self._check(f"no {kind.plural} are deleted")
        await self.cluster.delete(kind, namespace, name, uid=uid)

    async def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        """See `Cluster`."""
        async for chunk in self.cluster.stream(
            kind, namespace, name, subresource=subresource, timeout_seconds=timeout_seconds, **query
        ):
            yield chunk

    def _check(self, what: str) -> None:
        if not self.leadership.holds():
            raise NotLeadingError(f"another operator may be acting: {what}")
