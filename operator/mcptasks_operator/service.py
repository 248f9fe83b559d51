"""The operator as a whole: its parts put together, started in order, and stopped in the opposite one."""

import asyncio
import secrets
import socket
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import structlog

from mcptasks_crds.kube import Kube, RetryableError
from mcptasks_crds.podlogs import LogReader
from mcptasks_crds.selfcheck import SelfCheck
from mcptasks_crds.watchdog import Watchdog

from .admission import AnswerPolicy
from .apply import Applier
from .catalogue import Catalogue
from .cluster import Cluster
from .drift import DEAD_AFTER_SECONDS, Drift
from .election import Timing
from .errors import OperatorError
from .eventbook import EventBook
from .eventwatch import EventWatch
from .fence import FencedCluster
from .handlers import Intake
from .journal import Journal
from .keys import Key, task_key
from .leadership import Leadership, LeaseLeadership
from .lines import Lines
from .metered import MeteredCluster
from .metrics import Metrics
from .probes import Checks, create_app, listening
from .reconcile import TaskReconciler
from .resync import Resync
from .rights import RIGHTS
from .secretprobe import SecretProbe
from .settings import Settings
from .startup import watch
from .store import Store
from .tools import ToolReconciler
from .workqueue import WorkQueue

DRAIN_SECONDS: Final = 5.0
"""How long passes that have begun may take when the operator is stopped. Then they are cut off: all is repeatable."""

_log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Operator:
    """One operator of one namespace. `cluster` is the connection that it works by; kopf watches by its own."""

    settings: Settings
    kube: Kube
    cluster: Cluster
    identity: str = field(default_factory=lambda: f"{socket.gethostname()}-{secrets.token_hex(5)}")
    """In the Lease: a name that no other process has, also not the next one of this pod."""
    leadership: Leadership | None = None
    """The right to act; None: by the Lease in the namespace."""
    port: int | None = field(default=None, init=False)
    """Where the listener is, once it is."""

    def __post_init__(self) -> None:
        self.metrics = Metrics()
        self.store = Store()
        self._works = False
        self._acting: list[asyncio.Task[None]] = []
        """What writes, or keeps the right to."""
        self._wrong = ""
        self.drift = Drift(time.monotonic)
        metered = MeteredCluster(self.cluster, self.metrics)
        self._right: Leadership = self.leadership or LeaseLeadership(
            cluster=metered,
            namespace=self.settings.namespace,
            identity=self.identity,
            timing=Timing(lease_seconds=self.settings.lease_seconds),
        )
        fenced = FencedCluster(metered, self._right)
        self.queue = WorkQueue[Key](
            self._work,
            clock=asyncio.get_running_loop(),
            watcher=Journal(self.metrics),
            least_delay=_asked_delay,
        )
        self.lines = Lines(self.store, wake=lambda task: self._enqueue(task_key(task)))
        catalogue, events = Catalogue(self.store), EventBook()
        namespace, assign_uid, endpoint = self.settings.namespace, self.settings.assign_uid, self.settings.endpoint
        self._tasks = TaskReconciler(
            store=self.store,
            lines=self.lines,
            catalogue=catalogue,
            applier=Applier(
                cluster=fenced,
                store=self.store,
                namespace=namespace,
                assign_uid=assign_uid,
                endpoint=endpoint,
            ),
            logs=LogReader(cluster=metered, namespace=namespace),
            metrics=self.metrics,
            policy=AnswerPolicy(cluster=metered, namespace=namespace, name=self.settings.answer_policy),
            secrets=SecretProbe(cluster=metered, namespace=namespace, clock=_now),
            clock=_now,
            events=events,
        )
        self._event_watch = EventWatch(
            kube=self.kube, namespace=namespace, book=events, store=self.store, enqueue=self._enqueue
        )
        self._tools = ToolReconciler(
            store=self.store,
            catalogue=catalogue,
            cluster=fenced,
            namespace=namespace,
            clock=_now,
            assign_uid=assign_uid,
            endpoint=endpoint,
        )
        self._resync = Resync(
            cluster=metered,
            namespace=namespace,
            store=self.store,
            drift=self.drift,
            enqueue=self._enqueue,
            clock=time.monotonic,
        )
        self._intake = Intake(
            store=self.store, drift=self.drift, metrics=self.metrics, enqueue=self._enqueue, events=events
        )
        self.metrics.count_tasks(self.store, counts=self._right.holds)
        self.metrics.observe("leader", "Whether this operator is the one that acts.", self._right.holds)
        self.metrics.observe(
            "lease_transitions", "How often the Lease has changed hands.", lambda: self._right.transitions
        )
        self.metrics.observe(
            "tasks_queued",
            "Tasks that wait for their turn.",
            lambda: self.lines.waiting if self._right.holds() else 0,
        )
        self.metrics.observe("queue_depth", "Keys that wait for a worker.", lambda: self.queue.depth)
        self.metrics.observe(
            "watch_lag_seconds", "Since when a watch owes what a listing showed.", lambda: self.drift.lag_seconds
        )
        self.metrics.observe("resync_age_seconds", "Since when all was last listed.", self._resync_age)

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until told to stop. What is under way in the cluster goes on without us.

        Raises:
            OperatorError: it cannot work, or its watches ended.
        """
        app = create_app(checks=Checks(alive=self._dead_because, ready=self._unready_because), metrics=self.metrics)
        listener = listening(app, host=self.settings.host, port=self.settings.port)
        with Watchdog(on_block=self.metrics.blocked).watching():
            async with listener as self.port:
                await self._run(stopping)

    async def _run(self, stopping: asyncio.Event) -> None:
        work = asyncio.create_task(self._operate(), name="operate")
        told = asyncio.create_task(stopping.wait(), name="wait to be stopped")
        try:
            await asyncio.wait({work, told}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                _log.info("stopping")
                await self.queue.drain(DRAIN_SECONDS)
                await self._act_no_more()
        finally:
            told.cancel()
            work.cancel()
            await asyncio.wait({work, told})
            await self._right.give_up()  # where it still has it
        if not work.cancelled():
            work.result()

    async def _operate(self) -> None:
        check = SelfCheck(kube=self.kube, namespace=self.settings.namespace, service="operator", needed=RIGHTS)
        await check.until_mended(self._tell)
        failed: BaseExceptionGroup[OperatorError] | None = None
        try:
            async with asyncio.TaskGroup() as group:
                namespace, take = self.settings.namespace, self._intake.take
                group.create_task(
                    watch(kube=self.kube, namespace=namespace, take=take, is_late=lambda: self.drift.is_late)
                )
                group.create_task(self._event_watch.run())
                group.create_task(check.keep_rights(self._tell))
                group.create_task(self._begin(group))
        except* OperatorError as errors:
            failed = errors
        if failed is not None:  # not above: Python before 3.11.4 makes a group of whatever is raised there
            raise failed.exceptions[0]

    async def _act_no_more(self) -> None:
        """Let another act from here on. The watches, which write nothing and take seconds to end, end after that."""
        for task in self._acting:
            task.cancel()
        if self._acting:
            await asyncio.wait(self._acting)
        await self._right.give_up()

    def _tell(self, wrong: str) -> None:
        """What is wrong with the installation: told when it changes."""
        if wrong and wrong != self._wrong:
            _log.error("installation_is_wrong", wrong=wrong)
        self._wrong = wrong

    async def _begin(self, group: asyncio.TaskGroup) -> None:
        """List everything, let the watches catch up with it, and only then stand for the Lease, and work.

        Whoever stands by knows all that is, and so begins at once where another has ended.
        """
        group.create_task(self._resync.run(self.settings.resync_seconds))
        await self._resync.succeeded.wait()
        _log.info("started", namespace=self.settings.namespace, port=self.port)
        self._acting.append(group.create_task(self._right.run(), name="keep the right to act"))
        await self._right.acquired()
        self._works = True
        await self._resync.anew()  # no decision on half a view: also what the one before has written last is seen
        self._acting.append(group.create_task(self.queue.run(self.settings.workers), name="work"))

    def _enqueue(self, key: Key) -> None:
        """Have a key worked on. Whoever stands by keeps no list: once it acts it looks at everything."""
        if self._works:
            self.queue.add(key)

    async def _work(self, key: Key) -> float | None:
        with self.metrics.reconcile(key.kind), structlog.contextvars.bound_contextvars(**{key.kind: key.name}):
            match key.kind:
                case "task":
                    return await self._tasks.reconcile(key.name)
                case "tool":
                    return await self._tools.reconcile(key.name)

    def _dead_because(self) -> str | None:
        if self.drift.is_dead:
            return f"a watch has brought nothing for {DEAD_AFTER_SECONDS:.0f} s of what the API server has"
        return None

    def _unready_because(self) -> str | None:
        if self._wrong:
            return self._wrong
        if self._resync.succeeded_at is None:
            return "nothing was listed yet"
        if self._resync.failed or self._resync_age() > 3 * self.settings.resync_seconds:
            return "the API server does not answer"
        return None

    def _resync_age(self) -> float:
        return 0.0 if self._resync.succeeded_at is None else time.monotonic() - self._resync.succeeded_at


def _asked_delay(error: Exception) -> float:
    """How long the API server asked us to wait."""
    return (error.delay_seconds or 0.0) if isinstance(error, RetryableError) else 0.0


def _now() -> datetime:
    return datetime.now(UTC)
