"""The listener of the operator: `/livez`, `/readyz` and `/metrics`.

Liveness says that this process can still work: its loop runs and its watches are not proven dead. It does not ask the
API server, for a restart would not mend that. Readiness says that the API server answered lately.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from .metrics import Metrics

Check = Callable[[], str | None]
"""What is wrong; None where nothing is."""


@dataclass(frozen=True, kw_only=True)
class Checks:
    """What the probes ask."""

    alive: Check
    ready: Check


def create_app(*, checks: Checks, metrics: Metrics) -> web.Application:
    """The listener's application."""

    async def livez(_: web.Request) -> web.Response:
        return _answer(checks.alive())

    async def readyz(_: web.Request) -> web.Response:
        return _answer(checks.ready())

    async def show_metrics(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/livez", livez)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", show_metrics)
    return app


@asynccontextmanager
async def listening(app: web.Application, *, host: str, port: int) -> AsyncIterator[int]:
    """Serve the application meanwhile. Yields the port, which is of interest where 0 was asked for."""
    # An access log of probes is noise. Nobody waits for an answer any more when this ends.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _answer(wrong: str | None) -> web.Response:
    if wrong is None:
        return web.Response(text="ok\n")
    return web.Response(text=f"{wrong}\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
