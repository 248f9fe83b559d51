"""The web applications, put together from their collaborators. No behaviour."""

import asyncio
from dataclasses import replace

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from .caller import CallerPolicy
from .catalogue import CombinedCatalogue
from .companions import with_companions
from .dispatch import Services
from .guards import Guards
from .health import LIVE_PATH, READY_PATH, Health
from .http import PATH, McpEndpoint
from .legacy import LegacyEra
from .metrics import Metrics
from .modern import ModernEra
from .modern.table import methods_of
from .toolpack.packs import Packs


def create_app(
    services: Services,
    *,
    callers: CallerPolicy,
    guards: Guards,
    health: Health,
    metrics: Metrics,
    max_body_bytes: int,
    require_task_name: bool = True,
) -> web.Application:
    """The application that clients and probes talk to. Run it with `handler_cancellation=True`."""
    services = with_companions(services, knows_callers=callers.knows_callers)
    metrics.look_at(services.operations)
    endpoint = McpEndpoint(
        modern=ModernEra(
            services=services,
            methods=methods_of(services.packs),
            require_task_name=require_task_name,
        ),
        legacy=LegacyEra(services=services, knows_callers=callers.knows_callers),
        callers=callers,
        guards=guards,
        max_body_bytes=max_body_bytes,
        metrics=metrics,
    )
    app = web.Application(client_max_size=max_body_bytes)
    app.router.add_route("*", PATH, endpoint.handle)
    app.router.add_get(LIVE_PATH, health.livez)
    app.router.add_get(READY_PATH, health.readyz)
    return app


def with_packs(services: Services, packs: Packs) -> Services:
    """The same, with what runs in this process beside what the cluster has."""
    return replace(services, packs=packs, catalogue=CombinedCatalogue(services.catalogue, packs=packs.tools))


def create_metrics_app(metrics: Metrics) -> web.Application:
    """The application that Prometheus talks to, on a port of its own."""

    async def show(_: web.Request) -> web.Response:
        metrics.look()
        # Rendering takes tens of milliseconds, which no request shall wait for.
        body = await asyncio.to_thread(generate_latest, metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/metrics", show)
    return app
