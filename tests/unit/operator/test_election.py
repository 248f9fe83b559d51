"""Who may act: each rule of the election, and that no two ever may, whatever stands still and however clocks differ."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptasks_operator.election import (
    Candidate,
    Lease,
    Look,
    Lose,
    Renew,
    Step,
    Take,
    Timing,
    Wait,
    next_step,
    overtaken,
    saw,
    unanswered,
    wrote,
)

TEN = Timing(lease_seconds=10)
NOW = 1000.0


def lease(holder: str = "other", version: str = "1", **changes: Any) -> Lease:
    whole: dict[str, Any] = {"renewed": "12:00", "transitions": 4, "lease_seconds": 10} | changes
    return Lease(version=version, holder=holder, **whole)


def standby(**changes: Any) -> Candidate:
    return replace(Candidate(identity="me", timing=TEN), **changes)


def holder(**changes: Any) -> Candidate:
    return replace(wrote(standby(), lease("me"), sent_at=NOW), **changes)


STEPS: dict[str, tuple[Candidate, float, Step]] = {
    "whoever knows nothing looks": (standby(), NOW, Look()),
    "a Lease that is not there is made": (saw(standby(), None, now=NOW), NOW, Take(version=None, transitions=0)),
    "one that was given up is taken at once": (
        saw(standby(), lease(""), now=NOW),
        NOW,
        Take(version="1", transitions=5),
    ),
    "another's is looked at again soon": (saw(standby(), lease(), now=NOW), NOW, Wait(until=NOW + 1)),
    "and again": (saw(standby(), lease(), now=NOW), NOW + 1, Look()),
    "another's that has said the same for as long as it grants is taken": (
        saw(saw(standby(), lease(), now=NOW), lease(), now=NOW + 10),
        NOW + 10,
        Take(version="1", transitions=5),
    ),
    "whoever slept meanwhile looks before it takes": (saw(standby(), lease(), now=NOW), NOW + 60, Look()),
    "a note on the object is no sign of life": (
        saw(saw(standby(), lease(), now=NOW), lease(version="2"), now=NOW + 10),
        NOW + 10,
        Take(version="2", transitions=5),
    ),
    "a renewal is": (
        saw(saw(standby(), lease(), now=NOW), lease(version="2", renewed="12:02"), now=NOW + 10),
        NOW + 10,
        Wait(until=NOW + 11),
    ),
    "a longer grant than ours is respected": (
        saw(saw(standby(), lease(lease_seconds=30), now=NOW), lease(lease_seconds=30), now=NOW + 29.5),
        NOW + 29.5,
        Wait(until=NOW + 30),
    ),
    "a shorter one does not count": (
        saw(saw(standby(), lease(lease_seconds=1), now=NOW), lease(lease_seconds=1), now=NOW + 9.5),
        NOW + 9.5,
        Wait(until=NOW + 10),
    ),
    "one without bounds does not hold for ever": (
        saw(saw(standby(), lease(lease_seconds=10**6), now=NOW), lease(lease_seconds=10**6), now=NOW + 60),
        NOW + 60,
        Take(version="1", transitions=5),
    ),
    "one that was deleted under its holder's feet is waited out": (
        saw(saw(standby(), lease(), now=NOW), None, now=NOW + 5),
        NOW + 5,
        Wait(until=NOW + 6),
    ),
    "a write of ours whose answer was lost is found and made sure of": (
        saw(unanswered(standby(), now=NOW), lease("me"), now=NOW + 1),
        NOW + 1,
        Take(version="1", transitions=4),
    ),
    "whoever was overtaken looks at once": (
        overtaken(saw(saw(standby(), lease(), now=NOW), lease(), now=NOW + 10)),
        NOW + 10,
        Look(),
    ),
    "an API server that does not answer is left alone for a moment": (
        unanswered(standby(), now=NOW),
        NOW,
        Wait(until=NOW + 1),
    ),
    "the holder renews after a fifth": (holder(), NOW + 1, Wait(until=NOW + 2)),
    "the holder renews": (holder(), NOW + 2, Renew(version="1")),
    "the holder that was not answered looks what became of it": (
        unanswered(holder(), now=NOW + 2),
        NOW + 3,
        Look(),
    ),
    "and goes on where it still is the holder": (
        saw(unanswered(holder(), now=NOW + 2), lease("me", "2"), now=NOW + 3),
        NOW + 3,
        Renew(version="2"),
    ),
    "the holder never waits for longer than it may act": (
        unanswered(holder(), now=NOW + 6.5),
        NOW + 6.6,
        Wait(until=NOW + 7),
    ),
    "the holder that could not renew stops well before others may begin": (
        holder(),
        NOW + 7,
        Lose(because="the Lease was not renewed for 7 s"),
    ),
    "the holder that stood still has lost": (holder(), NOW + 500, Lose(because="the Lease was not renewed for 7 s")),
    "the holder that sees another one has lost": (
        saw(holder(), lease("other", "2"), now=NOW + 2),
        NOW + 2,
        Lose(because="other holds the Lease"),
    ),
    "the holder whose Lease is gone has lost": (
        saw(holder(), None, now=NOW + 2),
        NOW + 2,
        Lose(because="the Lease was deleted"),
    ),
}


@pytest.mark.parametrize("rule", list(STEPS))
def test_what_a_candidate_does_next(rule: str) -> None:
    candidate, now, step = STEPS[rule]

    assert next_step(candidate, now) == step


def test_only_who_has_written_itself_into_the_lease_may_act_and_from_when_that_was_sent() -> None:
    assert [standby().holds(NOW), saw(standby(), lease("me"), now=NOW).holds(NOW)] == [False, False]
    assert [holder().holds(NOW + seconds) for seconds in (0, 6.9, 7, math.inf)] == [True, True, False, False]


def test_who_has_lost_never_acts_again() -> None:
    lost = saw(holder(), lease("other", "2"), now=NOW + 1)

    assert not lost.holds(NOW + 1)
    assert not saw(lost, lease("me", "3"), now=NOW + 2).holds(NOW + 2)


@pytest.mark.parametrize("seconds", [3, 10, 60])
def test_the_times_leave_room_between_one_and_the_next(seconds: int) -> None:
    timing = Timing(lease_seconds=seconds)

    assert timing.act_seconds <= 0.75 * seconds, "the difference is what clocks may run apart"
    assert 3 * timing.renew_seconds <= timing.act_seconds, "one renewal may be lost, and a second one"


@dataclass
class Server:
    """The Lease as the API server keeps it: written only in the version that was asked for."""

    lease: Lease | None = None
    version: int = 0

    def write(self, wanted: str | None, holder: str, transitions: int, renewed: str) -> Lease | None:
        """The Lease as it is then; None where it was not in that version."""
        if (None if self.lease is None else self.lease.version) != wanted:
            return None
        self.version += 1
        self.lease = Lease(
            version=str(self.version), holder=holder, renewed=renewed, transitions=transitions, lease_seconds=10
        )
        return self.lease


LOST = math.inf
"""A request that never arrives, or an answer that never comes."""


@dataclass
class Request:
    """What is under way: when it reaches the API server, and when its answer is there."""

    step: Step
    sent_at: float
    """By the replica's clock."""
    arrives: float
    answered: float
    is_done: bool = False
    answer: Lease | None = None


@dataclass
class Replica:
    """A process with a clock of its own. Its requests take their time, and those it gave up may still arrive."""

    name: str
    offset: float
    rate: float
    server: Server
    delays: Iterator[tuple[float, float]]
    candidate: Candidate = field(init=False)
    lives: int = 0
    stands_still_until: float = 0.0
    request: Request | None = None
    forgotten: list[tuple[str, Request]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new process; what the one before has sent is on its way all the same."""
        self.forget()
        self.lives += 1
        self.candidate = Candidate(identity=f"{self.name}{self.lives}", timing=TEN)

    def forget(self) -> None:
        if self.request is not None:
            self.forgotten.append((self.candidate.identity, self.request))
        self.request = None

    def now(self, moment: float) -> float:
        return self.offset + self.rate * moment

    def acts(self, moment: float) -> bool:
        return self.candidate.holds(self.now(moment))

    def go_on(self, moment: float) -> None:
        """What happens to this replica at a moment; the network does not stand still with it."""
        for identity, request in self.forgotten:
            self.arrive(identity, request, moment)
        if self.request is not None:
            self.arrive(self.candidate.identity, self.request, moment)
        if moment < self.stands_still_until:
            return
        if self.request is not None:
            self.hear(self.request, moment)
        if self.request is None:
            self.ask(moment)

    def ask(self, moment: float) -> None:
        step = next_step(self.candidate, self.now(moment))
        if isinstance(step, Lose):
            self.begin()
        elif not isinstance(step, Wait):
            there, back = next(self.delays)
            self.request = Request(
                step=step, sent_at=self.now(moment), arrives=moment + there, answered=moment + there + back
            )

    def arrive(self, identity: str, request: Request, moment: float) -> None:
        if request.is_done or moment < request.arrives:
            return
        request.is_done = True
        match request.step:
            case Take(version=version, transitions=transitions):
                request.answer = self.server.write(version, identity, transitions, str(moment))
            case Renew(version=version):
                transitions = 0 if self.server.lease is None else self.server.lease.transitions
                request.answer = self.server.write(version, identity, transitions, str(moment))
            case _:
                request.answer = self.server.lease

    def hear(self, request: Request, moment: float) -> None:
        if moment >= request.answered:
            self.request = None
            if isinstance(request.step, Look):
                self.candidate = saw(self.candidate, request.answer, now=self.now(moment))
            elif request.answer is None:
                self.candidate = overtaken(self.candidate)
            else:
                self.candidate = wrote(self.candidate, request.answer, sent_at=request.sent_at)
        elif self.now(moment) - request.sent_at >= TEN.act_seconds or self.now(moment) >= self.gives_up_at():
            self.forget()
            self.candidate = unanswered(self.candidate, now=self.now(moment))

    def gives_up_at(self) -> float:
        return math.inf if self.candidate.renewed_at is None else self.candidate.acts_until()


@dataclass(frozen=True)
class Blow:
    """A replica stands still for so long (a stopped process, a slow machine), or is killed."""

    after: float
    replica: int
    seconds: float | None
    """None: it is killed."""


TICK = 0.25
QUICK = (0.0, 0.0)
History = list[tuple[float, tuple[str, ...]]]


def run(
    clocks: Sequence[tuple[float, float]],
    *,
    delays: Sequence[tuple[float, float]] = (QUICK,),
    blows: Sequence[Blow] = (),
    seconds: float = 60.0,
) -> tuple[History, Server]:
    """Who may act at each moment."""
    server, each_delay = Server(), cycle(delays)
    replicas = [
        Replica(name="abc"[number], offset=offset, rate=rate, server=server, delays=each_delay)
        for number, (offset, rate) in enumerate(clocks)
    ]
    to_come, moment, history = list(blows), 0.0, []
    next_blow = to_come[0].after if to_come else math.inf
    while moment < seconds:
        while moment >= next_blow:
            blow = to_come.pop(0)
            replica = replicas[blow.replica % len(replicas)]
            if blow.seconds is None:
                replica.begin()
            else:
                replica.stands_still_until = moment + blow.seconds
            next_blow = next_blow + to_come[0].after if to_come else math.inf
        for replica in replicas:
            replica.go_on(moment)
        history.append((moment, tuple(replica.name for replica in replicas if replica.acts(moment))))
        moment += TICK
    return history, server


CLOCKS = st.lists(
    st.tuples(st.sampled_from((0.0, -1e6, 1e6)), st.sampled_from((0.92, 1.0, 1.08))), min_size=2, max_size=3
)
DELAYS = st.lists(
    st.tuples(st.sampled_from((0.0, 0.0, 0.5, 3.0, 9.0, 25.0, LOST)), st.sampled_from((0.0, 0.0, 0.5, 3.0, 6.5, LOST))),
    min_size=1,
    max_size=30,
).map(lambda drawn: [*drawn, QUICK, QUICK, QUICK])
BLOWS = st.lists(
    st.builds(
        Blow,
        after=st.sampled_from((0.25, 1.0, 2.0, 5.0, 9.0)),
        replica=st.integers(min_value=0, max_value=2),
        seconds=st.sampled_from((None, 1.0, 4.0, 6.75, 9.0, 12.0, 30.0)),
    ),
    max_size=8,
)


@settings(max_examples=300)
@given(clocks=CLOCKS, delays=DELAYS, blows=BLOWS)
def test_never_may_two_act_whatever_stands_still_is_late_lost_or_killed(
    clocks: list[tuple[float, float]], delays: list[tuple[float, float]], blows: list[Blow]
) -> None:
    history, _ = run(clocks, delays=delays, blows=blows)

    assert [entry for entry in history if len(entry[1]) > 1] == []


def test_a_holder_that_acts_for_longer_than_its_lease_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The property above can fail."""
    monkeypatch.setattr(Timing, "act_seconds", property(lambda timing: 1.3 * timing.lease_seconds))

    history, _ = run([(0.0, 1.0), (50.0, 1.0)], blows=[Blow(after=5.0, replica=0, seconds=30.0)])

    assert any(len(acting) == 2 for _, acting in history)


@pytest.mark.parametrize("rate", [0.92, 1.0, 1.08])
@pytest.mark.parametrize("killed_at", [5.0, 5.25, 6.0, 6.75])
def test_another_takes_over_within_a_lease_and_two_seconds_of_a_death(rate: float, killed_at: float) -> None:
    death = Blow(after=killed_at, replica=0, seconds=1000.0)

    history, server = run([(0.0, 1.0), (50.0, rate)], blows=[death])

    first = next(moment for moment, acting in history if acting == ("b",))
    assert first - killed_at <= 11.5 / rate
    assert server.lease is not None
    assert server.lease.transitions == 1


def test_where_nothing_happens_the_first_one_acts_for_ever() -> None:
    history, _ = run([(0.0, 1.0), (50.0, 1.0), (-50.0, 1.0)])

    assert {acting for moment, acting in history if moment > 1} == {("a",)}
