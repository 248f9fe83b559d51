"""What remains to be done about a task that is over: retire its Job, and remove the task when its time is over.

Its status never changes again.
"""

from datetime import datetime, timedelta
from typing import Final

from mcptasks_crds.task import TaskStatus

from .decision import Action, Decision, DeleteJob, DeleteTask, RetireJob
from .expiry import retention
from .observation import JobView, Observation, PodSeen
from .situation import exit_code, is_over

RETIRED_TTL_SECONDS: Final = 600
"""How long a finished Job and its pod, and so its log, stay behind the task's end."""
STOP_NOW_SECONDS: Final = 1
"""The Job's deadline by which Kubernetes is told to end its pod."""
KEPT_WITH_TASK: Final = timedelta(hours=1)
"""A finished Job that its task will take along within this time is left alone, which saves a request a task."""
_LINGER: Final = timedelta(seconds=30)
"""How long a pod may take to end after its tool ended by itself: sidecars, and the kubelet's own delay."""
_AFTER_RESULT: Final = timedelta(seconds=10)
"""How long a program may take to end after it gave its result: stopping it makes a failed Job of a good call."""


def after_the_end(observation: Observation) -> Decision:
    """The decision on a task that is over."""
    task = observation.task
    retire, again = retirement(observation, task.status)
    expires_at = _expires_at(observation)
    if observation.now >= expires_at:
        return Decision(status=task.status, after=(*retire, DeleteTask(uid=task.metadata.uid)))
    return Decision(
        status=task.status, after=retire, look_again_at=expires_at if again is None else min(again, expires_at)
    )


def retirement(observation: Observation, status: TaskStatus) -> tuple[tuple[Action, ...], datetime | None]:
    """How the Job of a task that is over with that status is retired, and when to look at it again."""
    job = observation.job
    if not isinstance(job, JobView) or job.deleting:
        return (), None
    if not job.is_ours and (status.job is None or status.job.uid != job.uid):
        return (), None
    if job.rests:
        return (DeleteJob(name=job.name, uid=job.uid),), None
    ended_at = _ended_at(observation, status)
    running = not (job.finished or job.failure_reason or _is_done(observation.pods))
    patience = ended_at + _patience(observation, status)
    stop = running and observation.now >= patience
    again = patience if running and not stop else None
    goes_soon = status.expires_at is not None and status.expires_at - ended_at <= KEPT_WITH_TASK
    if goes_soon and not stop:
        return (), again
    stopped = job.active_deadline_seconds == STOP_NOW_SECONDS
    if job.ttl_seconds_after_finished == RETIRED_TTL_SECONDS and (stopped or not stop):
        return (), again
    return (RetireJob(name=job.name, uid=job.uid, ttl_seconds=RETIRED_TTL_SECONDS, stop=stop),), again


def _patience(observation: Observation, status: TaskStatus) -> timedelta:
    """For how long after the task's end its pod may end by itself."""
    if _is_tried_again(observation):
        return timedelta(0)
    if _ended_well(observation.pods):
        return _LINGER
    gave_its_result = status.result is not None and status.result.source == "report"
    return _AFTER_RESULT if gave_its_result and observation.pods else timedelta(0)


def _is_tried_again(observation: Observation) -> bool:
    """Whether the Job is about to make another pod: all of them failed, and it has retries."""
    job = observation.job
    execution = job.execution if isinstance(job, JobView) else None
    if execution is None or not execution.retries or not all(map(is_over, observation.pods)):
        return False
    return not any(exit_code(pod) == 0 for pod in observation.pods)


def _ended_well(pods: tuple[PodSeen, ...]) -> bool:
    """Whether all tools ended without our doing. Stopping such a Job would only make a failed one of it."""
    return bool(pods) and all(is_over(pod) for pod in pods)


def _is_done(pods: tuple[PodSeen, ...]) -> bool:
    """Whether the Job has all it waits for, however late kube-controller-manager is with saying so: one pod succeeded
    as a whole, and no other one is there that could run."""
    return any(pod.phase == "Succeeded" for pod in pods) and all(pod.phase in ("Succeeded", "Failed") for pod in pods)


def _ended_at(observation: Observation, status: TaskStatus) -> datetime:
    return status.finished_at or status.last_updated_at or observation.now - _LINGER


def _expires_at(observation: Observation) -> datetime:
    status, task = observation.task.status, observation.task
    if status.expires_at is not None:
        return status.expires_at
    finished = status.finished_at or status.last_updated_at or task.metadata.creation_timestamp or observation.now
    return finished + retention(task)
