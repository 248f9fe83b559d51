"""`TaskStore` over the API server: a task is an McpTask object."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import structlog

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import SECRETS, TASKS, ConflictError, Kind, Kube, NotFoundError, RejectedError
from mcptasks_crds.task import AnswerRoad, McpTask
from mcptasks_crds.times import format_time
from mcptasks_server.answering import new_answers
from mcptasks_server.caller import Caller
from mcptasks_server.errors import RefusedError, UnavailableError
from mcptasks_server.idempotency import check_same_call
from mcptasks_server.largeresults import LargeResults, whole
from mcptasks_server.metrics import Metrics
from mcptasks_server.projection import is_expired, is_over
from mcptasks_server.tasks import Changes, NewTask, TaskNotFoundError
from mcptasks_server.tasks import held_at as held_at_of
from mcptasks_server.watching import Watches

from .admission import Admission
from .cancelled_requests import CancelledRequests
from .manifests import arguments_secret, needs_secret, task_manifest
from .patience import UNREACHABLE, persist
from .request_lookups import RequestLookups
from .task_index import TaskIndex
from .task_reads import TaskReads
from .withdrawals import Withdrawals

MOST_CONFLICTS: Final = 20
"""How often a conditional change is tried anew: a running task's object changes about once a second."""
STRICT: Final = {"fieldValidation": "Strict"}


class ChangedMeanwhileError(UnavailableError):
    """The object is not in the version that was to be changed."""


class KubeTaskStore:
    """Tasks in one namespace. See `TaskStore` for what each method promises."""

    def __init__(
        self,
        kube: Kube,
        *,
        namespace: str,
        reads: TaskReads,
        index: TaskIndex,
        watches: Watches,
        withdrawals: Withdrawals,
        results: LargeResults,
        admission: Admission,
        metrics: Metrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._kube, self._namespace, self._reads, self._index = kube, namespace, reads, index
        self._watches, self._withdrawals, self._admission = watches, withdrawals, admission
        self._metrics, self._clock = metrics, clock
        self._results = results
        self._lookups = RequestLookups(reads.fetch)
        self._cancelled = CancelledRequests(self._cancel_unless_handed_out, clock=clock)
        index.listeners.append(self._cancelled.look_at)
        self._log: Any = structlog.get_logger()

    async def create(self, new: NewTask, *, caller: Caller) -> McpTask:
        """Create the McpTask, then the Secret of its arguments where it needs one."""
        name = new.name or new.chosen_name or names.new_task_id()
        with self._admission.of(new):
            try:
                document = await persist(lambda: self._create(name, new, caller=caller))
            except (UnavailableError, RefusedError, asyncio.CancelledError):
                # It may have been created all the same: an answer can be lost, and so can the client that waits for it.
                if new.name is None:
                    self._withdrawals.begin(name)
                raise
            task = self._reads.learn(document)
        self._metrics.tasks_created.inc()
        self._log.info("task created", task=name, tool=new.tool, caller=caller.name)
        return task

    async def restore(self, task: McpTask, *, input_schema: Mapping[str, Any], arguments: str) -> None:
        """Create the Secret, which is there already unless whoever made the task has died before that."""
        if task.spec.arguments_from is None or is_over(task) or task.status.started_at is not None:
            return
        name, uid = task.metadata.name, task.metadata.uid
        await persist(lambda: self._ensure_secret(name, uid, input_schema, arguments))

    async def get(self, task_id: str, *, caller: Caller) -> McpTask:
        """The task, from the cache where that is as good as the API server's own answer; a large result is read."""
        if not names.is_task_id(task_id):
            raise TaskNotFoundError
        return await whole(self._visible(await self._reads.get(task_id), caller), self._results)

    async def answer(self, task_id: str, answers: Mapping[str, str], *, caller: Caller, by_model: bool = False) -> None:
        """Write the answers that are new.

        The API server lets the first one for a key stand (CEL): the loser looks anew what is left to answer.
        """
        if not names.is_task_id(task_id):
            raise TaskNotFoundError
        refusal: RejectedError | None = None
        given = len(answers)
        while True:
            task = self._visible(await self._reads.fresh(task_id), caller)
            new = new_answers(task, answers)
            if not new:
                self._log.info("answers passed over", task=task_id, keys=given, caller=caller.name)
                return
            if refusal is not None and len(new) == len(answers):
                raise RefusedError("The cluster does not take the answers; they may be too large") from refusal
            answers = new
            try:
                await self._answer(task_id, new, caller=caller, by_model=by_model)
            except RejectedError as error:
                refusal = error
            else:
                passed_over = given - len(new)
                self._log.info(
                    "task answered", task=task_id, keys=len(new), passed_over=passed_over, caller=caller.name
                )
                return

    async def cancel(self, task_id: str, *, caller: Caller) -> None:
        """Write `spec.cancelRequested`; the operator does the rest."""
        if not names.is_task_id(task_id):
            raise TaskNotFoundError
        task = self._visible(self._reads.known(task_id) or await self._reads.fresh(task_id), caller)
        if is_over(task) or task.spec.cancel_requested:
            return
        try:
            await self._patch(task_id, {"spec": {"cancelRequested": True}})
        except RejectedError as error:
            raise RefusedError(f"The cluster does not take the cancel ({error.reason or error.status})") from error
        self._log.info("task cancel requested", task=task_id, caller=caller.name)

    async def detach(self, task_id: str, *, caller: Caller) -> McpTask:
        """Write `spec.detached`."""
        task = await self.get(task_id, caller=caller)
        return task if task.spec.detached else await self._patch(task_id, {"spec": {"detached": True}})

    async def hold_again(self, task_id: str, *, at: datetime, caller: Caller) -> McpTask:
        """Write the annotation that says when."""
        await self.get(task_id, caller=caller)
        annotations = {names.HELD_ANNOTATION: format_time(at)}
        return await self._patch(task_id, {"metadata": {"annotations": annotations}})

    async def abandon(self, task_id: str, *, held_at: Collection[str | None], caller: Caller) -> None:
        """Write `spec.cancelRequested` on the very version that was looked at."""
        await self._cancel_if(lambda task: not task.spec.detached and held_at_of(task) in held_at, task_id, caller)

    async def list(self, *, caller: Caller) -> tuple[McpTask, ...]:
        """The caller's tasks from the index, or, while the watch is late, from the API server."""
        known = self._index.names_of(caller.name)
        if self._reads.is_late():
            there = await self._reads.fetch(f"{names.CALLER_LABEL}={names.label_value(caller.name)}")
            known = [name for name in self._index.names_of(caller.name) if name in there]
        now = self._clock()
        tasks = (self._reads.known(name) for name in known)
        return tuple(task for task in tasks if task is not None and not is_expired(task, now=now))

    async def cancel_request(self, request_key: str, *, caller: Caller) -> None:
        """Cancel the request's task wherever it is: known here, known to the API server, or still to come."""
        self._cancelled.add(request_key, caller=caller)
        if self._index.of_request(request_key) is None:
            await self._lookups.look_for(request_key)
        name = self._index.of_request(request_key)
        task = None if name is None else self._reads.known(name)
        cancelling = None if task is None else self._cancelled.look_at(task)
        if cancelling is not None:
            await asyncio.shield(cancelling)

    @contextmanager
    def watch(self, task_ids: Iterable[str]) -> Iterator[Changes]:
        """Be told what the reflector's cache is told: by its watch, its lists, and this replica's reads and writes."""
        with self._watches.watch(task_ids, initially=True) as watch:
            yield watch

    async def settle(self, *, seconds: float) -> None:
        """Give what is under way that long, then leave it."""
        await asyncio.gather(self._withdrawals.settle(seconds=seconds), self._cancelled.settle(seconds=seconds))

    async def _cancel_unless_handed_out(self, task_id: str, caller: Caller) -> None:
        await self._cancel_if(lambda task: not task.spec.detached, task_id, caller)

    async def _cancel_if(self, may_be: Callable[[McpTask], bool], task_id: str, caller: Caller) -> None:
        """Cancel a living task of the caller's if it is so, at a version at which it is so."""
        for _ in range(MOST_CONFLICTS):
            try:
                task = self._visible(await self._reads.fresh(task_id), caller)
            except TaskNotFoundError:
                return
            if is_over(task) or task.spec.cancel_requested or not may_be(task):
                return
            version = {"resourceVersion": task.metadata.resource_version}
            try:
                await self._patch(task_id, {"metadata": version, "spec": {"cancelRequested": True}})
            except ChangedMeanwhileError:
                continue
            self._log.info("task cancel requested", task=task_id, caller=caller.name)
            return
        raise UnavailableError(UNREACHABLE)

    def _visible(self, task: McpTask, caller: Caller) -> McpTask:
        if task.spec.caller != caller.name or is_expired(task, now=self._clock()):
            raise TaskNotFoundError
        return task

    async def _create(self, name: str, new: NewTask, *, caller: Caller) -> Json:
        """One try. A try before it may have done it, so what is there already under this name is ours."""
        document = await self._ensure(TASKS, name, task_manifest(name, new, caller=caller))
        if new.name is not None:
            check_same_call(self._reads.learn(document), new, caller=caller, now=self._clock())
        if needs_secret(new):
            await self._ensure_secret(name, document["metadata"]["uid"], new.input_schema, new.arguments)
        return document

    async def _ensure_secret(self, name: str, uid: str, input_schema: Mapping[str, Any], arguments: str) -> None:
        secret = arguments_secret(name, task_uid=uid, input_schema=input_schema, arguments=arguments)
        await self._ensure(SECRETS, None, secret)

    async def _ensure(self, kind: Kind, name: str | None, manifest: Json) -> Json:
        """Create an object, or find it there. `name`: what to read then; None where nobody may (Secrets)."""
        try:
            return await self._create_or_find(kind, name, manifest)
        except (RejectedError, NotFoundError) as error:
            # What the API server says of a Secret might quote it.
            words = error.reason if kind is SECRETS else str(error)
            self._log.error("the cluster refused an object", kind=kind.plural, error=words, status=error.status)
            raise RefusedError(f"The cluster refused the task ({error.reason or error.status})") from error

    async def _create_or_find(self, kind: Kind, name: str | None, manifest: Json) -> Json:
        try:
            return await self._kube.create(kind, self._namespace, manifest, **STRICT)
        except ConflictError:
            return {} if name is None else await self._kube.get(kind, self._namespace, name)

    async def _answer(self, task_id: str, answers: Mapping[str, str], *, caller: Caller, by_model: bool) -> None:
        road = AnswerRoad.MODEL if by_model else AnswerRoad.CALLER
        patch = {key: {"response": text, "by": caller.name, "road": road} for key, text in answers.items()}
        await self._patch(task_id, {"spec": {"answers": patch}})

    async def _patch(self, task_id: str, patch: Json) -> McpTask:
        try:
            document = await persist(lambda: self._kube.patch(TASKS, self._namespace, task_id, patch))
        except NotFoundError as error:
            raise TaskNotFoundError from error
        except ConflictError as error:  # the API server tried often enough to merge it, or the version is another one
            raise ChangedMeanwhileError(UNREACHABLE) from error
        return self._reads.learn(document)
