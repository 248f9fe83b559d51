"""What a rung of the ladder may say: know more first, go on, or end. `statuses` makes the status of it."""

from dataclasses import dataclass
from datetime import datetime

from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Stopping, TaskResult

from .decision import ConfirmJob, Need
from .situation import Situation


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Something must be known or done first."""

    need: Need


@dataclass(frozen=True, kw_only=True)
class GoOn:
    """The task lives."""

    phase: Phase
    message: str
    until: datetime | None
    """When time alone ends this, the task's lease aside."""
    reason: Reason | None = None
    cause: Reason | None = None
    """What its start waits for, where something stands in its way: what it will end with if that stays so."""
    stopping: Stopping | None = None
    log_tail: str | None = None
    pod_is_over: bool = False
    """Whether no pod speaks for the task until the next attempt's is there."""
    pod_is_news: bool = True
    """Whether the pod is worth a write. In the first seconds it is not: a start costs one write, not three."""


@dataclass(frozen=True, kw_only=True)
class End:
    """The task is over. Without a result it failed or was cancelled."""

    phase: Phase
    reason: Reason
    message: str
    """What happened, for people; of a failed task the error's message too."""
    result: TaskResult | None = None
    log_tail: str | None = None


Verdict = Ask | GoOn | End


def failed(reason: Reason, message: str) -> End:
    """The platform could not run the tool, or lost what it gave."""
    return End(phase=Phase.FAILED, reason=reason, message=message)


def once_there_is_no_job(situation: Situation, end: End) -> Verdict:
    """An end that holds only if no Job runs: we may have made one just before we were restarted."""
    return end if situation.job_is_confirmed_missing else Ask(need=ConfirmJob())
