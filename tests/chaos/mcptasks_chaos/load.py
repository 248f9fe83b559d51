"""Who calls, cancels, answers and deletes: an MCP client that asks again as clients do, and somebody with kubectl."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import aiohttp

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kind, Kube, KubeError, NotFoundError
from mcptasks_crds.phases import Phase
from mcptasks_server.tasks import IDEMPOTENCY_KEY
from mcptasks_server.testing.wire import WITH_FORMS, Wire

from .patience import patiently
from .plan import Call, Fate
from .recorder import Recorder
from .timeline import Timeline
from .tools import arguments

ANSWER_SECONDS: Final = 15.0
"""How long it waits for one answer."""
_INTERNAL_ERROR: Final = -32603
_PROPAGATION: Final[Mapping[Fate, str]] = {
    Fate.DELETE: "Background",
    Fate.DELETE_FOREGROUND: "Foreground",
    Fate.DELETE_ORPHAN: "Orphan",
}


@dataclass(kw_only=True)
class Load:
    """The calls of a run. A call is repeated under its own idempotency key until it is answered."""

    wire: Wire
    kube: Kube
    namespace: str
    recorder: Recorder
    timeline: Timeline
    secret: str
    """Makes the idempotency keys those of this run."""
    ids: dict[int, asyncio.Future[str]] = field(default_factory=dict)
    """The task of each call, once it is answered."""
    complaints: list[str] = field(default_factory=list)
    """What a client was told and should not have been."""

    async def call(self, call: Call) -> None:
        """Make a call."""
        answered = self.ids.setdefault(call.number, asyncio.get_running_loop().create_future())
        task = await self._called(call)
        self.timeline.note(f"call {call.number} ({call.tool}) is {task}")
        answered.set_result(task)

    async def meet(self, call: Call) -> None:
        """Do what is the call's fate, once it is answered."""
        task = await self.ids.setdefault(call.number, asyncio.get_running_loop().create_future())
        await self._fate(call, task)
        self.timeline.note(f"{call.fate} {call.number} is done")

    def known(self) -> dict[int, str]:
        """The task of each call that was answered."""
        answered = {number: each for number, each in self.ids.items() if each.done() and not each.cancelled()}
        return {number: each.result() for number, each in answered.items()}

    async def shown(self, task: str) -> Json:
        """What `tasks/get` shows, or the error."""
        return await self._asked("tasks/get", {"taskId": task})

    async def _fate(self, call: Call, task: str) -> None:
        match call.fate:
            case Fate.AGAIN:
                again = await self._called(call)
                if again != task:
                    self.complaints.append(f"call {call.number} was {task}, and again {again}")
            case Fate.CANCEL:
                await self._asked("tasks/cancel", {"taskId": task})
            case Fate.ACCEPT | Fate.DECLINE:
                await self._answer(call, task)
            case Fate.DELETE | Fate.DELETE_FOREGROUND | Fate.DELETE_ORPHAN:
                await self._delete(TASKS, task, _PROPAGATION[call.fate])
            case Fate.DELETE_JOB:
                await self._delete(JOBS, names.job_name(task), "Background")
            case Fate.DELETE_POD:
                await self._delete_pod(task)
            case Fate.NOTHING:
                pass

    async def _called(self, call: Call) -> str:
        meta = {IDEMPOTENCY_KEY: f"{self.secret}-{call.number}"}
        answer = await self._asked("tools/call", {"name": str(call.tool), "arguments": arguments(call)}, meta=meta)
        task = answer.get("result", {}).get("taskId")
        if not isinstance(task, str):
            raise AssertionError(f"call {call.number} is answered with no task: {json.dumps(answer)[:500]}")
        return task

    async def _answer(self, call: Call, task: str) -> None:
        """Answer once the question is there, as a client does that polls; a task that is over asks nothing any more."""

        async def shown() -> Json | None:
            shown: Json = (await self._asked("tasks/get", {"taskId": task})).get("result", {})
            return shown if shown.get("status") not in {"working", None} else None

        asked = (await patiently(shown)).get("inputRequests", {})
        for key, request in asked.items():
            said: Json = {"action": "decline"}
            if call.fate is Fate.ACCEPT:
                fields = request["params"]["requestedSchema"]["properties"]
                said = {"action": "accept", "content": dict.fromkeys(fields, True)}
            answer = await self._asked("tasks/update", {"taskId": task, "inputResponses": {key: said}})
            if "result" not in answer:
                self.complaints.append(f"the answer to {task} was refused: {json.dumps(answer)[:500]}")

    async def _delete_pod(self, task: str) -> None:
        async def pod() -> str | None:
            version = next((each[-1] for key, each in self.recorder.tasks.items() if key.startswith(f"{task}/")), None)
            for each in self.recorder.pods.values():
                if each[-1].document["metadata"].get("labels", {}).get(names.TASK_LABEL) == task:
                    return str(each[-1].document["metadata"]["name"])
            phase = version and version.document.get("status", {}).get("phase")
            return "" if phase and Phase(phase).is_terminal else None

        name = await patiently(pod)
        if name:
            await self._delete(PODS, name, "Background")

    async def _delete(self, kind: Kind, name: str, propagation: str) -> None:
        async def is_deleted() -> bool:
            try:
                body = {"propagationPolicy": propagation}
                await self.kube.request("DELETE", kind.path(self.namespace, name), body=body)
            except NotFoundError:
                # A Job may not be there yet; a task that is asked for twice may be gone.
                return kind is not JOBS or self._is_over(name)
            except KubeError:  # the API server is away
                return False
            return True

        await patiently(is_deleted)

    def _is_over(self, task: str) -> bool:
        versions = next((each for key, each in self.recorder.tasks.items() if key.startswith(f"{task}/")), [])
        phase = versions[-1].document.get("status", {}).get("phase") if versions else None
        return phase is not None and Phase(phase).is_terminal

    async def _asked(self, method: str, params: Json, *, meta: Mapping[str, Any] | None = None) -> Json:
        """The answer's body, asked for again while there is none, or one that says that the server cannot now."""
        ask: Callable[[], Awaitable[Json | None]] = partial(self._once, method, params, meta)
        return await patiently(ask)

    async def _once(self, method: str, params: Json, meta: Mapping[str, Any] | None) -> Json | None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self.wire.call(method, params, capabilities=WITH_FORMS, meta=meta)
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None
        body: Json = answer.body
        if answer.status >= 500 or body.get("error", {}).get("code") == _INTERNAL_ERROR:
            return None
        return body
