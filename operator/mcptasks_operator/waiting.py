"""Rungs about a Job that has done nothing final yet: its pod waits for a node or an image, starts, or runs."""

from datetime import datetime, timedelta
from typing import Final

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason

from .decision import ConfirmPods
from .situation import Situation
from .stopping import run_limit
from .verdicts import Ask, GoOn, Verdict, failed

_IMAGE_IS_INVALID: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
"""What the kubelet says of an image that no waiting brings."""
_IMAGE_WAITS: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"}
)
_STARTS: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_QUIET: Final = timedelta(seconds=3)
"""How long a start that goes well is not worth a word: most are over by then, and each word is a write."""


def image_is_invalid(situation: Situation) -> Verdict | None:
    """The image can never be run."""
    container = situation.container
    if container is None or container.waiting_reason not in _IMAGE_IS_INVALID:
        return None
    return failed(Reason.IMAGE_INVALID, f"{container.waiting_reason}: {container.waiting_message}")


def start_deadline_is_over(situation: Situation) -> Verdict | None:
    """The container did not run in time."""
    if situation.started_at is not None or situation.now < start_deadline(situation):
        return None
    if not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())  # it may run by now: the deadline must not lose a race with our own cache
    seconds = situation.execution.start_deadline_seconds
    return failed(Reason.START_DEADLINE, f"not started within {seconds} s: {_what_it_waits_for(situation)}")


def runs(situation: Situation) -> Verdict | None:
    """The container runs."""
    if not _runs(situation):
        return None
    return GoOn(phase=Phase.RUNNING, message="running", until=run_limit(situation))


def waits(situation: Situation) -> GoOn:
    """The container does not run yet."""
    deadline, quiet_until = start_deadline(situation), _began(situation) + _QUIET
    if _is_starting_well(situation) and situation.now < quiet_until:
        return GoOn(phase=Phase.PENDING, message="starting", until=min(deadline, quiet_until), pod_is_news=False)
    until = deadline if situation.now < deadline else None  # a container that ran once has met its deadline
    return GoOn(phase=Phase.PENDING, message=_what_it_waits_for(situation), until=until)


def _runs(situation: Situation) -> bool:
    return situation.container is not None and situation.container.running_since is not None


def _began(situation: Situation) -> datetime:
    job = situation.job
    return situation.now if job is None else job.released_at or job.created_at


def start_deadline(situation: Situation) -> datetime:
    """When the container must have run."""
    return _began(situation) + timedelta(seconds=situation.execution.start_deadline_seconds)


def _is_starting_well(situation: Situation) -> bool:
    pod, container = situation.pod, situation.container
    if pod is None:
        return True
    return not pod.unschedulable and (container is None or container.waiting_reason in _STARTS)


def _what_it_waits_for(situation: Situation) -> str:
    pod, container = situation.pod, situation.container
    if pod is None:
        return "waiting for its pod to be created"
    if pod.unschedulable:
        return f"waiting for a node: {pod.unschedulable}"
    if pod.node is None:
        return "waiting for a node"
    if container is None:
        return f"starting on node {pod.node}"
    return _what_the_container_waits_for(pod.node, container.waiting_reason, container.waiting_message)


def _what_the_container_waits_for(node: str, reason: str, message: str) -> str:
    words = f"{reason}: {message}" if message else reason
    if reason in _IMAGE_WAITS:
        return f"the image cannot be pulled yet: {words}"
    if reason == "PodInitializing":
        return f"starting on node {node}: its init containers run, or its image is pulled"
    if reason in _STARTS:
        return f"starting on node {node}: pulling the image and mounting volumes"
    return f"the container cannot be created yet: {words}"
