"""A `TaskStore` that keeps tasks in memory."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.task import McpTask
from mcptasks_crds.times import format_time
from mcptasks_server.answering import new_answers
from mcptasks_server.caller import Caller
from mcptasks_server.cluster.admission import DEFAULT_MAX_TASKS, Admission
from mcptasks_server.cluster.manifests import task_manifest
from mcptasks_server.errors import RpcError
from mcptasks_server.idempotency import check_same_call
from mcptasks_server.largeresults import whole
from mcptasks_server.projection import is_expired, is_over
from mcptasks_server.tasks import Changes, NewTask, TaskNotFoundError
from mcptasks_server.tasks import held_at as held_at_of
from mcptasks_server.watching import Watches

from .results import InMemoryResults


class InMemoryTaskStore:
    """Tasks as the objects they would be. `write_status` is the operator's and the pod's hand."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.objects: dict[str, Json] = {}
        """The objects by name."""
        self.created: list[NewTask] = []
        """Every call that became a task, in order."""
        self.results = InMemoryResults()
        """Where results are that are too large for their tasks."""
        self.max_tasks = DEFAULT_MAX_TASKS
        """How many tasks are kept at most."""
        self.failure: RpcError | None = None
        """What every method raises from now on."""
        self.gate = asyncio.Event()
        """What every method waits for; open unless a test closes it."""
        self.gate.set()
        self.arrived = asyncio.Event()
        """Somebody has come to the gate."""
        self.given_up = asyncio.Event()
        """Somebody was cancelled while waiting at the gate."""
        self.watches = Watches()
        """Who waits for changes of which tasks."""
        self._version = 0
        self._cancelled_requests: set[tuple[str, str]] = set()

    async def create(self, new: NewTask, *, caller: Caller) -> McpTask:
        """Keep a new task."""
        await self._ready()
        name = new.name or new.chosen_name or names.new_task_id()
        with Admission(self, max_tasks=self.max_tasks).of(new):
            return self._create(name, new, caller=caller)

    def __len__(self) -> int:
        """How many tasks there are."""
        return len(self.objects)

    def live_of(self, tool: str) -> int:
        """How many of a tool's tasks are not over."""
        tasks = (McpTask.model_validate(document) for document in self.objects.values())
        return sum(task.spec.tool.name == tool and not is_over(task) for task in tasks)

    def _create(self, name: str, new: NewTask, *, caller: Caller) -> McpTask:
        if name in self.objects:
            task = McpTask.model_validate(self.objects[name])
            check_same_call(task, new, caller=caller, now=self._clock())
            return task
        document = task_manifest(name, new, caller=caller)
        document["metadata"]["uid"] = f"uid-of-{name}"
        document["metadata"]["creationTimestamp"] = format_time(self._clock().replace(microsecond=0))
        self._keep(name, document)
        self.created.append(new)
        self.watches.tell(name)
        if (new.request_key, caller.name) in self._cancelled_requests and not new.detached:
            self._merge(name, {"spec": {"cancelRequested": True}})
        return McpTask.model_validate(self.objects[name])

    async def restore(self, task: McpTask, *, input_schema: Mapping[str, Any], arguments: str) -> None:
        """Nothing is ever half-made here."""

    async def get(self, task_id: str, *, caller: Caller) -> McpTask:
        """The task as it is now."""
        await self._ready()
        document = self.objects.get(task_id)
        if document is None or not names.is_task_id(task_id):
            raise TaskNotFoundError
        task = McpTask.model_validate(document)
        if task.spec.caller != caller.name or is_expired(task, now=self._clock()):
            raise TaskNotFoundError
        return await whole(task, self.results)

    async def answer(self, task_id: str, answers: Mapping[str, str], *, caller: Caller, by_model: bool = False) -> None:
        """Answer what is asked."""
        task = await self.get(task_id, caller=caller)
        new = {
            key: {"response": text, "by": caller.name, "road": "model" if by_model else "caller"}
            for key, text in new_answers(task, answers).items()
        }
        self._merge(task_id, {"spec": {"answers": new}})

    async def cancel(self, task_id: str, *, caller: Caller) -> None:
        """Ask for the task's end."""
        if not is_over(await self.get(task_id, caller=caller)):
            self._merge(task_id, {"spec": {"cancelRequested": True}})

    async def detach(self, task_id: str, *, caller: Caller) -> McpTask:
        """Note that the id is handed out."""
        await self.get(task_id, caller=caller)
        return self._merge(task_id, {"spec": {"detached": True}})

    async def hold_again(self, task_id: str, *, at: datetime, caller: Caller) -> McpTask:
        """Note that a call is held again."""
        await self.get(task_id, caller=caller)
        annotations = {names.HELD_ANNOTATION: format_time(at)}
        return self._merge(task_id, {"metadata": {"annotations": annotations}})

    async def abandon(self, task_id: str, *, held_at: Collection[str | None], caller: Caller) -> None:
        """Cancel a task whose held call was cut."""
        try:
            task = await self.get(task_id, caller=caller)
        except TaskNotFoundError:
            return
        if not is_over(task) and not task.spec.detached and held_at_of(task) in held_at:
            self._merge(task_id, {"spec": {"cancelRequested": True}})

    async def list(self, *, caller: Caller) -> tuple[McpTask, ...]:
        """The caller's tasks."""
        await self._ready()
        tasks = [McpTask.model_validate(document) for document in reversed(self.objects.values())]
        return tuple(
            task for task in tasks if task.spec.caller == caller.name and not is_expired(task, now=self._clock())
        )

    async def cancel_request(self, request_key: str, *, caller: Caller) -> None:
        """Cancel the request's task, be it there or still to come."""
        self._cancelled_requests.add((request_key, caller.name))
        for task in await self.list(caller=caller):
            is_its = task.metadata.labels.get(names.REQUEST_LABEL) == request_key
            if is_its and not task.spec.detached and not is_over(task):
                self._merge(task.metadata.name, {"spec": {"cancelRequested": True}})

    @contextmanager
    def watch(self, task_ids: Iterable[str]) -> Iterator[Changes]:
        """Be told of each change."""
        with self.watches.watch(task_ids, initially=True) as watch:
            yield watch

    def delete(self, task_id: str) -> None:
        """Remove a task, as the operator does when its time is over."""
        del self.objects[task_id]
        self.watches.tell(task_id)

    async def write_status(self, task_id: str, patch: Mapping[str, Any]) -> None:
        """Merge a patch into a task's status."""
        self._merge(task_id, {"status": patch})

    async def _ready(self) -> None:
        self.arrived.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up.set()
            raise
        if self.failure is not None:
            raise self.failure

    def _merge(self, name: str, patch: Mapping[str, Any]) -> McpTask:
        merged = _merged(self.objects[name], patch)
        assert isinstance(merged, dict)
        self._keep(name, merged)
        self.watches.tell(name)
        return McpTask.model_validate(self.objects[name])

    def _keep(self, name: str, document: Json) -> None:
        self._version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        self.objects[name] = {**document, "metadata": metadata}


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, Mapping):
        return patch
    base = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            base.pop(name, None)
        else:
            base[name] = _merged(base.get(name), value)
    return base
