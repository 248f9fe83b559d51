"""Everything of the server that lives on the API server, put together, and kept running."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from mcptasks_crds.installation import Right
from mcptasks_crds.kube import TASKS, TOOLS, Kube, KubeError
from mcptasks_crds.limits import ARGUMENTS_BYTES
from mcptasks_crds.selfcheck import SelfCheck
from mcptasks_crds.tool import McpTool
from mcptasks_server.dispatch import Services
from mcptasks_server.errors import RpcError
from mcptasks_server.metrics import Metrics
from mcptasks_server.rights import RIGHTS
from mcptasks_server.signing import Signer
from mcptasks_server.watching import Topic, Watches

from .admission import DEFAULT_MAX_TASKS, Admission
from .kube_attempts import KubeAttempts
from .kube_catalogue import KubeCatalogue
from .kube_logs import KubeLogs
from .kube_reports import KubeReports
from .kube_tasks import KubeTaskStore
from .reflector import Reflector
from .secret_results import SecretResults
from .seen_task import SeenTask, seen_task
from .task_index import TaskIndex
from .task_reads import TaskReads
from .withdrawals import Withdrawals

PROBE_SECONDS: Final = 3.0
"""How often, and how long, the API server is asked whether it is there."""
LOST_SECONDS: Final = 10.0
"""After this long without an answer the replica is not ready."""
SETTLE_SECONDS: Final = 2.0
WATCHED_PROBE_SECONDS: Final = 1.0
"""How often, at most, a watched task is read while the watch is silent (see `freshness.QUIET_SECONDS`)."""


class Backend:
    """The tools and tasks of one namespace."""

    def __init__(
        self,
        kube: Kube,
        *,
        namespace: str,
        metrics: Metrics,
        signer: Signer | None = None,
        needed: Sequence[Right] = RIGHTS,
        max_tasks: int = DEFAULT_MAX_TASKS,
        max_arguments_bytes: int = ARGUMENTS_BYTES,
    ) -> None:
        """`signer`: with the keys that all replicas share; without one, a key of its own.

        `max_tasks`: how many tasks the namespace keeps at most; `max_arguments_bytes`: the most of a call's arguments.
        """
        self._kube, self._namespace = kube, namespace
        self._tools: Reflector[McpTool] = Reflector(
            kube, TOOLS, namespace=namespace, parse=McpTool.model_validate, metrics=metrics
        )
        self._tasks: Reflector[SeenTask] = Reflector(kube, TASKS, namespace=namespace, parse=seen_task, metrics=metrics)
        self._reads = TaskReads(kube, namespace=namespace, reflector=self._tasks, metrics=metrics)
        self._watches = Watches()
        self._tasks.cache.listeners.append(lambda name, _before, _after: self._watches.tell(name))
        self.results = SecretResults(kube, namespace=namespace)
        """Where results are kept that are too large for their tasks."""
        index = TaskIndex(self._tasks.cache)
        self._store = KubeTaskStore(
            kube,
            namespace=namespace,
            reads=self._reads,
            index=index,
            watches=self._watches,
            withdrawals=Withdrawals(kube, namespace=namespace),
            results=self.results,
            admission=Admission(index, max_tasks=max_tasks),
            metrics=metrics,
            clock=lambda: datetime.now(UTC),
        )
        self.reports = KubeReports(
            kube, namespace=namespace, reads=self._reads, cache=self._tasks.cache, watches=self._watches
        )
        """Where what tasks' pods say is kept."""
        self.attempts = KubeAttempts(kube, namespace=namespace)
        """Who knows the tasks' pods."""
        notices = Watches()
        self.services = Services(
            catalogue=KubeCatalogue(self._tools, on_change=lambda: notices.tell(Topic.TOOLS)),
            tasks=self._store,
            logs=KubeLogs(kube, namespace=namespace, reads=self._reads, metrics=metrics),
            signer=signer or Signer.ephemeral(),
            notices=notices,
            max_arguments_bytes=max_arguments_bytes,
        )
        self._check = SelfCheck(kube=kube, namespace=namespace, service="server", needed=needed)
        self._wrong = "the installation was not looked at yet"
        self._reported = ""
        self._answered_at = float("-inf")
        self._running: list[asyncio.Task[None]] = []
        self._log: Any = structlog.get_logger()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch, for as long as the context lasts."""
        loops = (self._tools.run(), self._tasks.run(), self._ask_whether_it_is_there(), self._probe_what_is_watched())
        self._running = [asyncio.create_task(loop) for loop in loops]
        for task in self._running:
            task.add_done_callback(self._has_ended)
        checking = asyncio.create_task(self._look_at_the_installation())
        try:
            yield
        finally:
            checking.cancel()
            await self.services.background.settle(seconds=SETTLE_SECONDS)
            await self._store.settle(seconds=SETTLE_SECONDS)
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def has_seen(self, task: str, *, version: int) -> bool:
        """Whether this replica knows that version of a task, or a newer one."""
        known = self._tasks.cache.get(task)
        return known is not None and known.version >= version

    def what_is_missing(self) -> str:
        """Why requests cannot be served; empty where they can."""
        if self._wrong:
            return self._wrong
        if not (self._tools.is_synced and self._tasks.is_synced):
            return "the tools and tasks are not read yet"
        if time.monotonic() - self._answered_at > LOST_SECONDS:
            return "the API server does not answer"
        return ""

    def what_is_broken(self) -> str:
        """Why only a restart helps; empty where it does not."""
        broken = [task for task in self._running if task.done() and not task.cancelled()]
        return "a watch has ended, which none ever should" if broken else ""

    async def _look_at_the_installation(self) -> None:
        await self._check.until_mended(self._tell)
        await self._check.keep_rights(self._report)

    def _tell(self, wrong: str) -> None:
        """What is wrong with the installation before it serves."""
        self._report(wrong)
        self._wrong = wrong

    def _report(self, wrong: str) -> None:
        """Say it when it changes. A replica that serves goes on: without one right, it still does all the rest."""
        if wrong and wrong != self._reported:
            self._log.error("the installation is not as it should be", wrong=wrong)
        self._reported = wrong

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        """None of the loops ever ends by itself: `what_is_broken` has the process started anew."""
        if not task.cancelled():
            self._log.error("a loop has ended", exc_info=task.exception())

    async def _ask_whether_it_is_there(self) -> None:
        path = TOOLS.path(self._namespace)
        while True:
            try:
                await self._kube.request("GET", path, query={"limit": "1"}, timeout_seconds=PROBE_SECONDS)
                self._answered_at = time.monotonic()
            except KubeError as error:
                self._log.warning("the API server does not answer", error=str(error))
            await asyncio.sleep(PROBE_SECONDS)

    async def _probe_what_is_watched(self) -> None:
        """Find out that the watch has died where nobody reads, and only waits for changes.

        One watched task at a time is read while the watch is silent: what has changed of it is then due on the watch.
        """
        while True:
            await asyncio.sleep(WATCHED_PROBE_SECONDS)
            if not self._tasks.is_synced or not self._tasks.freshness.wants_probe(now=time.monotonic()):
                continue
            name = self._watches.next_key()
            if name is None:
                continue
            try:
                await self._reads.fresh(name)
            except RpcError as error:
                self._log.debug("a watched task cannot be read", task=name, error=str(error))
