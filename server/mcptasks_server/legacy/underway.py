"""Requests of legacy clients that are under way at this replica, so that they can be withdrawn.

Source: specification 2025-11-25, "Cancellation". A task that a request has made is found in the cluster instead, from
any replica (`TaskStore.cancel_request`).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class WithdrawnError(Exception):
    """The client has withdrawn its request, and wants no answer."""


class UnderWay:
    """Requests by their key."""

    def __init__(self) -> None:
        self._scopes: dict[str, asyncio.Timeout] = {}

    def __len__(self) -> int:
        return len(self._scopes)

    @asynccontextmanager
    async def request(self, key: str) -> AsyncIterator[None]:
        """Work on a request, which may be withdrawn for as long as the context lasts.

        Raises:
            WithdrawnError: it was.
        """
        scope = asyncio.timeout(None)
        self._scopes[key] = scope
        try:
            async with scope:
                yield
        except TimeoutError:
            if not scope.expired():
                raise
            raise WithdrawnError from None
        finally:
            if self._scopes.get(key) is scope:
                del self._scopes[key]

    def is_withdrawn(self, key: str) -> bool:
        """Whether a request that is still under way here was withdrawn."""
        scope = self._scopes.get(key)
        return scope is not None and scope.expired()

    def withdraw(self, key: str) -> bool:
        """Stop the work on a request. Says whether it is under way here."""
        scope = self._scopes.get(key)
        if scope is None:
            return False
        if not scope.expired():
            scope.reschedule(asyncio.get_running_loop().time())
        return True
