"""Looks for the tasks of requests at the API server: one list at a time, for all that are sought.

A client may say of any number of requests that it wants them no more, and most of them have made no task. A list reads
all tasks of the namespace, so there must not be one for each.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from mcptasks_crds import names

from .coalesce import Coalescing

MOST_AT_ONCE: Final = 100
"""Keys in one list: they stand in its URL."""


class RequestLookups:
    """The requests whose tasks are sought."""

    def __init__(self, fetch: Callable[[str], Awaitable[object]]) -> None:
        """`fetch` reads all tasks that a label selector names, so that they are known."""
        self._fetch = fetch
        self._sought: set[str] = set()
        self._lists = Coalescing(self._list)

    async def look_for(self, request_key: str) -> None:
        """Return once a list that began after this call has told of the request's task, if there is one.

        Raises:
            RpcError: the API server cannot be asked.
        """
        self._sought.add(request_key)
        await self._lists.get(names.REQUEST_LABEL)

    async def _list(self, label: str) -> None:
        sought, self._sought = sorted(self._sought), set()
        try:
            while sought:
                await self._fetch(f"{label} in ({','.join(sought[:MOST_AT_ONCE])})")
                del sought[:MOST_AT_ONCE]
        finally:
            self._sought.update(sought)  # others wait for what could not be read
