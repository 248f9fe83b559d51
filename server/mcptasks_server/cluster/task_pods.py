"""Whether a pod is a task's own, and which of its containers is the tool. Pure.

A task's status names its pod, but whoever may write a status could name any other one. So the pod itself must say whose
it is, by what only Kubernetes' Job controller writes: its owner, which is the one Job that has the task's name.
"""

from typing import Any

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.task import McpTask


def recorded_pod(task: McpTask) -> str | None:
    """The name of the task's current pod, as its status has it; None where it names none, or what can be no name."""
    name = None if task.status.job is None else task.status.job.pod_name
    return name if name is not None and names.is_object_name(name) else None


def is_pod_of(pod: Json, task: McpTask) -> bool:
    """Whether a pod is the one that runs the task: of its Job, with the uids that the status has."""
    job = task.status.job
    return job is not None and pod["metadata"]["uid"] == job.pod_uid and is_made_for(pod, task)


def is_made_for(pod: Json, task: McpTask) -> bool:
    """Whether a pod was made by the task's Job, the one whose uid the status has, be it now or before."""
    job, metadata = task.status.job, pod["metadata"]
    if job is None:
        return False
    if metadata.get("labels", {}).get(names.TASK_LABEL) != task.metadata.name:
        return False
    return any(_is_job_of(owner, task, job.uid) for owner in metadata.get("ownerReferences", ()))


def tools_container(pod: Json) -> str | None:
    """The name of the container that is the tool; None where the pod has none."""
    for container in pod["spec"]["containers"]:
        if any(variable["name"] == names.RESULT_VARIABLE for variable in container.get("env", ())):
            return str(container["name"])
    return None


def has_begun(pod: Json, container: str) -> bool:
    """Whether a container has run, so that there is a log of it."""
    states: list[Any] = pod.get("status", {}).get("containerStatuses", [])
    return any(each["name"] == container and not each["state"].keys() <= {"waiting"} for each in states)


def _is_job_of(owner: Json, task: McpTask, uid: str) -> bool:
    return (
        owner["kind"] == "Job"
        and owner["apiVersion"].partition("/")[0] == "batch"
        and owner["name"] == names.job_name(task.metadata.name)
        and owner["uid"] == uid
        and owner.get("controller") is True
    )
