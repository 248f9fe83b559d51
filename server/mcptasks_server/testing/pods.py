"""Pods of tasks in tests: their tokens, what they send, and tasks in memory for them to speak of."""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import aiohttp
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import KubeError
from mcptasks_crds.task import McpTask
from mcptasks_crds.times import format_time
from mcptasks_server.errors import UnavailableError
from mcptasks_server.taskendpoint.store import Listener, NotTakenError, OvertakenError
from mcptasks_server.taskendpoint.tokens import DISCOVERY_PATH, KEYS_PATH
from mcptasks_server.tasks import Changes, TaskNotFoundError
from mcptasks_server.watching import Watches

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
NAMESPACE: Final = "ns"
POD_UID: Final = "pod-1"


@dataclass(kw_only=True)
class Issuer:
    """An API server, as far as tokens go: signs them, and shows its keys. Stands in for `Kube`."""

    issuer: str = ISSUER
    keys: dict[str, rsa.RSAPrivateKey] = field(default_factory=dict)
    failure: KubeError | None = None
    """What it answers with from now on."""
    asked: list[str] = field(default_factory=list)
    """The paths that were asked for."""

    def __post_init__(self) -> None:
        self.add_key("first")

    def add_key(self, key_id: str) -> None:
        """Sign with a further key from here on."""
        self.keys[key_id] = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, task: str, *, pod_uid: str = POD_UID, key_id: str | None = None, **changes: Any) -> str:
        """A token of a task's pod, as the kubelet would put it there; `changes` replace claims (None: drops them)."""
        now = datetime.now(UTC)
        claims = {
            "iss": self.issuer,
            "aud": [names.task_audience(task)],
            "iat": now,
            "nbf": now,
            "exp": now + timedelta(hours=1),
            "sub": f"system:serviceaccount:{NAMESPACE}:default",
            "kubernetes.io": bound(pod_uid),
            **changes,
        }
        chosen = list(self.keys)[-1] if key_id is None else key_id
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(kept, self.keys[chosen], algorithm="RS256", headers={"kid": chosen})

    async def request(self, _method: str, path: str, **_: Any) -> bytes:
        """See `Kube`."""
        self.asked.append(path)
        if self.failure is not None:
            raise self.failure
        if path == DISCOVERY_PATH:
            return json.dumps({"issuer": self.issuer, "jwks_uri": f"{self.issuer}{KEYS_PATH}"}).encode()
        keys = [
            {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "alg": "RS256"}
            for key_id, key in self.keys.items()
        ]
        return json.dumps({"keys": keys}).encode()


def bound(pod_uid: str, *, namespace: str = NAMESPACE) -> Json:
    """The claim by which a token is bound to a pod."""
    return {
        "namespace": namespace,
        "pod": {"name": "pod", "uid": pod_uid},
        "serviceaccount": {"name": "default", "uid": "account"},
    }


def running(pod_uid: str | None = POD_UID) -> Json:
    """The status of a task whose pod runs; None: nobody has recorded the pod yet."""
    job = {"name": "job", "uid": "job-uid", **({} if pod_uid is None else {"podName": "pod", "podUID": pod_uid})}
    return {"phase": "Running", "job": job, "startedAt": format_time(datetime.now(UTC))}


class InMemoryReports:
    """A `ReportStore` in memory. It has the API server's rules that decide between pods, replicas and the operator."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.writes: list[tuple[str, Json]] = []
        """Every report that was taken, in order."""
        self.failure: Exception | None = None
        """What every method that asks the API server raises from now on."""
        self.before_write: Callable[[str], None] = lambda task_id: None
        """What happens in the cluster just before a write arrives there."""
        self.looks: list[str] = []
        """The tasks that were read at the API server, in order."""
        self.is_kept_whole = True
        """Whether what is known of tasks has all parts of them."""
        self._seen: dict[str, McpTask | None] = {}
        self._watches = Watches()
        self._listeners: list[Listener] = []
        self._version = 100

    def add(self, task_id: str | None = None, *, status: Json | None = None, **spec: Any) -> str:
        """A task whose pod runs, unless told otherwise."""
        name = task_id or names.new_task_id()
        self._keep(
            name,
            {
                "apiVersion": names.API_VERSION,
                "kind": names.TASK_KIND,
                "metadata": {
                    "name": name,
                    "uid": f"uid-of-{name}",
                    "creationTimestamp": format_time(datetime.now(UTC)),
                },
                "spec": {"tool": {"name": "train"}, "arguments": "{}", **spec},
                "status": running() if status is None else status,
            },
        )
        return name

    def change(self, task_id: str, **parts: Any) -> None:
        """What others write: merge patches of `spec` and `status`."""
        self._keep(task_id, merged(self.objects[task_id], parts))

    def remove(self, task_id: str) -> None:
        """The task's time is over."""
        del self.objects[task_id]
        self._tell(task_id)

    def task(self, task_id: str) -> McpTask:
        """The task as it is."""
        return McpTask.model_validate(self.objects[task_id])

    def fall_behind(self, task_id: str) -> None:
        """From here on the watch tells nothing of the task: known of it is what is so now."""
        self._seen[task_id] = self.known(task_id)

    def is_watched(self, task_id: str) -> bool:
        """Whether somebody waits for a change of the task."""
        return self._watches.next_key() == task_id

    def known(self, task_id: str) -> McpTask | None:
        """See `ReportStore`."""
        if task_id in self._seen:
            return self._seen[task_id]
        return self.task(task_id) if task_id in self.objects else None

    def whole(self, task_id: str) -> McpTask | None:
        """See `ReportStore`."""
        return self.known(task_id) if self.is_kept_whole else None

    async def fresh(self, task_id: str) -> McpTask:
        """See `ReportStore`."""
        self.looks.append(task_id)
        return self._read(task_id)

    async def write(self, task_id: str, report: dict[str, Any], *, version: str | None = None) -> McpTask:
        """See `ReportStore`."""
        if self.failure is not None:
            raise self.failure
        self.before_write(task_id)
        before = self._read(task_id)
        if version is not None and version != before.metadata.resource_version:
            raise OvertakenError
        document = merged(self.objects[task_id], {"status": {"report": report}})
        refusal = _refusal(before, McpTask.model_validate(document))
        if refusal:
            raise NotTakenError(refusal)
        self.writes.append((task_id, report))
        self._keep(task_id, document)
        return self.task(task_id)

    @contextmanager
    def watch(self, task_ids: Iterable[str]) -> Iterator[Changes]:
        """See `ReportStore`."""
        with self._watches.watch(task_ids, initially=True) as watch:
            yield watch

    def listen(self, listener: Listener) -> None:
        """See `ReportStore`."""
        self._listeners.append(listener)

    def _read(self, task_id: str) -> McpTask:
        if self.failure is not None:
            raise self.failure
        if task_id not in self.objects:
            raise TaskNotFoundError
        return self.task(task_id)

    def _keep(self, task_id: str, document: Json) -> None:
        self._version += 1
        self.objects[task_id] = merged(document, {"metadata": {"resourceVersion": str(self._version)}})
        self._tell(task_id)

    def _tell(self, task_id: str) -> None:
        self._watches.tell(task_id)
        for listener in self._listeners:
            listener(task_id, self.known(task_id))


@dataclass(kw_only=True)
class LivingPods:
    """`Attempts` in memory."""

    alive: set[str] = field(default_factory=set)
    """The uids of those that neither are over nor go."""
    failure: UnavailableError | None = None
    """What is raised from now on."""
    looked_at: list[str] = field(default_factory=list)
    """The uids that were asked for, in order."""

    async def is_alive(self, _task: McpTask, *, pod_name: str, pod_uid: str) -> bool:
        """See `Attempts`."""
        assert pod_name
        self.looked_at.append(pod_uid)
        if self.failure is not None:
            raise self.failure
        return pod_uid in self.alive


def merged(target: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396)."""
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _refusal(before: McpTask, after: McpTask) -> str:
    """The CRD's rules, as far as two who write reports could get in each other's way."""
    old, new = before.status.report, after.status.report
    phase, job = before.status.phase, after.status.job
    assert new is not None
    progress, stands = new.progress, None if old is None else old.progress
    if phase is not None and phase.is_terminal:
        return "the task is over"
    if progress is not None and progress != stands:
        if job is None or job.pod_uid != progress.pod_uid:
            return "progress is taken from the pod of the current attempt alone"
        if stands is not None and stands.pod_uid == progress.pod_uid and progress.progress < stands.progress:
            return "progress never falls within one attempt"
    if old is not None and old.has_result and (new.result, new.result_from) != (old.result, old.result_from):
        return "a result is given once"
    if new.result is not None and new.result_from is not None:
        return "exactly one of result and resultFrom may be given"
    asked = {} if old is None else old.questions
    return "" if all(new.questions.get(key) == asked[key] for key in asked) else "a question cannot be changed"


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the endpoint answered."""

    status: int
    body: Any
    """The JSON value; None where there is no body."""
    text: str
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PodClient:
    """A pod of a task, as the endpoint sees it: bare requests with its token."""

    session: aiohttp.ClientSession
    url: str
    """The task's (`$MCPTASK_URL`)."""
    token: str | None

    async def get(self, path: str = "", **query: str) -> Said:
        """GET below the task's URL."""
        return await self.send("GET", path, params=query)

    async def put(self, path: str, body: Any, **headers: str) -> Said:
        """PUT a value, or bytes as they are, below the task's URL."""
        return await self.send("PUT", path, data=_body(body), headers=headers)

    async def post(self, path: str, body: Any, **headers: str) -> Said:
        """POST the same way."""
        return await self.send("POST", path, data=_body(body), headers=headers)

    async def send(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **options: Any) -> Said:
        """Any request."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        async with self.session.request(method, f"{self.url}{path}", headers=sent, **options) as response:
            text = await response.text()
            body = json.loads(text) if text else None
            return Said(status=response.status, body=body, text=text, headers=dict(response.headers))


def _body(body: Any) -> io.BytesIO:
    return io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
