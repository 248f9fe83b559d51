"""The one among several operators of a namespace that acts: it holds a Lease, and stops acting before it may lose it.

`election` decides; here is what it asks for. Two operators that overlap all the same (one that stood still between the
check and its write) meet the Job's name, the versions in patches and the rules of the API server.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol, assert_never

import structlog

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, LEASES, ConflictError, KubeError, NotFoundError

from .cluster import Cluster
from .election import (
    Candidate,
    Lease,
    Look,
    Lose,
    Renew,
    Take,
    Timing,
    Wait,
    next_step,
    overtaken,
    saw,
    unanswered,
    wrote,
)
from .errors import LeadershipLostError
from .events import leading_event

GIVE_UP_SECONDS: Final = 2.0
"""How long giving the Lease up may take at the end; otherwise it runs out by itself."""
EVENT_SECONDS: Final = 1.0

_log: Any = structlog.get_logger(__name__)


class Leadership(Protocol):
    """The right to act."""

    @property
    def transitions(self) -> int:
        """How often that right has changed hands, as far as it is known here."""

    def holds(self) -> bool:
        """Whether this process may act now, by this machine's own clock."""

    async def run(self) -> None:
        """Get that right, and keep it until it is lost.

        Raises:
            LeadershipLostError: it is lost, for good.
        """

    async def acquired(self) -> None:
        """Wait until this process has that right for the first time."""

    async def give_up(self) -> None:
        """Let another have it at once: this process acts no more."""


class Alone:
    """There is no other."""

    transitions = 0

    def holds(self) -> bool:
        """Always."""
        return True

    async def run(self) -> None:
        """Nothing to do."""

    async def acquired(self) -> None:
        """Nothing to wait for."""

    async def give_up(self) -> None:
        """Nothing to give up."""


def seconds_since_boot() -> float:
    """This machine's own time, which nobody sets; where Linux has it, one that goes on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


@dataclass(kw_only=True)
class LeaseLeadership:
    """The right to act by a Lease in the tasks' namespace. Its name is fixed: also two releases exclude each other."""

    cluster: Cluster
    namespace: str
    identity: str
    timing: Timing
    clock: Callable[[], float] = seconds_since_boot
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    candidate: Candidate = field(init=False)
    _has_led: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.candidate = Candidate(identity=self.identity, timing=self.timing)

    def holds(self) -> bool:
        """See `Leadership`."""
        return self.candidate.holds(self.clock())

    @property
    def transitions(self) -> int:
        """See `Leadership`."""
        return 0 if self.candidate.lease is None else self.candidate.lease.transitions

    async def acquired(self) -> None:
        """See `Leadership`."""
        await self._has_led.wait()

    async def run(self) -> None:
        """See `Leadership`."""
        while True:
            match next_step(self.candidate, self.clock()):
                case Wait() as wait:
                    await self.sleep(max(0.0, wait.until - self.clock()))
                case Lose() as lose:
                    _log.error("leadership_lost", because=lose.because)
                    raise LeadershipLostError(f"another operator may be acting: {lose.because}")
                case Look() | Take() | Renew() as step:
                    await self._ask(step)
                case unknown:
                    assert_never(unknown)

    async def _ask(self, step: Look | Take | Renew) -> None:
        """Ask the API server, and learn from its answer or from its silence."""
        led = self.candidate.renewed_at is not None
        patience = self.timing.act_seconds
        if led:  # the holder waits for no answer any longer than it may act
            patience = self.candidate.acts_until() - self.clock()
        try:
            async with asyncio.timeout(patience):
                match step:
                    case Look():
                        await self._look()
                    case Take():
                        await self._take(step)
                    case Renew():
                        await self._renew(step)
        except ConflictError:
            self.candidate = overtaken(self.candidate)
        except (KubeError, TimeoutError) as error:
            self.candidate = unanswered(self.candidate, now=self.clock())
            _log.warning("lease_not_reached", step=type(step).__name__.lower(), error=str(error) or repr(error))
        if not led and self.candidate.renewed_at is not None:
            _log.info("leading", lease=names.LEASE, identity=self.identity, transitions=self.transitions)
            self._has_led.set()
            await self._tell()

    async def _look(self) -> None:
        try:
            found = await self.cluster.get(LEASES, self.namespace, names.LEASE)
        except NotFoundError:
            self.candidate = saw(self.candidate, None, now=self.clock())
        else:
            before, lease = self.candidate.lease, parse_lease(found)
            self.candidate = saw(self.candidate, lease, now=self.clock())
            if self.candidate.renewed_at is None and (before is None or before.holder != lease.holder):
                _log.info("standing_by", lease=names.LEASE, holder=lease.holder)

    async def _take(self, step: Take) -> None:
        now, sent_at = _micro_time(), self.clock()
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.timing.lease_seconds,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": step.transitions,
        }
        if step.version is None:
            labels = {names.MANAGED_BY_LABEL: names.MANAGED_BY}
            manifest = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": names.LEASE, "labels": labels},
                "spec": spec,
            }
            written = await self.cluster.create(LEASES, self.namespace, manifest)
        else:
            written = await self._patch(step.version, spec)
        self.candidate = wrote(self.candidate, parse_lease(written), sent_at=sent_at)

    async def _renew(self, step: Renew) -> None:
        sent_at = self.clock()
        try:
            written = await self._patch(step.version, {"renewTime": _micro_time()})
        except NotFoundError:
            self.candidate = saw(self.candidate, None, now=self.clock())
        else:
            self.candidate = wrote(self.candidate, parse_lease(written), sent_at=sent_at)

    async def give_up(self) -> None:
        """See `Leadership`. Whoever cannot be told waits until the Lease has run out."""
        if not self.holds() or self.candidate.lease is None:
            return
        version = self.candidate.lease.version
        self.candidate = Candidate(identity=self.identity, timing=self.timing, lost="it was given up")
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                await self._patch(
                    version, {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _micro_time()}
                )
        except (KubeError, TimeoutError) as error:
            _log.warning("lease_not_given_up", error=str(error) or repr(error))
        else:
            _log.info("leadership_given_up", lease=names.LEASE)

    async def _patch(self, version: str, spec: Json) -> Json:
        patch: Json = {"metadata": {"resourceVersion": version}, "spec": spec}
        return await self.cluster.patch(LEASES, self.namespace, names.LEASE, patch)

    async def _tell(self) -> None:
        """An Event about the Lease, for people."""
        manifest = leading_event(
            identity=self.identity, namespace=self.namespace, transitions=self.transitions, now=datetime.now(UTC)
        )
        try:
            async with asyncio.timeout(EVENT_SECONDS):
                await self.cluster.create(EVENTS, self.namespace, manifest)
        except (KubeError, TimeoutError) as error:
            _log.warning("event_not_recorded", lease=names.LEASE, error=str(error) or repr(error))


def parse_lease(document: Json) -> Lease:
    """What a Lease says. Whatever is missing says nothing."""
    spec = document.get("spec") or {}
    return Lease(
        version=str(document["metadata"]["resourceVersion"]),
        holder=str(spec.get("holderIdentity") or ""),
        renewed=f"{spec.get('renewTime')} {spec.get('acquireTime')}",
        transitions=int(spec.get("leaseTransitions") or 0),
        lease_seconds=spec.get("leaseDurationSeconds"),
    )


def _micro_time() -> str:
    """Now, as Kubernetes' MicroTime."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
