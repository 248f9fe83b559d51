"""kopf's two storages, for an operator of which kopf is to keep nothing.

By themselves they are annotations of the object, and kopf copies each object twice at each event to find out what has
changed since its handlers saw it last. Only raw events are handled here, which are told as they come: nothing is
compared, so nothing is copied, and there is nothing that could be written.
"""

from collections.abc import Iterable

import kopf


class NothingCompared(kopf.DiffBaseStorage):
    """What an object was when kopf handled it last: nobody asks."""

    def build(
        self,
        *,
        body: kopf.Body,
        extra_fields: Iterable[object] | None = None,
    ) -> kopf.BodyEssence:
        """Nothing of the object."""
        return {}

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        """Nothing."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Not kept."""


class NoProgress(kopf.ProgressStorage):
    """How far kopf's handlers are with an object: they are done at once."""

    def fetch(self, *, key: kopf.HandlerId, body: kopf.Body) -> kopf.ProgressRecord | None:
        """Nothing."""
        return None

    def store(self, *, key: kopf.HandlerId, record: kopf.ProgressRecord, body: kopf.Body, patch: kopf.Patch) -> None:
        """Not kept."""

    def purge(self, *, key: kopf.HandlerId, body: kopf.Body, patch: kopf.Patch) -> None:
        """There is nothing."""

    def touch(self, *, body: kopf.Body, patch: kopf.Patch, value: str | None) -> None:
        """The object is left alone."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """There is nothing of it in there."""
        return essence
