"""An API server in memory, as far as the operator's calls go. The contract suite holds it against the real one."""

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import uuid4

from mcptasks_crds.base import Json
from mcptasks_crds.kube import TASKS, TOOLS, ConflictError, Kind, KubeError, NotFoundError, RejectedError
from mcptasks_crds.phases import Phase

WITH_STATUS: Final = (TASKS, TOOLS)
"""Kinds whose status is a subresource; the operator writes no other kind's."""


class Call(NamedTuple):
    """One request."""

    verb: str
    resource: str


@dataclass(kw_only=True)
class Fault:
    """What goes wrong with the next such call: before it is done, or after it (the answer is lost)."""

    call: Call
    error: KubeError
    is_done: bool = False


@dataclass(kw_only=True)
class FakeCluster:
    """Objects by kind, namespace and name; what was asked; and what is to go wrong."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    logs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Logs by pod and container."""
    refused_jobs: str | None = None
    """Why every Job is refused."""
    _objects: dict[tuple[Kind, str, str], Json] = field(default_factory=dict)
    _version: int = 1000

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """See `Cluster`."""
        self._enter("get", kind.plural)
        return deepcopy(self._find(kind, namespace, name))

    async def list(self, kind: Kind, namespace: str, **query: str) -> Json:
        """See `Cluster`."""
        self._enter("list", kind.plural)
        found = [
            deepcopy(document)
            for (of, where, _), document in sorted(self._objects.items(), key=lambda item: item[0][2])
            if of == kind and where == namespace and _matches(document, query.get("labelSelector", ""))
        ]
        first, limit = int(query.get("continue", "0")), int(query.get("limit", "0")) or len(found)
        metadata = {"resourceVersion": str(self._version)}
        if len(found) > first + limit:
            metadata["continue"] = str(first + limit)
        return {"metadata": metadata, "items": found[first : first + limit]}

    async def list_metadata(self, kind: Kind, namespace: str, **query: str) -> Json:
        """See `Cluster`."""
        page = await self.list(kind, namespace, **query)
        return {**page, "items": [{"metadata": document["metadata"]} for document in page["items"]] or None}

    async def create(self, kind: Kind, namespace: str, manifest: Json, **query: str) -> Json:
        """See `Cluster`."""
        fault = self._enter("create", kind.plural)
        if kind.plural == "jobs" and self.refused_jobs is not None:
            raise RejectedError(self.refused_jobs, status=422, reason="Invalid")
        document = deepcopy(manifest)
        name = document["metadata"]["name"]
        if (kind, namespace, name) in self._objects:
            raise ConflictError(f"{name} exists", status=409, reason="AlreadyExists")
        document["metadata"] |= {
            "namespace": namespace,
            "uid": str(uuid4()),
            "generation": 1,
            "creationTimestamp": self.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if kind in WITH_STATUS:
            document.pop("status", None)
        if query.get("dryRun") != "All":
            self._store(kind, namespace, document)
        self._leave(fault)
        return deepcopy(document)

    async def patch(
        self, kind: Kind, namespace: str, name: str, patch: Json, *, subresource: str | None = None, **_query: str
    ) -> Json:
        """See `Cluster`."""
        fault = self._enter("patch", kind.plural if subresource is None else f"{kind.plural}/{subresource}")
        known = self._find(kind, namespace, name)
        wanted = patch.get("metadata", {})
        if wanted.get("uid", known["metadata"]["uid"]) != known["metadata"]["uid"]:
            raise RejectedError("metadata.uid: field is immutable", status=422, reason="Invalid")
        if wanted.get("resourceVersion", known["metadata"]["resourceVersion"]) != known["metadata"]["resourceVersion"]:
            raise ConflictError(f"{name} was modified", status=409, reason="Conflict")
        part = {key: value for key, value in patch.items() if (key == "status") == (subresource == "status")}
        part["metadata"] = {key: wanted[key] for key in ("labels", "annotations") if key in wanted}
        changed = _merged(known, part)
        _judge(kind, known, changed)
        if changed != known:
            if changed.get("spec") != known.get("spec"):
                changed["metadata"]["generation"] += 1
            self._store(kind, namespace, changed)
        self._leave(fault)
        return deepcopy(self._find(kind, namespace, name))

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> None:
        """See `Cluster`."""
        fault = self._enter("delete", kind.plural)
        known = self._find(kind, namespace, name)
        if uid is not None and uid != known["metadata"]["uid"]:
            raise ConflictError(f"{name} has another uid", status=409, reason="Conflict")
        self._remove(kind, namespace, name)
        self._leave(fault)

    async def stream(
        self, kind: Kind, namespace: str, name: str, *, subresource: str, timeout_seconds: float, **query: str
    ) -> AsyncIterator[bytes]:
        """See `Cluster`."""
        fault = self._enter("get", f"{kind.plural}/{subresource}")
        self._find(kind, namespace, name)
        self._leave(fault)
        lines = self.logs.get((name, query["container"]), b"").splitlines(keepends=True)
        yield b"".join(lines[-int(query["tailLines"]) :])

    def put(self, kind: Kind, namespace: str, document: Json) -> Json:
        """Let an object be, as whoever else than the operator would make it (a pod by the Job controller, say)."""
        made = deepcopy(document)
        made["metadata"] = {
            "namespace": namespace,
            "uid": str(uuid4()),
            "generation": 1,
            "creationTimestamp": self.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        } | made["metadata"]
        self._store(kind, namespace, made)
        return deepcopy(made)

    @property
    def version(self) -> str:
        """The newest resource version."""
        return str(self._version)

    def all(self, kind: Kind) -> tuple[Json, ...]:
        """All objects of a kind."""
        return tuple(deepcopy(document) for (of, _, _), document in self._objects.items() if of == kind)

    def _enter(self, verb: str, resource: str) -> Fault | None:
        call = Call(verb, resource)
        self.calls.append(call)
        for fault in self.faults:
            if fault.call == call:
                self.faults.remove(fault)
                if not fault.is_done:
                    raise fault.error
                return fault
        return None

    @staticmethod
    def _leave(fault: Fault | None) -> None:
        if fault is not None:
            raise fault.error

    def _find(self, kind: Kind, namespace: str, name: str) -> Json:
        try:
            return self._objects[kind, namespace, name]
        except KeyError:
            raise NotFoundError(f"{kind.plural} {name} not found", status=404, reason="NotFound") from None

    def _store(self, kind: Kind, namespace: str, document: Json) -> None:
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        self._objects[kind, namespace, document["metadata"]["name"]] = document

    def _remove(self, kind: Kind, namespace: str, name: str) -> None:
        self._version += 1
        uid = self._objects.pop((kind, namespace, name))["metadata"]["uid"]
        for of, where, owned in list(self._objects):
            owners = self._objects.get((of, where, owned), {}).get("metadata", {}).get("ownerReferences", ())
            if any(owner["uid"] == uid for owner in owners):
                self._remove(of, where, owned)


def pod_manifest(job: Json, *, status: Json | None = None) -> Json:
    """A pod as the Job controller makes it of a Job."""
    template, metadata = job["spec"]["template"], job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-pod",
            "labels": template["metadata"]["labels"] | {"batch.kubernetes.io/job-name": metadata["name"]},
            "ownerReferences": [owner | {"controller": True}],
        },
        "spec": deepcopy(template["spec"]),
        "status": status or {"phase": "Pending"},
    }


def _judge(kind: Kind, known: Json, changed: Json) -> None:
    """The one rule of the CRDs that the operator's correctness leans on: what is over stays as it is."""
    before, after = known.get("status", {}), changed.get("status", {})
    if kind == TASKS and before.get("phase") and Phase(before["phase"]).is_terminal and before != after:
        raise RejectedError("a task that is over does not change", status=422, reason="Invalid")


def _matches(document: Json, selector: str) -> bool:
    labels = document["metadata"].get("labels", {})
    pairs = (each.partition("=") for each in selector.split(",") if each)
    return all(labels.get(name) == value for name, _, value in pairs)


def _merged(document: Json, patch: Json) -> Json:
    merged = deepcopy(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            before = merged.get(name)
            merged[name] = _merged(before if isinstance(before, dict) else {}, value)
        else:
            merged[name] = json.loads(json.dumps(value))
    return merged
