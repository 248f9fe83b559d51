"""Raw objects of the API server, turned into the frozen values that decisions are made from. Reads nothing itself."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.times import parse_time

from .executions import execution_from_json
from .observation import ContainerSeen, Execution, JobView, PodSeen, Termination
from .templates import MAIN_CONTAINER

Json = Mapping[str, Any]

_ENDED: Final = ("Complete", "Failed")
_FAILED: Final = ("Failed", "FailureTarget")
_ENDS: Final = (*_ENDED, *_FAILED, "SuccessCriteriaMet")
_SCHEDULED: Final = "PodScheduled"
_DISRUPTED: Final = "DisruptionTarget"
_SIDECAR: Final = "Always"
MAX_MESSAGE_BYTES: Final = 4096
MAX_MESSAGES_BYTES: Final = 12_288
"""Of one container's termination message, and of all of a pod's (kubelet: `MaxPodTerminationMessageLogLength`)."""
WAITS_FOR_INIT: Final = "PodInitializing"
"""What the kubelet says of a container as long as an init container is not through."""


def job_view(document: Json, *, task_uid: str) -> JobView:
    """A Job, as a decision about the task with that uid sees it."""
    metadata, spec = document["metadata"], document.get("spec", {})
    conditions = _true_conditions(document)
    failure = next((conditions[kind] for kind in _FAILED if kind in conditions), {})
    annotations = metadata.get("annotations", {})
    annotation, released = annotations.get(names.EXECUTION_ANNOTATION), annotations.get(names.RELEASED_ANNOTATION)
    finished = any(kind in conditions for kind in _ENDED)
    # The Job controller leaves a suspended Job its start time, and renews it only once it takes the Job up again.
    active_since = None if "Suspended" in conditions else _moment(document.get("status", {}).get("startTime"))
    return JobView(
        name=metadata["name"],
        uid=metadata["uid"],
        is_ours=any(owner["uid"] == task_uid for owner in metadata.get("ownerReferences", ())),
        created_at=parse_time(metadata["creationTimestamp"]),
        deleting="deletionTimestamp" in metadata,
        finished=finished,
        ends="deletionTimestamp" in metadata or any(kind in conditions for kind in _ENDS),
        failure_reason=failure.get("reason", ""),
        failure_message=failure.get("message", ""),
        active_deadline_seconds=spec.get("activeDeadlineSeconds"),
        ttl_seconds_after_finished=spec.get("ttlSecondsAfterFinished"),
        is_suspended=spec.get("suspend") is True and not finished,
        suspended_at=_moment(conditions.get("Suspended", {}).get("lastTransitionTime")),
        active_since=active_since,
        is_held_back=released == "" and spec.get("suspend") is True and not finished,
        # Somebody may let a Job start by hand that was held back.
        released_at=_released_at(released) or (active_since if released == "" else None),
        passed_by_hand=released == "" and spec.get("suspend") is not True,
        failed=_failed_pods(document.get("status", {})),
        execution=None if annotation is None else execution_from_json(annotation),
    )


def _failed_pods(status: Json) -> int:
    """Those that are not counted yet have failed too."""
    return int(status.get("failed", 0)) + len(status.get("uncountedTerminatedPods", {}).get("failed", ()))


def pods_seen(documents: Iterable[Json], *, job_uid: str | None, execution: Execution | None) -> tuple[PodSeen, ...]:
    """The pods that the Job of that uid made, oldest first; none where there never was such a Job."""
    owned = (document for document in documents if _is_owned(document, job_uid))
    return tuple(sorted((pod_seen(document, execution) for document in owned), key=_age))


def pod_seen(document: Json, execution: Execution | None) -> PodSeen:
    """A pod."""
    metadata, status = document["metadata"], document.get("status", {})
    disruption = _true_conditions(document).get(_DISRUPTED, {})
    return PodSeen(
        name=metadata["name"],
        uid=metadata["uid"],
        phase=status.get("phase", ""),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        created_at=parse_time(metadata["creationTimestamp"]),
        deleting="deletionTimestamp" in metadata,
        node=document.get("spec", {}).get("nodeName"),
        unschedulable=_unschedulable(status),
        scheduled_at=_moment(_true_conditions(document).get(_SCHEDULED, {}).get("lastTransitionTime")),
        disruption=disruption.get("reason", ""),
        disruption_message=disruption.get("message", ""),
        failed_init=_failed_init_container(status),
        container=_container(document, execution),
    )


def _container(document: Json, execution: Execution | None) -> ContainerSeen | None:
    name = _main_container(document) if execution is None else execution.container
    status = document.get("status", {})
    seen = next((each for each in status.get("containerStatuses", ()) if each["name"] == name), None)
    if seen is None:
        return None
    state = seen.get("state", {})
    waiting = state.get("waiting", {})
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    if reason in ("", WAITS_FOR_INIT):
        reason, message = _waiting_init_container(status) or (reason, _running_init_container(document) or message)
    return ContainerSeen(
        running_since=_moment(state.get("running", {}).get("startedAt")),
        waiting_reason=reason if "waiting" in state else "",
        waiting_message=message if "waiting" in state else "",
        termination=_termination(state["terminated"], _message_limit(document)) if "terminated" in state else None,
    )


def _main_container(document: Json) -> str:
    """The container that is the tool where no annotation says it: the one named `tool`, else the first."""
    containers = [container["name"] for container in document.get("spec", {}).get("containers", ())]
    return MAIN_CONTAINER if MAIN_CONTAINER in containers else next(iter(containers), "")


def _waiting_init_container(status: Json) -> tuple[str, str] | None:
    """Why the first init container that waits does so; the tool's own container only says that it waits for it."""
    for each in status.get("initContainerStatuses", ()):
        waiting = each.get("state", {}).get("waiting", {})
        if waiting.get("reason", WAITS_FOR_INIT) != WAITS_FOR_INIT:
            return waiting["reason"], f"init container {each['name']}: {waiting.get('message', '')}".rstrip(": ")
    return None


def _running_init_container(document: Json) -> str:
    """The init container that the tool's own waits for while it runs; of a sidecar only that it has started counts."""
    sidecars = {
        each["name"]
        for each in document.get("spec", {}).get("initContainers", ())
        if each.get("restartPolicy") == _SIDECAR
    }
    for each in document.get("status", {}).get("initContainerStatuses", ()):
        if "running" not in each.get("state", {}):
            continue
        if each["name"] not in sidecars:
            return f"init container {each['name']} runs"
        if each.get("started") is False:
            return f"sidecar {each['name']} runs and has not passed its startup probe"
    return ""


def _failed_init_container(status: Json) -> str:
    """The init container that a failed pod failed with: the tool's own container waits for it for ever."""
    if status.get("phase") != "Failed":
        return ""
    for each in status.get("initContainerStatuses", ()):
        end = each.get("state", {}).get("terminated", {})
        if end.get("exitCode", 0) != 0:
            words = f"exit code {end['exitCode']} ({end.get('reason', 'Error')})"
            return ": ".join(filter(None, (f"init container {each['name']}", words, end.get("message", "").strip())))
    return ""


def _message_limit(document: Json) -> int:
    """How much of a termination message the kubelet keeps: a pod's containers share 12 KiB."""
    spec = document.get("spec", {})
    containers = sum(len(spec.get(group, ())) for group in ("containers", "initContainers", "ephemeralContainers"))
    return min(MAX_MESSAGE_BYTES, MAX_MESSAGES_BYTES // max(1, containers))


def _termination(terminated: Json, message_limit: int) -> Termination:
    return Termination(
        exit_code=terminated["exitCode"],
        signal=terminated.get("signal") or None,  # the API leaves 0 in where there was none
        reason=terminated.get("reason", ""),
        message=terminated.get("message", ""),
        message_limit=message_limit,
        started_at=_moment(terminated.get("startedAt")),
        finished_at=_moment(terminated.get("finishedAt")),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else parse_time(text)


def _released_at(annotation: str | None) -> datetime | None:
    """When a Job was let start; None where nothing says so that can be read, for people may write anything there."""
    try:
        moment = parse_time(annotation or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _unschedulable(status: Json) -> str:
    for condition in status.get("conditions", ()):
        if condition["type"] == _SCHEDULED and condition["status"] == "False":
            return str(condition.get("message") or condition.get("reason") or "not scheduled")
    return ""


def _true_conditions(document: Json) -> dict[str, Json]:
    conditions = document.get("status", {}).get("conditions", ())
    return {condition["type"]: condition for condition in conditions if condition["status"] == "True"}


def _is_owned(document: Json, uid: str | None) -> bool:
    return any(owner["uid"] == uid for owner in document["metadata"].get("ownerReferences", ()))


def _age(pod: PodSeen) -> tuple[datetime, str]:
    return pod.created_at, pod.name
