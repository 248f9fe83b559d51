"""Rungs about a pod that something else than its tool has ended: its node, the scheduler, a drain, or somebody."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from mcptasks_crds.reasons import Reason

from .decision import ConfirmJob, ConfirmPods
from .ending import job_completed
from .observation import PodSeen
from .results import log_tail, needs_log
from .situation import Situation
from .verdicts import Ask, End, Verdict, failed

BY_POD_REASON: Final[Mapping[str, Reason]] = MappingProxyType(
    {
        "Evicted": Reason.EVICTED,  # by its node: memory, disk, or more disk than it may use
        "Preempting": Reason.PREEMPTED,  # by its node, for a pod that the node itself needs
        "Terminated": Reason.DRAINED,  # its node is being shut down
        "NodeLost": Reason.NODE_LOST,
    }
)
"""What the kubelet says of a pod as a whole (`status.reason`). All else is a refusal: `OutOfcpu`, `NodeAffinity`."""

BY_DISRUPTION: Final[Mapping[str, Reason]] = MappingProxyType(
    {
        "PreemptionByScheduler": Reason.PREEMPTED,
        "EvictionByEvictionAPI": Reason.DRAINED,
        "TerminationByKubelet": Reason.EVICTED,
        "DeletionByTaintManager": Reason.NODE_LOST,
        "DeletionByDeviceTaintManager": Reason.NODE_LOST,
        "DeletionByPodGC": Reason.NODE_LOST,  # its node does not exist any more
    }
)
"""Who says on the pod's condition `DisruptionTarget` that it ends the pod.

https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
"""

_WORDS: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.EVICTED: "was evicted by its node",
        Reason.PREEMPTED: "had to make room for a more important one",
        Reason.DRAINED: "was evicted: its node is drained or shut down, or an autoscaler wants it gone",
        Reason.NODE_LOST: "had to go: its node does not answer, is gone, or was tainted",
    }
)


def pod_failed(situation: Situation) -> Verdict | None:
    """The pod failed as a whole: evicted, refused by its node, or with an init container that failed."""
    pod = situation.pod
    if pod is None or situation.has_another_try or not (pod.phase == "Failed" or situation.termination is not None):
        return None
    if pod.deleting and not pod.reason:
        return None
    if pod.failed_init and not pod.reason:
        return failed(Reason.INIT_FAILED, f"{pod.failed_init}: the tool never ran")
    if not pod.reason and _has_run(pod):
        return _end_is_unknown(situation, pod)
    said = ": ".join(filter(None, (pod.reason, pod.message or _word_on_container(situation))))
    reason = BY_POD_REASON.get(pod.reason)
    if reason is None:
        return failed(Reason.POD_FAILED, f"the pod {pod.name} failed: {said or 'its container never ran'}")
    return failed(reason, f"the pod {pod.name} {_WORDS[reason]}: {said}")


def pod_was_deleted(situation: Situation) -> Verdict | None:
    """The pod is being deleted, or is gone, and nobody on our side did it."""
    pod, known = situation.pod, situation.recorded
    if situation.has_another_try or (pod is not None and not pod.deleting):
        return None
    if pod is not None:
        return _disrupted(pod) or _pod_deleted(situation, pod.name)
    if known is None or known.pod_name is None:
        return None
    if not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())
    gone = situation.seen.gone_pod
    why = None if gone is None else _disrupted(gone)
    return job_completed(situation) or why or _pod_deleted(situation, known.pod_name)


def _has_run(pod: PodSeen) -> bool:
    """Whether the tool's container ran: in a pod that failed, nobody saw its end then, or it is `own_end`."""
    return pod.container is not None and (pod.container.termination or pod.container.running_since) is not None


def _end_is_unknown(situation: Situation, pod: PodSeen) -> Verdict:
    """Nobody was there when the container ended. What the tool wrote proves nothing: it may have failed after it."""
    said = _word_on_container(situation) or pod.message
    message = (
        f"nobody saw how the container of the pod {pod.name} ended; it may have done its work, in part or as a whole"
    )
    end = failed(Reason.END_UNKNOWN, f"{message}: {said}" if said else message)
    return needs_log(situation) or replace(end, log_tail=log_tail(situation.log))


def _word_on_container(situation: Situation) -> str:
    end, container = situation.termination, situation.container
    if end is not None:
        return ": ".join(filter(None, (end.reason, end.message)))
    return "" if container is None else ": ".join(filter(None, (container.waiting_reason, container.waiting_message)))


def _disrupted(pod: PodSeen) -> End | None:
    """Who ends the pod, where it says so itself."""
    reason = BY_DISRUPTION.get(pod.disruption)
    if reason is None:
        return None
    said = pod.disruption_message or pod.disruption
    return failed(reason, f"the pod {pod.name} on node {pod.node or '(none)'} {_WORDS[reason]}: {said}")


def _pod_deleted(situation: Situation, pod: str) -> Verdict:
    """Nothing says why, and its Job is there for certain: of a Job that goes, the pods' watch may tell first."""
    if not situation.seen.job_confirmed:
        return Ask(need=ConfirmJob())
    return failed(Reason.POD_DELETED, f"the pod {pod} was deleted, and nothing says why")
