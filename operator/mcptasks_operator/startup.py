"""kopf as it is to run here: four watches, credentials, not one write, and a thread of its own.

A thread, for kopf cancels every task that it finds in its event loop when it ends, and takes the process's signals.
"""

import asyncio
import threading
from typing import Final

import kopf

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, Kind, Kube

from .errors import WatchError
from .handlers import Take, register
from .resync import SELECTORS

SERVER_TIMEOUT_SECONDS: Final = 240
"""The API server ends a watch after this long; kopf begins the next from where it was. Whole: it goes on the wire."""
CLIENT_TIMEOUT_SECONDS: Final = 300.0
INACTIVITY_SECONDS: Final = 70.0
"""The API server sends a bookmark each minute: a watch that is silent for longer is dead, and begun anew."""
CONNECT_SECONDS: Final = 10.0
REQUEST_SECONDS: Final = 30.0


async def watch(*, kube: Kube, namespace: str, take: Take) -> None:
    """Watch until cancelled. `take` is called in this very event loop.

    Raises:
        WatchError: kopf gave up.
    """
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def take_here(kind: Kind, type_: str | None, document: Json) -> None:
        loop.call_soon_threadsafe(take, kind, type_, document)

    thread = loop.run_in_executor(None, lambda: asyncio.run(_kopf(kube, namespace, take_here, stop)))
    try:
        await asyncio.shield(thread)
    except Exception as error:  # kopf's errors have no common root, and none of them can be mended here
        raise WatchError(f"kopf gave up: {error!r}") from error
    else:
        raise WatchError("kopf ended by itself")
    finally:
        stop.set()
        await asyncio.wait({thread})


async def _kopf(kube: Kube, namespace: str, take: Take, stop: threading.Event) -> None:
    registry = kopf.OperatorRegistry()
    register_login(registry, kube)
    register(registry, take)
    try:
        await kopf.operator(registry=registry, settings=kopf_settings(), namespaces=[namespace], stop_flag=stop)
    finally:
        stop.set()  # a thread of kopf's own waits for it


def kopf_settings() -> kopf.OperatorSettings:
    """kopf's settings: each time-out set, nothing kept in objects, nothing posted, nothing scanned for."""
    settings = kopf.OperatorSettings()
    settings.watching.server_timeout = SERVER_TIMEOUT_SECONDS
    settings.watching.client_timeout = CLIENT_TIMEOUT_SECONDS
    settings.watching.inactivity_timeout = INACTIVITY_SECONDS
    settings.watching.connect_timeout = CONNECT_SECONDS
    settings.watching.chunk_size = 500
    settings.watching.label_selectors[JOBS.group, JOBS.version, JOBS.plural] = SELECTORS[JOBS]
    settings.watching.label_selectors[PODS.group, PODS.version, PODS.plural] = SELECTORS[PODS]
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.connect_timeout = CONNECT_SECONDS
    # A watch has to come back whatever happens to the API server: it goes on trying for as long as the probe allows.
    settings.networking.error_backoffs = (0.2, 0.5, 1, 2, 4, *(8,) * 20)
    settings.queueing.idle_timeout = 0.5
    settings.queueing.exit_timeout = 1.0
    settings.process.ultimate_exiting_timeout = None  # it would kill the whole process; Kubernetes does that
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.peering.standalone = True
    # kopf takes a finalizer of this name off every object that it sees. Its default is other operators' own.
    settings.persistence.finalizer = f"{names.GROUP}/never-set"
    return settings


def register_login(registry: kopf.OperatorRegistry, kube: Kube) -> None:
    """Let kopf use the very credentials of our own connection; kopf asks again whenever they are refused."""

    @kopf.on.login(registry=registry, id="log-in")
    async def log_in(**_: object) -> kopf.ConnectionInfo:
        configuration = kube.configuration
        header = await configuration.get_api_key_with_prefix("BearerToken") or ""
        scheme, _space, token = header.partition(" ")
        return kopf.ConnectionInfo(
            server=configuration.host,
            ca_path=configuration.ssl_ca_cert or None,
            ca_data=None if configuration.ssl_ca_cert else configuration.ca_cert_data,
            insecure=not configuration.verify_ssl,
            certificate_path=configuration.cert_file or None,
            private_key_path=configuration.key_file or None,
            scheme=scheme.capitalize() if token else None,
            token=token or scheme or None,
            proxy_url=configuration.proxy,
        )
