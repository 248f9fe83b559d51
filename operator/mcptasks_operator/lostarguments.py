"""The rung about arguments that are in a Secret, and about that Secret never having been made.

The server makes the task first, then the Secret; a server that dies in between leaves a task that no pod can ever run.
A pod that waits for a Secret looks like one that waits for its image, and a task that waits for an answer has no pod
at all, so the API server is asked: seldom, for each time has a moment from which on an answer will do.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from mcptasks_crds.reasons import Reason

from .decision import ConfirmArguments, ConfirmPods
from .observation import Presence
from .situation import Situation
from .verdicts import Ask, Verdict, failed
from .waiting import start_deadline

PATIENCE: Final = timedelta(seconds=30)
"""How long after its task a Secret may come: the server tries for some eight seconds, and a client calls again."""


def arguments_are_lost(situation: Situation) -> Verdict | None:
    """The Secret with the arguments is not there, and was given time to come."""
    source = situation.task.spec.arguments_from
    since = max((moment for moment in _moments(situation) if moment <= situation.now), default=None)
    if source is None or since is None:
        return None
    seen = situation.seen.arguments
    if seen is None or seen.at < since:
        return Ask(need=ConfirmArguments(since=since))
    if seen.presence is not Presence.MISSING:
        return None
    if not situation.seen.pods_confirmed:
        return Ask(need=ConfirmPods())  # it may run by now: somebody may have deleted the Secret after that
    return failed(Reason.ARGUMENTS_LOST, f"the Secret {source.secret_name} with the call's arguments is not there")


def next_look(situation: Situation) -> datetime | None:
    """When the Secret is looked for next."""
    return min((moment for moment in _moments(situation) if moment > situation.now), default=None)


def _moments(situation: Situation) -> Iterator[datetime]:
    """When the Secret must be there, as long as nothing proves that it was: no container starts without it."""
    job, created_at = situation.job, situation.task.metadata.creation_timestamp
    if situation.task.spec.arguments_from is None or situation.started_at is not None or job is None:
        return
    if created_at is not None:
        yield created_at + PATIENCE
    if job.is_held_back:
        return
    if job.released_at is not None:
        yield job.released_at + PATIENCE
    yield start_deadline(situation)
