"""What is kept of an object in memory: what decisions read of it, and no more. Pure.

There are a thousand tasks as easily as ten, each with its Job and pod, and most of these objects is the pod's template,
twice. What two decisions need is kept whole; what nobody reads is left out, and what may be large of a task that is
over.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kind
from mcptasks_crds.phases import TERMINAL

_GIVEN: Final = frozenset({"result", "report", "logTail"})
_ASKED: Final = frozenset({"arguments", "questions", "answers"})
_JOB_ANNOTATIONS: Final = (names.EXECUTION_ANNOTATION, names.RELEASED_ANNOTATION)
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_OF_A_CONTAINER: Final = ("name", "restartPolicy")


def kept(kind: Kind, document: Json) -> Json:
    """A copy of an object with what is kept of it; the original stays as it is."""
    copy = {**document, "metadata": _without(document["metadata"], ("managedFields",))}
    part = _PARTS.get(kind)
    if part is None:  # a tool is kept whole: from it the Jobs are made
        return copy
    shared: Json = _with_shared_names(part(copy))
    return shared


def _of_task(task: Json) -> Json:
    """Of a task that is over only that, how, and until when it is kept."""
    status = task.get("status", {})
    if status.get("phase") not in TERMINAL:
        return task
    task["status"] = _without(status, _GIVEN)
    if "from" in status.get("result", {}):  # by that, its pod is left a while to end by itself
        task["status"]["result"] = {"from": status["result"]["from"]}
    task["spec"] = _without(task["spec"], _ASKED)
    return task


def _of_job(job: Json) -> Json:
    """Of the pod template only the volumes: they tell of the Secret that a task without owner has left."""
    metadata, spec = job["metadata"], job.get("spec", {})
    if "annotations" in metadata:
        annotations = _only(metadata["annotations"], _JOB_ANNOTATIONS)
        # The same text for all tasks of a tool, its output schema in it.
        metadata["annotations"] = {key: sys.intern(text) for key, text in annotations.items()}
    if "template" in spec:
        template = {"spec": _only(spec["template"].get("spec", {}), ("volumes",))}
        job["spec"] = {**spec, "template": template}
    return job


def _of_pod(pod: Json) -> Json:
    """Of what it is made of only where it is and what its containers are called; its arguments are annotations."""
    pod["metadata"].pop("annotations", None)
    if "spec" in pod:
        spec = pod["spec"]
        containers = {
            group: [_only(each, _OF_A_CONTAINER) for each in spec[group]] for group in _CONTAINERS if group in spec
        }
        pod["spec"] = {**_only(spec, ("nodeName",)), **containers}
    return pod


_PARTS: Final[Mapping[Kind, Callable[[Json], Json]]] = {TASKS: _of_task, JOBS: _of_job, PODS: _of_pod}


def _without(members: Mapping[str, Any], names_of: Iterable[str]) -> Json:
    return {key: value for key, value in members.items() if key not in names_of}


def _only(members: Mapping[str, Any], names_of: Iterable[str]) -> Json:
    return {key: members[key] for key in names_of if key in members}


def _with_shared_names(value: Any) -> Any:
    """The same, with each member's name there once for all objects: a parser makes them anew for each document."""
    if isinstance(value, dict):
        return {sys.intern(name): _with_shared_names(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_shared_names(item) for item in value]
    return value
