"""What becomes of a task's pod where a component of the cluster was killed, and nobody on our side can help it.

See docs/chaos.md. It excuses a task only where its pods' own words and times say that it was in that very moment.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from mcptasks_crds.base import Json
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason

from .plan import Component
from .tools import CONTAINER, Ending

RUNTIME: Final = "containerd"
KUBELET: Final = "kubelet"
_API: Final = frozenset({"kube-apiserver", "etcd"})
_UNSEEN: Final = "Unknown"
_NOT_STARTED: Final = "StartError"
_CALLER_IS_GONE: Final = "context canceled"
"""What containerd says of a start whose caller, the kubelet, went away."""
_WAS_MADE: Final = "failed to start"
"""How its words begin where the container was there already, so that its program may have begun."""


@dataclass(frozen=True, kw_only=True)
class Outage:
    """A component of the cluster was killed."""

    component: Component
    began: datetime
    ended: datetime
    """When its next process was there."""


class Excuse(StrEnum):
    """What became of a container through an outage."""

    UNSEEN_END = "its end was seen by nobody"
    NOT_STARTED = "it was not started"
    BROKEN_OFF = "its start was broken off"


ENDING_OF: Final[Mapping[Excuse, Ending]] = {
    Excuse.UNSEEN_END: (Phase.FAILED, Reason.END_UNKNOWN),
    Excuse.NOT_STARTED: (Phase.FAILED, Reason.CONTAINER_CANNOT_RUN),
    Excuse.BROKEN_OFF: (Phase.FAILED, Reason.CONTAINER_CANNOT_RUN),
}
"""How the task tells it."""


def excuse(pods: Iterable[Json], outages: Sequence[Outage]) -> Excuse | None:
    """What an outage made of the container of a task's only pod, if it did."""
    for pod in pods:
        for end in _ends(pod):
            if any(_ran_through(end, outage) for outage in outages):
                return Excuse.UNSEEN_END
            if any(_was_to_start_in(pod, end, outage) for outage in outages):
                return Excuse.BROKEN_OFF if end["message"].startswith(_WAS_MADE) else Excuse.NOT_STARTED
    return None


def surplus(pods: Sequence[Json], jobs: Iterable[Json], outages: Sequence[Outage]) -> int:
    """How many pods too many the Job controller may have made for one attempt: one, or none.

    It does that where the API server was killed between the two and it does not know of the first yet: the Job's status
    has none of them before both are there. It takes one of them back. `pods` are as they were seen first.
    """
    if len(pods) < 2 or len({_maker(pod) for pod in pods}) > 1:
        return 0
    made = sorted(datetime.fromisoformat(pod["metadata"]["creationTimestamp"]) for pod in pods)
    counted = min((_version(job) for job in jobs if job.get("status", {}).get("active")), default=None)
    if counted is not None and any(_version(pod) > counted for pod in pods):
        return 0
    return int(any(each.component in _API and _spans(made[0], made[-1], each, by=each.ended) for each in outages))


def further_starts(pods: Iterable[Json], outages: Sequence[Outage]) -> int:
    """How often the kubelet started the container anew because the runtime was killed while it started.

    It does that whatever the `restartPolicy`, and counts it (`restartCount`): at most once for each time that the
    runtime was killed while the pod was on the node, and after that.
    """
    for pod in pods:
        scheduled = _scheduled(pod)
        for status in _statuses(pod):
            started = _time(_state(status).get("startedAt"))
            if scheduled is None or started is None:
                continue
            through = [each for each in outages if each.component == RUNTIME and scheduled <= each.began]
            count = int(status.get("restartCount", 0))
            if count and any(_second(each.began) <= started for each in through):
                return min(count, len(through))
    return 0


def has_succeeded(pod: Json) -> bool:
    """Whether the pod's program ended with 0, as was seen."""
    return any(end.get("reason") == "Completed" and end.get("exitCode") == 0 for end in _ends(pod))


def _ran_through(end: Json, outage: Outage) -> bool:
    """The container had begun when the runtime was killed, and was found to be over afterwards."""
    return (
        outage.component == RUNTIME
        and end.get("reason") == _UNSEEN
        and _spans(_time(end.get("startedAt")), _time(end.get("finishedAt")), outage)
    )


def _was_to_start_in(pod: Json, end: Json, outage: Outage) -> bool:
    """The container was being started when the kubelet was killed, which broke that off."""
    return (
        outage.component == KUBELET
        and end.get("reason") == _NOT_STARTED
        and _CALLER_IS_GONE in end.get("message", "")
        and _spans(_scheduled(pod), _time(end.get("finishedAt")), outage)
    )


def _spans(begin: datetime | None, end: datetime | None, outage: Outage, *, by: datetime | None = None) -> bool:
    """Whether something began before the kill (or by then), and ended after it."""
    return begin is not None and end is not None and begin <= (by or outage.began) and _second(outage.began) <= end


def _maker(pod: Json) -> str:
    return next((str(owner["uid"]) for owner in pod["metadata"].get("ownerReferences", ())), "")


def _version(document: Json) -> int:
    return int(document["metadata"]["resourceVersion"])


def _ends(pod: Json) -> Iterator[Json]:
    return (status["state"]["terminated"] for status in _statuses(pod) if "terminated" in status.get("state", {}))


def _statuses(pod: Json) -> list[Json]:
    return [each for each in pod.get("status", {}).get("containerStatuses", ()) if each["name"] == CONTAINER]


def _state(status: Json) -> Json:
    state: Json = status.get("state", {})
    return state.get("terminated") or state.get("running") or {}


def _scheduled(pod: Json) -> datetime | None:
    conditions = pod.get("status", {}).get("conditions", ())
    return next((_time(each.get("lastTransitionTime")) for each in conditions if each["type"] == "PodScheduled"), None)


def _time(said: Any) -> datetime | None:
    return None if said is None else datetime.fromisoformat(said)


def _second(moment: datetime) -> datetime:
    """Kubernetes keeps whole seconds."""
    return moment - timedelta(microseconds=moment.microsecond)
