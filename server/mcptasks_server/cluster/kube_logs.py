"""`TaskLogs` over the API server: from the pod while there is one, else what the task has kept."""

import asyncio
from typing import Any, Final, Protocol

import structlog

from mcptasks_crds.base import Json
from mcptasks_crds.kube import PODS, Kind, KubeError, NotFoundError
from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.podlogs import LogReader, Streams
from mcptasks_crds.task import McpTask
from mcptasks_server.metrics import Metrics
from mcptasks_server.projection import is_over
from mcptasks_server.tasklogs import NOT_STARTED, POD_GONE, LogSource, TaskLog, kept_log, no_log

from .coalesce import Coalescing
from .task_pods import has_begun, is_pod_of, recorded_pod, tools_container

READ_SECONDS: Final = 8.0
"""For one log, the wait for its turn included."""
READS_AT_ONCE: Final = 8
"""Logs that one replica reads at once. Each may bring the node's whole log file, of which only the end is kept."""
FIRST_LINES: Final = 1024
"""Clients read a living log again and again: what is usually enough is asked for first."""


class Pods(Streams, Protocol):
    """What is needed of the API server: `mcptasks_crds.kube.Kube` has it."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """Read one object as it is now."""
        ...


class Tasks(Protocol):
    """What is needed of the tasks: `TaskReads` has it."""

    def known(self, name: str) -> McpTask | None:
        """What is known of the task without asking."""
        ...

    async def fresh(self, name: str) -> McpTask:
        """The task as the API server has it now."""
        ...


class KubeLogs:
    """Logs of the tasks of one namespace. See `TaskLogs` for what is promised."""

    def __init__(self, kube: Pods, *, namespace: str, reads: Tasks, metrics: Metrics) -> None:
        self._kube, self._namespace, self._reads = kube, namespace, reads
        self._reader = LogReader(cluster=kube, namespace=namespace, first_lines=FIRST_LINES)
        self._turns = asyncio.Semaphore(READS_AT_ONCE)
        self._readers = Coalescing(self._read)
        self._counters = {source: metrics.log_reads.labels(source) for source in LogSource}
        self._log: Any = structlog.get_logger()

    async def read(self, task: McpTask) -> TaskLog:
        """The log: many readers of one task share a read."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                log = await self._readers.get(task.metadata.name)
        except TimeoutError:
            log = no_log(task, why=f"it could not be read within {READ_SECONDS:g} s: please try again")
        self._counters[log.source].inc()
        return log

    async def _read(self, name: str) -> TaskLog:
        known = self._reads.known(name)
        if known is None or is_over(known):  # what a task has kept of its log is in no cache
            task = await self._reads.fresh(name)
            return kept_log(task) or await self._of_pod(task)
        seen = await self._of_pod(known)
        if seen.source is not LogSource.NONE or seen.why == NOT_STARTED:
            return seen
        return kept_log(await self._reads.fresh(name)) or seen  # it was read before its pod was stopped

    async def _of_pod(self, task: McpTask) -> TaskLog:
        pod = recorded_pod(task)
        if pod is None:
            return no_log(task)
        try:
            async with self._turns:
                return await self._of(pod, task)
        except NotFoundError:
            return no_log(task)
        except KubeError as error:
            self._log.warning("a task's pod cannot be read", task=task.metadata.name, pod=pod, error=str(error))
            return no_log(task, why=f"its pod could not be read: {error.words}")

    async def _of(self, name: str, task: McpTask) -> TaskLog:
        pod = await self._kube.get(PODS, self._namespace, name)
        container = tools_container(pod)
        if container is None or not is_pod_of(pod, task):
            self._log.error("a task's status names a pod that is not its own", task=task.metadata.name, pod=name)
            return no_log(task, why=POD_GONE)
        if not has_begun(pod, container):
            return no_log(task, why="its container has not run" if is_over(task) else NOT_STARTED)
        return _shown(await self._reader.read(name, container), task)


def _shown(seen: LogSeen, task: McpTask) -> TaskLog:
    if seen.unreadable:
        return no_log(task, why=f"it could not be read: {seen.unreadable}")
    return TaskLog(source=LogSource.POD, text=seen.text, is_whole=seen.is_whole)
