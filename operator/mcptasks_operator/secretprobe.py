"""Whether a task's Secret is there, learned without the right to read any: its name is tried in a dry run.

A name that is taken is refused (409), which is the whole answer: `create` on Secrets shows none of what is in them,
and in a dry run makes none.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog

from mcptasks_crds.base import Json
from mcptasks_crds.kube import SECRETS, ConflictError, NotFoundError, RejectedError

from .cluster import Cluster
from .observation import ArgumentsSeen, Presence

MOST_REMEMBERED: Final = 10_000

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class SecretProbe:
    """Looks for Secrets of one namespace."""

    cluster: Cluster
    namespace: str
    clock: Callable[[], datetime]
    _seen: OrderedDict[str, ArgumentsSeen] = field(default_factory=OrderedDict)
    """What was learned last, by name. It saves requests and is lost with the process."""

    async def look(self, name: str, *, since: datetime) -> ArgumentsSeen:
        """Whether there is a Secret of that name, as of that moment or later.

        Raises:
            RetryableError: the API server cannot say now.
        """
        known = self._seen.get(name)
        if known is None or known.at < since:
            known = ArgumentsSeen(presence=await self._ask(name), at=max(self.clock(), since))
            self._seen[name] = known
            self._seen.move_to_end(name)
            if len(self._seen) > MOST_REMEMBERED:
                self._seen.popitem(last=False)
        return known

    async def _ask(self, name: str) -> Presence:
        manifest: Json = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque"}
        try:
            await self.cluster.create(SECRETS, self.namespace, manifest, dryRun="All")
        except ConflictError:
            return Presence.THERE
        except (RejectedError, NotFoundError) as error:  # no right, a quota, a webhook that takes no dry run
            _log.warning("secret_not_looked_for", secret=name, error=str(error))
            return Presence.UNKNOWN
        return Presence.MISSING
