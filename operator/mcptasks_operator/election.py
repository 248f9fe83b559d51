"""Who may act, by a Lease: what one candidate knows of it, and its next step, as functions of its own clock alone.

The rule is client-go's. A Lease's times are for people: no two clocks agree, so nobody compares them with his own. A
candidate notes when it first saw the Lease say what it says; the Lease is free once it has said so for as long as it
grants. Its holder stops acting a good while before, counted from when its last renewal was *sent*: whoever saw that
renewal saw it later. So there is never a moment at which two may act, as long as no clock runs a fifth faster than
another.

A process that stands still in between cannot notice it. What it is about to write then meets what the API server
itself checks: the Job's name, the versions in patches, and the rules of the custom resources.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

LONGEST_GRANT_SECONDS: Final = 60.0
"""A Lease that somebody wrote by hand is not waited for any longer than this."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How long things take; all follow from how long a Lease is granted for."""

    lease_seconds: int
    """For how long others leave the Lease alone after it was last renewed."""

    @property
    def act_seconds(self) -> float:
        """For how long its holder acts after it sent its last renewal."""
        return 0.7 * self.lease_seconds

    @property
    def renew_seconds(self) -> float:
        """How often the holder renews."""
        return 0.2 * self.lease_seconds

    @property
    def look_seconds(self) -> float:
        """How often whoever waits for the Lease looks at it, and the holder tries again to renew."""
        return 0.1 * self.lease_seconds


@dataclass(frozen=True, kw_only=True)
class Lease:
    """What the Lease says."""

    version: str
    holder: str
    """Empty where it was given up."""
    renewed: str
    """When its holder renewed it, by the holder's clock: only whether it changes counts."""
    transitions: int
    lease_seconds: float | None
    """For how long it is granted."""

    def says_as(self, other: "Lease | None") -> bool:
        """Whether it says the same; somebody's note on the object changes nothing."""
        return other is not None and replace(self, version=other.version) == other


@dataclass(frozen=True, kw_only=True)
class Look:
    """Read the Lease."""


@dataclass(frozen=True, kw_only=True)
class Take:
    """Write the candidate into the Lease, if it is still in this version; None: make it."""

    version: str | None
    transitions: int


@dataclass(frozen=True, kw_only=True)
class Renew:
    """Write that the candidate is still there, if the Lease is still in this version."""

    version: str


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Do nothing until then."""

    until: float


@dataclass(frozen=True, kw_only=True)
class Lose:
    """Stop acting, for good: whoever lost begins anew as another candidate."""

    because: str


Step = Look | Take | Renew | Wait | Lose


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What one process knows. Each moment is a reading of its own clock, in seconds."""

    identity: str
    """Its own alone: also the same pod's next process is another candidate."""
    timing: Timing
    lease: Lease | None = None
    """As it was last read or written; None: there is none, as far as is known."""
    free_at: float = -math.inf
    """From when on the Lease may be taken, if it still says the same."""
    looked_at: float | None = None
    """When the Lease was last read; None: it is to be read now."""
    retry_at: float = -math.inf
    """Nothing is asked before: the API server did not answer."""
    renewed_at: float | None = None
    """When that write was sent by which this candidate was last made the holder; None: it never was."""
    lost: str = ""
    """Why it has lost the Lease; empty where it has not."""

    def acts_until(self) -> float:
        """Until when it may act."""
        return -math.inf if self.renewed_at is None or self.lost else self.renewed_at + self.timing.act_seconds

    def holds(self, now: float) -> bool:
        """Whether it may act."""
        return now < self.acts_until()


def next_step(candidate: Candidate, now: float) -> Step:
    """What the candidate does now."""
    if candidate.lost:
        return Lose(because=candidate.lost)
    return _as_standby(candidate, now) if candidate.renewed_at is None else _as_holder(candidate, now)


def _as_holder(candidate: Candidate, now: float) -> Step:
    assert candidate.renewed_at is not None
    assert candidate.lease is not None
    if not candidate.holds(now):
        return Lose(because=f"the Lease was not renewed for {candidate.timing.act_seconds:g} s")
    due = max(candidate.renewed_at + candidate.timing.renew_seconds, candidate.retry_at)
    if now < due:
        return Wait(until=min(due, candidate.acts_until()))
    return Look() if candidate.looked_at is None else Renew(version=candidate.lease.version)


def _as_standby(candidate: Candidate, now: float) -> Step:
    if now < candidate.retry_at:
        return Wait(until=candidate.retry_at)
    if candidate.looked_at is None:
        return Look()
    if candidate.looked_at >= candidate.free_at:
        lease = candidate.lease
        return Take(version=None, transitions=0) if lease is None else _take(candidate, lease)
    due = min(candidate.looked_at + candidate.timing.look_seconds, candidate.free_at)
    return Wait(until=due) if now < due else Look()


def _take(candidate: Candidate, lease: Lease) -> Take:
    is_own = lease.holder == candidate.identity  # a write of ours whose answer was lost
    return Take(version=lease.version, transitions=lease.transitions + (0 if is_own else 1))


def saw(candidate: Candidate, lease: Lease | None, *, now: float) -> Candidate:
    """The Lease was read. `now`: after the answer came; the Lease said so earlier, never later."""
    seen = replace(candidate, lease=lease, looked_at=now, retry_at=-math.inf)
    if candidate.renewed_at is not None:
        if lease is None:
            return replace(seen, lost="the Lease was deleted")
        holds = lease.holder == candidate.identity
        return seen if holds else replace(seen, lost=f"{lease.holder or 'nobody'} holds the Lease")
    if lease is None:
        return seen  # it may have been deleted under its holder's feet: that one is waited for all the same
    if lease.says_as(candidate.lease):
        return seen
    if lease.holder in ("", candidate.identity):
        return replace(seen, free_at=now)
    granted = min(lease.lease_seconds or 0.0, LONGEST_GRANT_SECONDS)
    return replace(seen, free_at=now + max(granted, candidate.timing.lease_seconds))


def wrote(candidate: Candidate, lease: Lease, *, sent_at: float) -> Candidate:
    """The Lease was taken or renewed. `sent_at`: before it was asked for; others saw it later, never earlier."""
    return replace(candidate, lease=lease, renewed_at=sent_at, looked_at=sent_at, retry_at=-math.inf)


def overtaken(candidate: Candidate) -> Candidate:
    """The Lease was not in that version any more: it is read at once."""
    return replace(candidate, looked_at=None)


def unanswered(candidate: Candidate, *, now: float) -> Candidate:
    """The API server did not do what was asked, or did not say: whether it did is to be seen from the Lease."""
    return replace(candidate, looked_at=None, retry_at=now + candidate.timing.look_seconds)
