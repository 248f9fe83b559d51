"""The Lease as the operator takes, keeps, loses and gives it up; and what whoever does not hold it may not do."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, JOBS, LEASES, TASKS, ConflictError, RejectedError, RetryableError
from mcptasks_operator.election import Timing
from mcptasks_operator.errors import LeadershipLostError, NotLeadingError
from mcptasks_operator.fence import FencedCluster
from mcptasks_operator.leadership import Alone, LeaseLeadership
from mcptasks_operator.testing.cluster import Call, FakeCluster, Fault

NAMESPACE = "ns"
RENEW = Call("patch", "leases")


@dataclass
class Bench:
    """One candidate before an API server in memory. Time passes where it sleeps, and by nothing else."""

    cluster: FakeCluster = field(default_factory=FakeCluster)
    moment: float = 1000.0
    happenings: dict[float, Callable[[], object]] = field(default_factory=dict)
    """What happens by then, as seconds after the beginning."""
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Whoever leads sleeps until this is set."""

    def __post_init__(self) -> None:
        self.leadership = LeaseLeadership(
            cluster=self.cluster,
            namespace=NAMESPACE,
            identity="me",
            timing=Timing(lease_seconds=10),
            clock=lambda: self.moment,
            sleep=self.sleep,
        )

    async def sleep(self, seconds: float) -> None:
        if self.leadership.holds():
            await self.goes_on.wait()
        self.moment += seconds
        for due in [due for due in self.happenings if self.moment - 1000.0 >= due]:
            self.happenings.pop(due)()
        await asyncio.sleep(0)

    async def lead(self) -> asyncio.Task[None]:
        running = asyncio.create_task(self.leadership.run())
        await self.leadership.acquired()
        return running

    async def go_on(self, running: asyncio.Task[None], *, until: float) -> None:
        """Let time pass for whoever leads."""
        reached = asyncio.Event()
        self.happenings[until - 1000.0] = reached.set
        self.goes_on.set()
        await asyncio.wait({running, asyncio.ensure_future(reached.wait())}, return_when=asyncio.FIRST_COMPLETED)

    def lease(self) -> Json:
        (found,) = self.cluster.all(LEASES)
        return found

    def held_by(self, holder: str, *, renewed: str = "2026-11-30T12:00:00.000000Z") -> None:
        """Somebody else writes the Lease."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 10, "renewTime": renewed, "leaseTransitions": 3}
        self.cluster.put(LEASES, NAMESPACE, {"metadata": {"name": names.LEASE}, "spec": spec})


async def test_the_first_one_makes_the_lease_and_may_act() -> None:
    b = Bench()
    assert not b.leadership.holds()

    running = await b.lead()

    assert b.leadership.holds()
    spec = b.lease()["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("me", 10, 0)
    assert b.lease()["metadata"]["labels"] == {names.MANAGED_BY_LABEL: names.MANAGED_BY}
    running.cancel()


async def test_it_is_told_in_an_event_who_acts() -> None:
    b = Bench()
    running = await b.lead()
    await asyncio.sleep(0)
    running.cancel()

    (event,) = b.cluster.all(EVENTS)
    assert event["regarding"]["kind"] == "Lease"
    assert event["note"] == "me acts from now on (change 0 of hands)"


async def test_a_lease_whose_holder_gives_no_sign_of_life_changes_hands_after_as_long_as_it_grants() -> None:
    b = Bench()
    b.held_by("other")

    running = await b.lead()
    running.cancel()

    assert b.moment == 1010.0
    assert (b.lease()["spec"]["holderIdentity"], b.leadership.transitions) == ("me", 4)


async def test_a_lease_that_is_renewed_does_not() -> None:
    b = Bench()
    b.held_by("other")
    for second in range(2, 30, 2):
        b.happenings[second] = lambda at=second: b.held_by("other", renewed=f"at {at}")  # type: ignore[misc]

    running = await b.lead()
    running.cancel()

    assert b.moment == pytest.approx(1000 + 28 + 10, abs=1.1)


async def test_one_that_is_given_up_changes_hands_at_the_next_look() -> None:
    b = Bench()
    b.held_by("other")
    b.happenings[3.0] = lambda: b.held_by("")

    running = await b.lead()
    running.cancel()

    assert b.moment == pytest.approx(1003, abs=1.1)


async def test_of_two_that_reach_for_it_at_once_one_gets_it() -> None:
    b = Bench()
    b.held_by("")
    b.cluster.faults = [Fault(call=RENEW, error=ConflictError("409"))]
    looks = []

    def faster(call: Callable[..., Any] = b.cluster.get) -> Callable[..., Any]:
        async def get(*arguments: Any) -> Any:
            looks.append(b.moment)
            if len(looks) == 2:
                b.held_by("other")
            return await call(*arguments)

        return get

    b.cluster.get = faster()  # type: ignore[method-assign]
    running = await b.lead()
    running.cancel()

    assert looks[:2] == [1000.0, 1000.0], "it looks again at once"
    assert b.moment == 1010.0


async def test_a_renewal_that_fails_is_tried_again_and_nothing_is_lost() -> None:
    b = Bench()
    running = await b.lead()
    b.cluster.faults = [Fault(call=RENEW, error=RetryableError("503")), Fault(call=RENEW, error=RetryableError("503"))]
    await b.go_on(running, until=1030)

    assert b.leadership.holds()
    assert not running.done()
    running.cancel()


async def test_a_renewal_whose_answer_is_lost_is_no_loss() -> None:
    b = Bench()
    running = await b.lead()
    b.cluster.faults = [Fault(call=RENEW, error=RetryableError("cut off"), is_done=True)]
    await b.go_on(running, until=1010)

    assert b.leadership.holds()
    running.cancel()


@pytest.mark.parametrize("error", [RetryableError("503"), RejectedError("403", status=403)])
async def test_who_cannot_renew_acts_for_seven_seconds_and_is_lost_for_good(error: Any) -> None:
    b = Bench()
    running = await b.lead()
    b.cluster.faults = [Fault(call=Call(verb, "leases"), error=error) for verb in ("patch", "get") for _ in range(50)]

    b.goes_on.set()
    with pytest.raises(LeadershipLostError, match=r"not renewed for 7 s"):
        await running

    assert b.moment == 1007.0
    assert not b.leadership.holds()


@pytest.mark.parametrize("lost_by", ["another's hand", "deletion"])
async def test_a_lease_that_is_taken_away_is_lost_at_the_next_renewal(lost_by: str) -> None:
    b = Bench()
    running = await b.lead()
    if lost_by == "deletion":
        await b.cluster.delete(LEASES, NAMESPACE, names.LEASE)
    else:
        b.held_by("other")

    b.goes_on.set()
    with pytest.raises(LeadershipLostError):
        await running

    assert b.moment == 1002.0


async def test_who_gives_it_up_may_not_act_and_another_may_at_once() -> None:
    b = Bench()
    running = await b.lead()
    running.cancel()

    await b.leadership.give_up()

    assert not b.leadership.holds()
    assert b.lease()["spec"]["holderIdentity"] == ""


async def test_who_never_had_it_gives_nothing_up() -> None:
    b = Bench()
    b.held_by("other")

    await b.leadership.give_up()

    assert b.lease()["spec"]["holderIdentity"] == "other"


async def test_a_lease_that_another_took_meanwhile_is_not_given_up() -> None:
    b = Bench()
    running = await b.lead()
    running.cancel()
    b.held_by("other")

    await b.leadership.give_up()

    assert b.lease()["spec"]["holderIdentity"] == "other"
    assert not b.leadership.holds()


async def test_a_lease_that_somebody_emptied_is_taken() -> None:
    b = Bench()
    b.cluster.put(LEASES, NAMESPACE, {"metadata": {"name": names.LEASE}, "spec": None})

    running = await b.lead()
    running.cancel()

    assert b.lease()["spec"]["holderIdentity"] == "me"


async def test_who_does_not_lead_reads_and_writes_nothing() -> None:
    b = Bench(cluster=FakeCluster(now=datetime(2026, 11, 30, tzinfo=UTC)))
    b.cluster.put(TASKS, NAMESPACE, {"metadata": {"name": "mt-a"}, "spec": {}})
    fenced = FencedCluster(b.cluster, b.leadership)

    assert (await fenced.get(TASKS, NAMESPACE, "mt-a"))["metadata"]["name"] == "mt-a"
    assert len((await fenced.list(TASKS, NAMESPACE))["items"]) == 1
    assert len((await fenced.list_metadata(TASKS, NAMESPACE))["items"]) == 1
    before = len(b.cluster.calls)
    with pytest.raises(NotLeadingError, match="no jobs are created"):
        await fenced.create(JOBS, NAMESPACE, {"metadata": {"name": "mt-a"}})
    with pytest.raises(NotLeadingError, match="no mcptasks are changed"):
        await fenced.patch(TASKS, NAMESPACE, "mt-a", {"status": {}}, subresource="status")
    with pytest.raises(NotLeadingError, match="no mcptasks are deleted"):
        await fenced.delete(TASKS, NAMESPACE, "mt-a")
    assert len(b.cluster.calls) == before, "it is not even asked"


async def test_who_leads_writes() -> None:
    cluster = FakeCluster()
    fenced = FencedCluster(cluster, Alone())

    await fenced.create(JOBS, NAMESPACE, {"metadata": {"name": "mt-a"}})
    await fenced.patch(JOBS, NAMESPACE, "mt-a", {"spec": {"suspend": True}})
    await fenced.delete(JOBS, NAMESPACE, "mt-a")

    assert cluster.all(JOBS) == ()
