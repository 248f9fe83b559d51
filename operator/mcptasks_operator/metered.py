"""A cluster whose requests are counted."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kind

from .cluster import Cluster
from .metrics import Metrics


@dataclass(frozen=True)
class MeteredCluster:
    """Hands every call on, and counts it by verb, resource and what came of it."""

    cluster: Cluster
    metrics: Metrics

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """See `Cluster`."""
        with self.metrics.request("get", kind.plural):
            return await self.cluster.get(kind, namespace, name)

    async def list(self, kind: Kind, namespace: str, **query: str) -> Json:
        """See `Cluster`."""
        with self.metrics.request("list", kind.plural):
            return await self.cluster.list(kind, namespace, **query)

    async def list_metadata(self, kind: Kind, namespace: str, **query: str) -> Json:
        """See `Cluster`."""
        with self.metrics.request("list", kind.plural):
            return await self.cluster.list_metadata(kind, namespace, **query)

    async def create(self, kind: Kind, namespace: str, manifest: Json, **query: str) -> Json:
        """See `Cluster`."""
        with self.metrics.request("create", kind.plural):
            return await self.cluster.create(kind, namespace, manifest, **query)

    async def patch(
        self, kind: Kind, namespace: str, name: str, patch: Json, *, subresource: str | None = None, **query: str
    ) -> Json:
        """See `Cluster`."""
        resource = kind.plural if subresource is None else f"{kind.plural}/{subresource}"
        with self.metrics.request("patch", resource):
            return await self.cluster.patch(kind, namespace, name, patch, subresource=subresource, **query)

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> None:
        """See `Cluster`."""
        with self.metrics.request("delete", kind.plural):
            await self.cluster.delete(kind, namespace, name, uid=uid)

    async def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        """See `Cluster`."""
        with self.metrics.request("get", f"{kind.plural}/{subresource}"):
            async for chunk in self.cluster.stream(
                kind, namespace, name, subresource=subresource, timeout_seconds=timeout_seconds, **query
            ):
                yield chunk
