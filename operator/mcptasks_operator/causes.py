"""What a start waits for, and whether it may come by itself: a table, read from the top.

A start that cannot heal ends at once. One that only somebody can mend, such as a Secret that does not exist, ends after
`MENDING`: whoever applies several objects at once gets that long. All else is waited for until the tool's start
deadline, and the task then ends with the last cause. What people are told is the row's words with Kubernetes' own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from mcptasks_crds import names
from mcptasks_crds.reasons import Reason

from .observation import EventSeen, PodSeen
from .situation import Situation

MENDING: Final = timedelta(seconds=20)
"""How long what only somebody can mend is waited for. Kubernetes tries again in growing intervals: it takes to 32 s."""
CREATING: Final = "ContainerCreating"
STARTS: Final = frozenset({"", CREATING, "PodInitializing"})
"""The kubelet's words for a container that it has not begun with: why, if at all, is in the pod's Events alone."""


class Source(Enum):
    """Who says what a start waits for."""

    JOB_EVENT = auto()
    """The Job controller, in an Event about the Job: nothing else tells that its pod is refused."""
    SCHEDULER = auto()
    """The scheduler, in the pod's condition; its word is always empty."""
    CONTAINER = auto()
    """The kubelet, in the container's state."""
    POD_EVENT = auto()
    """The kubelet, in an Event about the pod: of volumes nothing else tells."""


class Heals(Enum):
    """How long a cause may last."""

    NEVER = timedelta(0)
    IF_MENDED = MENDING
    BY_ITSELF = None


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """One row: what is said, and what it means."""

    source: Source
    word: str = ""
    """The reason of the state or the Event, whole, as a regular expression."""
    text: str = ""
    """What its message holds, as a regular expression."""
    reason: Reason | None
    """What a task ends with that waits for it in vain; None: nothing is wrong with it."""
    heals: Heals = Heals.BY_ITSELF
    says: str
    """In front of the message."""


_FORBIDDEN: Final = re.compile(r'^(Error creating: )?(\S+ "[^"]*" is forbidden: )?')
_QUOTA: Final = "exceeded quota"
_PULLED: Final = re.compile(r'image "([^"]*)"')
_PULL_WRAPS: Final = re.compile(
    r'Back-off pulling image "[^"]*"(?:: ErrImagePull)?(?:: )?|rpc error: code = \w+ desc = '
    r'|failed to pull(?: and unpack)? image "[^"]*": |failed to resolve reference "[^"]*": '
    r'|failed to do request: \w+ "[^"]*": '
)
_PULLS: Final = "ErrImagePull|ImagePullBackOff|RegistryUnavailable|ImageInspectError|SignatureValidationFailed"
_MISSING: Final = "not found|references non-existent|couldn't find key"
_WITHOUT_IMAGE: Final = "no match for platform|no matching manifest|no image found in .* for architecture"
_OTHER_PROCESSOR: Final = "exec format error"
_RUNC_SAYS: Final = re.compile(rf"(standard_init_linux\.go:\d+: )?exec [^\n]*: {_OTHER_PROCESSOR}")

SYMPTOMS: Final[tuple[Symptom, ...]] = (
    # The pod is not made.
    Symptom(
        source=Source.JOB_EVENT,
        word="FailedCreate",
        text=_QUOTA,
        reason=Reason.QUOTA_EXCEEDED,
        says="waiting for quota",
    ),
    Symptom(
        source=Source.JOB_EVENT,
        word="FailedCreate",
        text="looking up service account",
        reason=Reason.SERVICE_ACCOUNT_MISSING,
        heals=Heals.IF_MENDED,
        says="its service account is missing",
    ),
    Symptom(
        source=Source.JOB_EVENT,
        word="FailedCreate",
        text="failed calling webhook|at this time|status unknown for quota|[Tt]imed? ?out|being terminated",
        reason=Reason.POD_REJECTED,
        says="its pod cannot be created yet",
    ),
    Symptom(
        source=Source.JOB_EVENT,
        word="FailedCreate",
        text="forbidden|denied|is invalid",
        reason=Reason.POD_REJECTED,
        heals=Heals.IF_MENDED,
        says="its pod is refused",
    ),
    Symptom(
        source=Source.JOB_EVENT, word="FailedCreate", reason=Reason.POD_REJECTED, says="its pod cannot be created yet"
    ),
    # No node takes it.
    Symptom(
        source=Source.SCHEDULER,
        text=f"persistentvolumeclaim .*({_MISSING})",
        reason=Reason.VOLUME_UNAVAILABLE,
        heals=Heals.IF_MENDED,
        says="a volume is missing",
    ),
    Symptom(
        source=Source.SCHEDULER,
        text="(?i)persistentvolume|volume node affinity",
        reason=Reason.VOLUME_UNAVAILABLE,
        says="waiting for a volume",
    ),
    Symptom(source=Source.SCHEDULER, reason=Reason.UNSCHEDULABLE, says="waiting for a node"),
    # A container cannot be made of its image, or of what it is to be given.
    Symptom(
        source=Source.CONTAINER,
        word="InvalidImageName|ErrImageNeverPull",
        reason=Reason.IMAGE_INVALID,
        heals=Heals.NEVER,
        says="the image cannot be used",
    ),
    Symptom(
        source=Source.CONTAINER,
        word=_PULLS,
        text=_WITHOUT_IMAGE,
        reason=Reason.IMAGE_ARCHITECTURE,
        heals=Heals.NEVER,
        says="the image is not for the node's processor",
    ),
    Symptom(source=Source.CONTAINER, word=_PULLS, reason=Reason.IMAGE_PULL, says="the image cannot be pulled yet"),
    Symptom(
        source=Source.CONTAINER,
        word="CreateContainerConfigError",
        text=_MISSING,
        reason=Reason.CONFIG_MISSING,
        heals=Heals.IF_MENDED,
        says="a Secret or ConfigMap is missing",
    ),
    Symptom(
        source=Source.CONTAINER,
        word="CreateContainerConfigError|CreateContainerError",
        text="runAsNonRoot|non-root|no command specified",
        reason=Reason.CONTAINER_CANNOT_RUN,
        heals=Heals.NEVER,
        says="the container cannot be created",
    ),
    Symptom(
        source=Source.CONTAINER,
        word="CrashLoopBackOff",
        reason=Reason.INIT_FAILED,
        says="waiting for a sidecar that fails",
    ),
    Symptom(
        source=Source.CONTAINER,
        word="Create.*Error|RunContainerError|.*Hook.*Error",
        reason=Reason.CONTAINER_CANNOT_RUN,
        says="the container cannot be created yet",
    ),
    # The kubelet has not come to the container yet.
    Symptom(source=Source.POD_EVENT, word="Pulling", reason=None, says=""),
    Symptom(
        source=Source.POD_EVENT,
        word="FailedMount",
        text=r"serviceaccounts? .*not found",
        reason=Reason.SERVICE_ACCOUNT_MISSING,
        heals=Heals.IF_MENDED,
        says="its service account is missing",
    ),
    # The arguments' own Secret may still come: the operator asks for that one, and needs no hint.
    Symptom(
        source=Source.POD_EVENT,
        word="FailedMount",
        text=f'secret "{names.arguments_secret_name(f"{names.TASK_ID_PREFIX}[a-z2-7]+")}"',
        reason=Reason.START_DEADLINE,
        says="waiting for its arguments",
    ),
    Symptom(
        source=Source.POD_EVENT,
        word="FailedMount",
        text=f"(secret|configmap) .*({_MISSING})|references non-existent",
        reason=Reason.CONFIG_MISSING,
        heals=Heals.IF_MENDED,
        says="a Secret or ConfigMap is missing",
    ),
    Symptom(
        source=Source.POD_EVENT,
        word="FailedMount|FailedAttachVolume|FailedMapVolume",
        reason=Reason.VOLUME_UNAVAILABLE,
        says="a volume cannot be mounted yet",
    ),
    Symptom(
        source=Source.POD_EVENT,
        word="FailedCreatePodSandBox|NetworkNotReady",
        reason=Reason.START_DEADLINE,
        says="the pod's sandbox cannot be created yet",
    ),
)
"""The first row that fits is the cause."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What one start waits for."""

    words: str
    reason: Reason | None
    heals: Heals
    since: datetime
    """From when on it is waited for."""
    said_at: datetime
    """When it was last known to be so."""

    @property
    def ends_at(self) -> datetime | None:
        """When it is an end, if it is still said then; None: at the start deadline."""
        return None if self.heals.value is None else self.since + self.heals.value

    @property
    def is_final(self) -> bool:
        """Whether waiting on would help nobody."""
        return self.ends_at is not None and self.said_at >= self.ends_at


def cause_of(situation: Situation, *, began: datetime) -> Cause | None:
    """What the start waits for, as far as somebody says so; `began` is when it began."""
    pod = situation.pod
    if pod is None:
        job = None if situation.job is None else situation.job.uid
        return _newest(situation, about=job, source=Source.JOB_EVENT, since=began)
    if pod.unschedulable:
        return _cause(Source.SCHEDULER, "", pod.unschedulable, said_at=situation.now, since=pod.created_at)
    if pod.node is None:
        return None
    since = pod.scheduled_at or pod.created_at
    word, message = _of_container(pod)
    if word not in STARTS:
        return _cause(Source.CONTAINER, word, message, said_at=situation.now, since=since)
    return _newest(situation, about=pod.uid, source=Source.POD_EVENT, since=since)


def reason_of_refusal(message: str) -> Reason:
    """Why the API server refuses a Job, by what it says."""
    return Reason.QUOTA_EXCEEDED if re.search(_QUOTA, message) else Reason.JOB_REJECTED


def words_of_refusal(message: str) -> str:
    """Why something is refused, without what: a pod's name is another one at each try, and each word is a write.

    >>> words_of_refusal('Error creating: pods "mt-a-x7x2z" is forbidden: exceeded quota: q')
    'exceeded quota: q'
    """
    return _FORBIDDEN.sub("", message).strip()


def words_of_pull(message: str) -> str:
    """Why an image was not pulled: the kubelet and its runtime each say once more of which image they speak.

    >>> words_of_pull('Back-off pulling image "x:1": ErrImagePull: rpc error: code = NotFound desc = failed to pull and'
    ...     ' unpack image "x:1": failed to resolve reference "x:1": x:1: not found')
    'x:1: not found'
    """
    found = _PULLED.search(message)
    image, rest = "" if found is None else found[1], _PULL_WRAPS.sub("", message).strip()
    return rest if image in rest else f"{image}: {rest}" if rest else image


def at_the_end(words: str) -> str:
    """What a start waited for in vain.

    >>> at_the_end("the image cannot be pulled yet: ErrImagePull: not yet")
    'the image cannot be pulled: ErrImagePull: not yet'
    """
    head, colon, rest = words.partition(": ")
    return head.removesuffix(" yet") + colon + rest


def is_for_another_processor(said: str, *, whole: bool = False) -> bool:
    """Whether a container could not be started because its program is not for the node's processor.

    Some runtimes say so as the message of its end; runc says it on the container's own output, as all that there is
    (`whole`), and ends with 1: no program of the container's has run then.
    """
    return bool(_RUNC_SAYS.fullmatch(said.strip())) if whole else _OTHER_PROCESSOR in said


def _of_container(pod: PodSeen) -> tuple[str, str]:
    return ("", "") if pod.container is None else (pod.container.waiting_reason, pod.container.waiting_message)


def _newest(situation: Situation, *, about: str | None, source: Source, since: datetime) -> Cause | None:
    for event in _latest_first(situation, about):
        found = _cause(source, event.reason, event.message, said_at=event.at, since=since)
        if found is not None:
            return found
    return None


def _latest_first(situation: Situation, about: str | None) -> Iterator[EventSeen]:
    ours = enumerate(event for event in situation.seen.events if event.about == about)
    # Of the same second (Kubernetes keeps no more), the one that came later.
    return (event for _, event in sorted(ours, key=lambda each: (each[1].at, each[0]), reverse=True))


def _cause(source: Source, word: str, message: str, *, said_at: datetime, since: datetime) -> Cause | None:
    for row in SYMPTOMS:
        if row.source is source and re.fullmatch(row.word, word) and re.search(row.text, message):
            words = _words(row, word, message)
            return Cause(words=words, reason=row.reason, heals=row.heals, since=since, said_at=said_at)
    return None


def _words(row: Symptom, word: str, message: str) -> str:
    if row.reason is None:
        return message[:1].lower() + message[1:]
    said = words_of_refusal(message)
    if row.reason is Reason.IMAGE_PULL:
        said = words_of_pull(said)
    if row.source is Source.CONTAINER:
        said = f"{word}: {said}" if said else word
    return f"{row.says}: {said}" if said else row.says
