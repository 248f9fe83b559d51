"""`/livez` and `/readyz`: whether this process works, and whether it can serve.

A process whose API server is away is alive (a restart would not help) and not ready (another replica may reach it).
"""

from collections.abc import Callable
from typing import Final

from aiohttp import web

LIVE_PATH: Final = "/livez"
READY_PATH: Final = "/readyz"


class Health:
    """What the probes are told. Each check says what is missing, or nothing."""

    def __init__(self, *, ready: Callable[[], str], live: Callable[[], str]) -> None:
        self._ready, self._live = ready, live
        self.is_stopping = False
        """Whether the process was told to end: it is not ready any more, and finishes what it has."""

    async def livez(self, _: web.Request) -> web.Response:
        """200 while the process works."""
        return _answer(self._live())

    async def readyz(self, _: web.Request) -> web.Response:
        """200 while requests can be served."""
        return _answer("stopping" if self.is_stopping else self._ready())


def _answer(missing: str) -> web.Response:
    return web.Response(text=f"{missing or 'ok'}\n", status=503 if missing else 200)
