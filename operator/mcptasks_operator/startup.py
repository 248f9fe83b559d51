"""kopf as it is to run here: four watches, credentials, not one write, and a thread of its own.

A thread, for kopf cancels every task that it finds in its event loop when it ends, and takes the process's signals.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Final

import kopf
import structlog
import uvloop

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, Kind, Kube

from .errors import WatchError
from .forgetful import NoProgress, NothingCompared
from .handlers import Take, register
from .resync import SELECTORS

SERVER_TIMEOUT_SECONDS: Final = 240
"""The API server ends a watch after this long; kopf begins the next from where it was. Whole: it goes on the wire."""
CLIENT_TIMEOUT_SECONDS: Final = 300.0
INACTIVITY_SECONDS: Final = 70.0
"""The API server sends a bookmark each minute: a watch that is silent for longer is dead, and begun anew."""
CONNECT_SECONDS: Final = 10.0
REQUEST_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 1.0
"""How often it is looked whether the watches are late."""
END_SECONDS: Final = 5.0
"""How long kopf may take to end."""
SETTLED_SECONDS: Final = 30.0
"""kopf that worked for so long did not fail at once."""
MOST_FAILURES: Final = 5
"""So often in a row kopf may fail before the process does, and Kubernetes tries."""
FIRST_DELAY_SECONDS: Final = 0.5

_log = structlog.get_logger(__name__)

Renew = Callable[[], Awaitable[None]]


async def watch(*, kube: Kube, namespace: str, take: Take, is_late: Callable[[], bool] = lambda: False) -> None:
    """Watch until cancelled. `take` is called in this very event loop.

    kopf is begun anew where it ends by itself, as it does when the API server refuses a watch (410 as an HTTP status,
    say), and where `is_late` says that a watch brings nothing of what is there. What it lists then is no news twice.

    Raises:
        WatchError: kopf gave up again and again.
    """
    loop, failures = asyncio.get_running_loop(), 0
    while True:
        began = loop.time()
        try:
            await _watch_once(kube, namespace, take, is_late)
            failures = 0
            continue
        except WatchError as error:
            failures = 1 if loop.time() - began > SETTLED_SECONDS else failures + 1
            if failures > MOST_FAILURES:
                raise
            _log.warning("watches_begin_anew", error=str(error), failures=failures)
        await asyncio.sleep(min(FIRST_DELAY_SECONDS * 2.0 ** (failures - 1), SETTLED_SECONDS))


async def _watch_once(kube: Kube, namespace: str, take: Take, is_late: Callable[[], bool]) -> None:
    """Watch until cancelled, or until it is late."""
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def take_here(kind: Kind, type_: str | None, document: Json) -> None:
        if not stop.is_set():
            loop.call_soon_threadsafe(take, kind, type_, document)

    async def renew() -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(kube.renew(), loop))

    ended = _in_a_thread(lambda: _run(_kopf(kube, namespace, take_here, renew, stop)))
    try:
        began = loop.time()
        while not (await asyncio.wait({ended}, timeout=LOOK_SECONDS))[0]:
            if loop.time() - began > SETTLED_SECONDS and is_late():
                _log.warning("watches_are_late")
                return
        error = ended.exception()
        raise WatchError("kopf ended by itself" if error is None else f"kopf gave up: {error!r}") from error
    finally:
        stop.set()
        if not (await asyncio.wait({ended}, timeout=2 * END_SECONDS))[0]:
            _log.error("watches_do_not_end")  # they bring nothing any more; the thread ends with the process


def _in_a_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Do it in a thread that nobody has to wait for at the process's end."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if ended.cancelled():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    def do() -> None:
        error: BaseException | None = None
        try:
            work()
        except Exception as failed:  # noqa: BLE001  # kopf's errors have no common root, and none can be mended here
            error = failed
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, error)

    threading.Thread(target=do, name="kopf", daemon=True).start()
    return ended


def _run(main: Coroutine[None, None, None]) -> None:
    """Like `uvloop.run`, but what does not end when it is cancelled is left, in a loop that runs no more.

    When one watch has failed, kopf closes the connections of the others, which then wait for credentials that nobody
    gives them any more, cancelled or not (kopf 1.45).
    """
    loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=END_SECONDS))
        if all(task.done() for task in left):
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


async def _kopf(kube: Kube, namespace: str, take: Take, renew: Renew, stop: threading.Event) -> None:
    registry = kopf.OperatorRegistry()
    register_login(registry, kube, renew)
    register(registry, take)
    tasks = await kopf.spawn_tasks(registry=registry, settings=kopf_settings(), namespaces=[namespace], stop_flag=stop)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ending = asyncio.create_task(kopf.run_tasks(tasks))
        await asyncio.wait({ending}, timeout=END_SECONDS)
        if ending.done():
            ending.result()
    finally:
        stop.set()  # a thread of kopf's own waits for it
    failed = (task.exception() for task in tasks if task.done() and not task.cancelled())
    for error in filter(None, failed):
        raise error


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
    settings.persistence.diffbase_storage = NothingCompared()
    settings.persistence.progress_storage = NoProgress()
    return settings


def register_login(registry: kopf.OperatorRegistry, kube: Kube, renew: Renew) -> None:
    """Let kopf use the very credentials of our own connection; kopf asks again whenever they are refused."""

    @kopf.on.login(registry=registry, id="log-in")
    async def log_in(**_: object) -> kopf.ConnectionInfo:
        await renew()  # else kopf would be given what was just refused, and would give up
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
