"""What tests call to have a replica of the server's backend."""

from typing import Any, Protocol

from mcptasks_crds.kube import Kube
from mcptasks_server.cluster.backend import Backend

from .wire import Wire


class StartReplica(Protocol):
    """Starts replicas, and stops them when the test ends."""

    async def __call__(self, connection: Kube | None = None, **settings: Any) -> Backend:
        """A replica that is ready to serve, with a connection of its own where one is given.

        `settings`: of the `Backend`, where they are to be others than its defaults.
        """
        ...


class Serve(Protocol):
    """Has replicas listen, until the test ends."""

    async def __call__(self, backend: Backend) -> Wire:
        """A client of a replica."""
        ...
