"""What a decision asks for, done in the cluster. Each of these may be done twice."""

import socket
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, assert_never

import structlog

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import (
    EVENTS,
    JOBS,
    PODS,
    SECRETS,
    TASKS,
    ConflictError,
    Kind,
    KubeError,
    NotFoundError,
    RejectedError,
)
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import McpTask, TaskStatus
from mcptasks_crds.times import format_time
from mcptasks_crds.tool import McpTool

from .causes import reason_of_refusal
from .cleanup import STOP_NOW_SECONDS
from .cluster import Cluster
from .decision import (
    Action,
    DeleteJob,
    DeleteTask,
    ExtendJob,
    RecordAnswer,
    RecordEvent,
    ReleaseJob,
    RetireJob,
    StopJob,
)
from .errors import JobRefusedError
from .events import event_manifest
from .jobs import render
from .observation import Absent, Refusal
from .orphans import is_orphan, orphaned_secret
from .patches import merge_patch
from .store import Store, version_of

JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
"""Set by Kubernetes on each pod of a Job: https://kubernetes.io/docs/reference/labels-annotations-taints/"""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Applier:
    """Writes to one namespace of the cluster, and keeps the store as new as its own writes."""

    cluster: Cluster
    store: Store
    namespace: str
    assign_uid: bool = True
    """Whether a pod whose author names no user gets one, or the platform assigns it."""
    endpoint: str | None = None
    """Where pods reach the task endpoint; None where there is none."""
    instance: str = field(default_factory=socket.gethostname)

    async def find_job(self, task: McpTask) -> Json | None:
        """The Job that has the name of the task's Job, asked from the API server; None if there is none."""
        name = names.job_name(task.metadata.name)
        try:
            found = await self.cluster.get(JOBS, self.namespace, name)
        except NotFoundError:
            self._lost_job(name)
            return None
        return self._seen_job(found, task)

    async def find_pods(self, task: McpTask) -> None:
        """Bring the store's pods of a task to what the API server has now."""
        # The Job controller's own label: ours may have been changed by hand, and then no watch tells of the pod.
        selector = f"{JOB_NAME_LABEL}={names.job_name(task.metadata.name)}"
        found = await self.cluster.list(PODS, self.namespace, labelSelector=selector)
        version = found["metadata"]["resourceVersion"]
        for document in found["items"]:
            self.store.put(PODS, document, as_of=version)
        there = {document["metadata"]["name"] for document in found["items"]}
        for name in [document["metadata"]["name"] for document in self.store.pods_of(task.metadata.name)]:
            if name not in there:
                await self._look_for_pod(name, version=version)

    async def _look_for_pod(self, name: str, *, version: str) -> None:
        """Forget a pod that a listing did not show, if it is gone and not merely labelled otherwise."""
        try:
            self.store.put(PODS, await self.cluster.get(PODS, self.namespace, name))
        except NotFoundError:
            self.store.remove(PODS, name, version=version)

    async def create_job(self, task: McpTask, tool: McpTool | None) -> Json | Refusal:
        """Create the task's Job. Where one of its name is already there, that one is returned, whoever's it is."""
        if tool is None:
            return Refusal(reason=Reason.TOOL_NOT_FOUND, message=f"there is no tool named {task.spec.tool.name}")
        try:
            manifest = render(task, tool, assign_uid=self.assign_uid, endpoint=self.endpoint)
        except JobRefusedError as refused:
            return Refusal(reason=refused.reason, message=refused.message)
        try:
            made = await self.cluster.create(JOBS, self.namespace, manifest, fieldValidation="Strict")
        except ConflictError:  # also what a repeated POST meets whose first answer was lost
            made = await self.cluster.get(JOBS, self.namespace, names.job_name(task.metadata.name))
        except RejectedError as refused:
            return Refusal(reason=reason_of_refusal(refused.words), message=refused.words)
        return self._seen_job(made, task)

    async def release_job(self, release: ReleaseJob) -> Json | Absent | Refusal:
        """Let a Job start that was held back. Its pod template may change in this one patch: it never had a pod."""
        released = {names.RELEASED_ANNOTATION: format_time(release.at)}
        answers = {names.ANSWERS_ANNOTATION: release.answers}
        metadata: Json = {"uid": release.uid, "annotations": released}
        spec: Json = {"template": {"metadata": {"annotations": answers}}}
        if release.queue_name is None:
            spec["suspend"] = False
        else:
            metadata["labels"] = {names.QUEUE_LABEL: release.queue_name}
        patch = {"metadata": metadata, "spec": spec}
        try:
            made = await self.cluster.patch(JOBS, self.namespace, release.name, patch)
        except NotFoundError:
            return self._lost_job(release.name)
        except RejectedError as refused:
            if await self._has_uid(JOBS, release.name, release.uid):
                return Refusal(reason=Reason.JOB_REJECTED, message=refused.words)
            return self._lost_job(release.name)
        self.store.put(JOBS, made)
        return made

    def _lost_job(self, name: str) -> Absent:
        known = self.store.get(JOBS, name)
        if known is not None:
            self.store.remove(JOBS, name, version=version_of(known))
        return Absent.CONFIRMED

    async def write_status(self, task: McpTask, status: TaskStatus) -> Json | None:
        """Write what differs from the task's status, if anything does.

        Raises:
            ConflictError: the task is not in the version any more that the status was decided from.
        """
        changes = merge_patch(_own_part(task.status), _own_part(status))
        if not changes:
            return None
        patch = {"metadata": {"resourceVersion": task.metadata.resource_version}, "status": changes}
        name = task.metadata.name
        try:
            written = await self.cluster.patch(TASKS, self.namespace, name, patch, subresource="status")
        except RejectedError as refused:
            # A rule of the API server may have been the judge between us and somebody who was faster; it can speak
            # before the version is compared. If nobody was, the refusal is ours to show.
            if await self.is_overtaken(task):
                raise ConflictError(str(refused), status=refused.status, reason=refused.reason) from refused
            raise
        self.store.put(TASKS, written)
        return written

    async def is_overtaken(self, task: McpTask) -> bool:
        """Read the task anew, into the store, and say whether it is another version (or gone)."""
        name = task.metadata.name
        try:
            fresh = await self.cluster.get(TASKS, self.namespace, name)
        except NotFoundError:
            self.store.remove(TASKS, name, version=task.metadata.resource_version)
            return True
        self.store.put(TASKS, fresh)
        return bool(fresh["metadata"]["resourceVersion"] != task.metadata.resource_version)

    async def perform(self, action: Action, task: McpTask, *, now: datetime) -> None:
        """Do what comes after the status. What is already gone is done."""
        match action:
            case StopJob():
                await self._patch_job(action.name, action.uid, {"activeDeadlineSeconds": STOP_NOW_SECONDS})
            case ExtendJob():
                await self._patch_job(
                    action.name, action.uid, {"activeDeadlineSeconds": action.active_deadline_seconds}
                )
            case DeleteJob():
                await self._delete_job(action)
            case RetireJob():
                changes: Json = {"ttlSecondsAfterFinished": action.ttl_seconds}
                if action.stop:
                    changes["activeDeadlineSeconds"] = STOP_NOW_SECONDS
                await self._patch_job(action.name, action.uid, changes)
            case DeleteTask():
                await self._delete_task(task, action.uid)
            case RecordEvent() | RecordAnswer():
                await self._record(task, action, now)
            case _:
                assert_never(action)

    async def sweep(self, task: str) -> None:
        """Remove the Job, and the Secret, of a task that was deleted without what it owned."""
        job = self.store.get(JOBS, names.job_name(task))
        if job is None or not is_orphan(job):
            return
        try:
            self.store.put(TASKS, await self.cluster.get(TASKS, self.namespace, task))
        except NotFoundError:
            secret = orphaned_secret(job)
            if secret is not None:  # first, for without the Job nobody knows of it
                await self._delete_secret(secret)
            await self._delete_job(DeleteJob(name=job["metadata"]["name"], uid=job["metadata"]["uid"]))
            _log.info("orphan_removed", task=task)

    async def _delete_secret(self, name: str) -> None:
        try:
            await self.cluster.delete(SECRETS, self.namespace, name)
        except NotFoundError:
            _log.debug("secret_gone_before_deletion", secret=name)

    async def _patch_job(self, name: str, uid: str, changes: Json) -> None:
        patch = {"metadata": {"uid": uid}, "spec": changes}
        try:
            self.store.put(JOBS, await self.cluster.patch(JOBS, self.namespace, name, patch))
        except NotFoundError:
            _log.debug("job_gone_before_patch", job=name, uid=uid)
        except RejectedError:
            # A patch cannot have a precondition on the uid, but it is refused where it would change it.
            if await self._has_uid(JOBS, name, uid):
                raise
            _log.debug("job_gone_before_patch", job=name, uid=uid)

    async def _has_uid(self, kind: Kind, name: str, uid: str) -> bool:
        try:
            found = await self.cluster.get(kind, self.namespace, name)
        except NotFoundError:
            return False
        return bool(found["metadata"]["uid"] == uid)

    async def _delete_job(self, action: DeleteJob) -> None:
        try:
            await self.cluster.delete(JOBS, self.namespace, action.name, uid=action.uid)
        except NotFoundError:
            _log.debug("job_gone_before_deletion", job=action.name, uid=action.uid)
        except ConflictError:
            if await self._has_uid(JOBS, action.name, action.uid):
                raise

    async def _delete_task(self, task: McpTask, uid: str) -> None:
        name = task.metadata.name
        try:
            await self.cluster.delete(TASKS, self.namespace, name, uid=uid)
        except NotFoundError:
            _log.debug("task_gone_before_deletion", task=name, uid=uid)
        except ConflictError:  # another task has that name; or the API server could not do it just then
            if await self._has_uid(TASKS, name, uid):
                raise
        self.store.remove(TASKS, name, version=task.metadata.resource_version)

    async def _record(self, task: McpTask, event: RecordEvent | RecordAnswer, now: datetime) -> None:
        manifest = event_manifest(task, event, now=now, instance=self.instance)
        try:
            await self.cluster.create(EVENTS, self.namespace, manifest)
        except ConflictError:
            _log.debug("event_already_recorded", task=task.metadata.name)
        except KubeError as error:  # an Event is for people: it is worth a try, never a failed task
            _log.warning("event_not_recorded", task=task.metadata.name, error=str(error))

    def _seen_job(self, document: Json, task: McpTask) -> Json:
        """Keep a Job that is ours. Another's is not kept: no watch of ours would ever tell of its end."""
        if any(owner["uid"] == task.metadata.uid for owner in document["metadata"].get("ownerReferences", ())):
            self.store.put(JOBS, document)
        return document


def _own_part(status: TaskStatus) -> Json:
    """The status without the pod's own word, which the operator never writes."""
    return {name: value for name, value in status.manifest().items() if name != "report"}
