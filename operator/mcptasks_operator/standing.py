"""How a task stands towards its tool's limit: whether it waits for a place, or has one. Pure.

The truth is what the API server has: a Job that was let start, or a pod that may still run, has a place, whatever the
task's own status says; so a limit holds across restarts, and no end that was only written frees a place too early.
"""

from collections.abc import Iterable
from enum import Enum, auto

from mcptasks_crds.base import Json
from mcptasks_crds.phases import TERMINAL, Phase

from .observe import job_view, pod_seen
from .situation import is_over


class Standing(Enum):
    """Where a task stands."""

    COMES = auto()
    """It was made and nobody has looked at it yet: it may be about to wait."""
    WAITS = auto()
    """Its Job is held back by the queue alone."""
    RUNS = auto()
    """A pod of it may run, now or by itself later."""
    ELSEWHERE = auto()
    """None of these: it waits for its tool, for an answer or for somebody else's queue, or is over."""


def standing(task: Json | None, job: Json | None, pods: Iterable[Json]) -> Standing:
    """Where a task stands, by its own object, its Job's and its pods'; None: there is none."""
    seen = [pod_seen(pod, None) for pod in pods]
    if not all(map(is_over, seen)):
        return Standing.RUNS
    if job is None:
        return Standing.COMES if _is_untouched(task) else Standing.ELSEWHERE
    view = job_view(job, task_uid="")
    if view.ends:
        return Standing.ELSEWHERE
    if not view.is_suspended:
        makes_no_more = bool(seen) and job["spec"].get("backoffLimit") == 0
        return Standing.ELSEWHERE if makes_no_more and _is_over(task) else Standing.RUNS
    return Standing.WAITS if view.is_held_back and _is_queued(task) else Standing.ELSEWHERE


def is_live(task: Json | None) -> bool:
    """Whether a task is there and not over."""
    return task is not None and not _is_over(task) and "deletionTimestamp" not in task["metadata"]


def _is_queued(task: Json | None) -> bool:
    """Whether nothing but the queue keeps a task whose Job is held back: as long as it has to be answered, or nobody
    has looked at it yet, its phase is another one."""
    if task is None or not is_live(task) or task["spec"].get("cancelRequested"):
        return False
    return bool(task.get("status", {}).get("phase") == Phase.PENDING)


def _is_untouched(task: Json | None) -> bool:
    if task is None or not is_live(task) or task["spec"].get("cancelRequested"):
        return False
    return not task.get("status", {}).get("phase")


def _is_over(task: Json | None) -> bool:
    return task is None or task.get("status", {}).get("phase") in TERMINAL
