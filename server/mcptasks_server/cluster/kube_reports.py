"""`ReportStore` over the API server: what pods say is in the status of the McpTask."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

import structlog

from mcptasks_crds.kube import TASKS, ConflictError, Kube, NotFoundError, RejectedError
from mcptasks_crds.task import McpTask
from mcptasks_server.errors import RefusedError
from mcptasks_server.taskendpoint.store import Listener, NotTakenError, OvertakenError
from mcptasks_server.tasks import Changes, TaskNotFoundError
from mcptasks_server.watching import Watches

from .object_cache import ObjectCache
from .patience import persist
from .seen_task import SeenTask
from .task_reads import TaskReads

_BY_A_RULE: Final = 422


class KubeReports:
    """Reports of the tasks of one namespace. See `ReportStore` for what each method promises."""

    def __init__(
        self, kube: Kube, *, namespace: str, reads: TaskReads, cache: ObjectCache[SeenTask], watches: Watches
    ) -> None:
        self._kube, self._namespace = kube, namespace
        self._reads, self._cache, self._watches = reads, cache, watches
        self._log: Any = structlog.get_logger()

    def known(self, task_id: str) -> McpTask | None:
        """What the cache holds."""
        return self._reads.known(task_id)

    def whole(self, task_id: str) -> McpTask | None:
        """The same, with its report."""
        known = self._cache.get(task_id)
        return known.value.task if known is not None and known.value.is_whole else None

    async def fresh(self, task_id: str) -> McpTask:
        """What the API server has."""
        return await self._reads.fresh(task_id)

    async def write(self, task_id: str, report: dict[str, Any], *, version: str | None = None) -> McpTask:
        """Merge a patch into `status.report`."""
        patch: dict[str, Any] = {"status": {"report": report}}
        if version is not None:
            patch["metadata"] = {"resourceVersion": version}
        try:
            document = await persist(
                lambda: self._kube.patch(TASKS, self._namespace, task_id, patch, subresource="status")
            )
        except NotFoundError as error:
            raise TaskNotFoundError from error
        except ConflictError as error:
            raise OvertakenError from error
        except RejectedError as error:
            if error.status == _BY_A_RULE:
                raise NotTakenError(error.words) from error
            self._log.error("the cluster refuses a report", task=task_id, error=str(error))
            raise RefusedError(f"The cluster refuses the report ({error.reason or error.status})") from error
        return self._reads.learn(document)

    def watch(self, task_ids: Iterable[str]) -> AbstractContextManager[Changes]:
        """What the reflector's cache is told."""
        return self._watches.watch(task_ids, initially=True)

    def listen(self, listener: Listener) -> None:
        """The same, of all tasks."""
        self._cache.listeners.append(lambda name, _before, after: listener(name, None if after is None else after.task))
