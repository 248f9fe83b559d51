"""The process: settings, an open connection, the applications, and a graceful end."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import structlog
import uvloop
from aiohttp import web
from kubernetes.aio.config import ConfigException

from mcptasks_crds.garbage import spare_collections
from mcptasks_crds.kube import DEEPEST_STACK, Kube
from mcptasks_crds.watchdog import Watchdog

from .app import create_app, create_metrics_app, with_packs
from .caller import CallerPolicy, NoAuthentication
from .cluster.backend import Backend
from .guards import Guards
from .health import Health
from .logs import configure_logs
from .metrics import Metrics
from .rights import FOR_LARGE_RESULTS, RIGHTS
from .settings import Settings, SettingsError, settings_from
from .signing_keys import SigningKeysError, signer_of
from .taskendpoint.app import create_task_app
from .taskendpoint.reporter import Reporter
from .taskendpoint.tokens import PodTokens
from .tokens import TokenAuthentication, TokensError
from .toolpack.errors import PackError
from .toolpack.loading import load_packs
from .toolpack.packs import packs_of
from .toolpack.running import SWITCH_SECONDS, Runner

GRACE_SECONDS: Final = 8.0
"""How long requests that are under way may take once the process was told to end. A reader that does not read costs it
twice (to end, and to be cut); with what is settled after, all must be over before a pod's 30 s are."""
BACKLOG: Final = 4096
"""How many may connect before they are accepted. Those beyond it try again after a second, which is what hundreds of
pods would do that find another replica at once. The kernel has a limit of its own (`net.core.somaxconn`)."""
COLLECT_AFTER: Final = (20_000, 10, 10)
"""Python's thresholds for looking for cycles. By its own (700, 10, 10) one piece of news for a thousand streams has it
look several times, and at all objects now and then: 100 ms and more, in which nothing is answered."""


def main() -> None:
    """Run until SIGTERM or SIGINT. Exits with 2 for wrong settings, with 1 where Kubernetes should start it anew."""
    try:
        settings = settings_from(os.environ)
    except SettingsError as error:
        sys.stderr.write(f"mcptasks-server: {error}\n")
        sys.exit(2)
    configure_logs(settings.log_level)
    sys.setrecursionlimit(DEEPEST_STACK)
    try:
        uvloop.run(_run(settings))
    except PackError as error:
        sys.stderr.write(f"mcptasks-server: {error}\n")
        sys.exit(2)
    except SigningKeysError as error:
        sys.stderr.write(f"mcptasks-server: MCPTASKS_SIGNING_KEYS_DIR: {error}\n")
        sys.exit(2)
    except TokensError as error:
        sys.stderr.write(f"mcptasks-server: MCPTASKS_TOKENS_FILE: {error}\n")
        sys.exit(2)
    except (ConfigException, OSError) as error:  # no cluster was named, or a port is taken
        structlog.get_logger().error("cannot serve", error=str(error))
        sys.exit(1)


async def _run(settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(settings):
        spare_collections(COLLECT_AFTER)
        await stop.wait()
        structlog.get_logger().info("stopping")
    structlog.get_logger().info("stopped")


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[tuple[Any, ...]]:
    """Serve for as long as the context lasts; gives the addresses of the MCP, the metrics and the pods' listener."""
    metrics = Metrics()
    signer = signer_of(settings.signing_keys_dir)
    runner = Runner(threads=settings.tool_pack_threads, counts=metrics)
    packs = packs_of(load_packs(settings.tool_packs), runner=runner)
    structlog.get_logger().info("tool packs", names=packs.names, tools=len(packs.tools))
    if packs.has_threads:
        sys.setswitchinterval(SWITCH_SECONDS)
    async with await Kube.connect(kubeconfig=settings.kubeconfig, context=settings.context) as kube:
        needed = (*RIGHTS, *(FOR_LARGE_RESULTS if settings.large_results else ()))
        backend = Backend(
            kube,
            namespace=settings.namespace,
            metrics=metrics,
            signer=signer,
            needed=needed,
            max_tasks=settings.max_tasks,
            max_arguments_bytes=settings.max_arguments_bytes,
        )
        health = Health(ready=backend.what_is_missing, live=backend.what_is_broken)
        app = create_app(
            with_packs(backend.services, packs),
            callers=callers_of(settings),
            guards=Guards(hosts=settings.allowed_hosts, origins=settings.allowed_origins),
            health=health,
            metrics=metrics,
            max_body_bytes=settings.max_body_bytes,
            require_task_name=settings.require_task_name_header,
        )
        async with AsyncExitStack() as stack:
            stack.enter_context(Watchdog(on_block=metrics.loop_blocks.inc).watching())
            await stack.enter_async_context(backend.running())
            reporter = Reporter(backend.reports, budget=settings.progress_writes_per_second, metrics=metrics)
            await stack.enter_async_context(reporter.running())  # ends after the listeners
            server = await listen(app, host=settings.host, port=settings.port)
            exporter = await listen(create_metrics_app(metrics), host=settings.host, port=settings.metrics_port)
            endpoint = create_task_app(
                backend.reports,
                reporter=reporter,
                results=backend.results if settings.large_results else None,
                tools=backend.services.catalogue,
                tokens=PodTokens(kube=kube, namespace=settings.namespace),
                attempts=backend.attempts,
                metrics=metrics,
                stopping=backend.services.stopping,
            )
            pods = await listen(endpoint, host=settings.host, port=settings.task_port)
            addresses = (server.addresses[0], exporter.addresses[0], pods.addresses[0])
            structlog.get_logger().info(
                "serving", namespace=settings.namespace, mcp=addresses[0], metrics=addresses[1], tasks=addresses[2]
            )
            try:
                yield addresses
            finally:
                health.is_stopping = True
                backend.services.stopping.set()  # what is held or listens ends by itself, before anything is cut
                await asyncio.gather(server.cleanup(), _end_of(pods, reporter))
                await exporter.cleanup()


async def _end_of(pods: web.AppRunner, reporter: Reporter) -> None:
    """Before pods find another replica, what they have told this one is written."""
    await reporter.write_the_rest()
    await pods.cleanup()
    await reporter.write_the_rest()


def callers_of(settings: Settings) -> CallerPolicy:
    """How callers are known.

    Raises:
        TokensError: the file of their tokens cannot be used.
    """
    return NoAuthentication() if settings.tokens_file is None else TokenAuthentication(settings.tokens_file)


async def listen(app: web.Application, *, host: str, port: int) -> web.AppRunner:
    """Serve an application at an address, until the runner is cleaned up."""
    # A client that goes away cancels its request: that is how the protocol cancels.
    # A compressed body is refused by its header; inflating what is refused would block the loop.
    runner = web.AppRunner(
        app, handler_cancellation=True, access_log=None, shutdown_timeout=GRACE_SECONDS, auto_decompress=False
    )
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
    return runner


if __name__ == "__main__":
    main()
