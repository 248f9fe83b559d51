"""The few calls that the operator makes of the API server, and what each promises.

`mcptasks_crds.kube.Kube` keeps these promises over the network, `testing.FakeCluster` in memory; one suite checks both.
All raise `mcptasks_crds.kube.KubeError`, in the kind that says what the caller can do about it.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from mcptasks_crds.base import Json
from mcptasks_crds.kube import Kind


class Cluster(Protocol):
    """An API server."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """The object as it is now, never older than any answer that was given before. NotFoundError if it is not."""

    async def list(self, kind: Kind, namespace: str, **query: str) -> Json:
        """The objects as they are now; their kinds are left out of the items."""

    async def list_metadata(self, kind: Kind, namespace: str, **query: str) -> Json:
        """Metadata of the objects as they are now, in pages where `limit` is given (`metadata.continue`)."""

    async def create(self, kind: Kind, namespace: str, manifest: Json, **query: str) -> Json:
        """Make an object. ConflictError if its name is taken, RejectedError if it will never be accepted.

        With `dryRun=All` all is checked and nothing is made.
        """

    async def patch(
        self, kind: Kind, namespace: str, name: str, patch: Json, *, subresource: str | None = None, **query: str
    ) -> Json:
        """Merge a patch into an object, which is returned as it is then.

        ConflictError if the patch names a `metadata.resourceVersion` that is not the object's, RejectedError if its
        `metadata.uid` is not.
        """

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> None:
        """Delete an object and, in the background, what it owns. ConflictError if its uid is another."""

    def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        """A subresource's bytes as they come."""
