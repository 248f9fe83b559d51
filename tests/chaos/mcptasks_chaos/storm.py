"""What goes wrong, done: at the proxies, to the services, to the cluster's components; and healed."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from mcptasks_crds.kube import Kube, KubeError
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.faults import Fault
from mcptasks_devcluster.local import LocalCluster
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_devcluster.services import Services

from .credentials import Credentials
from .outages import Outage
from .plan import SERVICES, Component, Event, Service, Trouble
from .relay import Relay
from .timeline import Timeline

SLOW_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.1
"""How often it is looked whether a service has ended by itself."""
_STATUS: Final[Mapping[Trouble, int]] = {
    Trouble.TOO_MANY: 429,
    Trouble.ERROR: 500,
    Trouble.UNAVAILABLE: 503,
    Trouble.CONFLICT: 409,
}


@dataclass(kw_only=True)
class Storm:
    """The troubles of a run."""

    kube: Kube
    services: Services
    proxies: Mapping[Service, FaultProxy]
    credentials: Mapping[Service, Credentials]
    kubeconfigs: Mapping[Service, Path]
    relay: Relay
    cluster: LocalCluster
    timeline: Timeline
    own_exits: list[str] = field(default_factory=list)
    """Services that ended by themselves; they are started again, as Kubernetes does."""
    outages: list[Outage] = field(default_factory=list)
    """What was killed of the cluster."""
    _restarts: list[asyncio.Task[None]] = field(default_factory=list)
    _killed: set[Service] = field(default_factory=set)

    async def begin(self, event: Event) -> None:
        """Let it go wrong."""
        self.timeline.note(str(event))
        if event.trouble is Trouble.RESTART:
            self._restart(event)
        elif event.service is not None:
            await self._trouble(event, event.service)

    async def end(self, event: Event) -> None:
        """Let a lasting trouble be over."""
        assert event.service is not None
        self.timeline.note(f"end of {event.trouble} at the {event.service}")
        match event.trouble:
            case Trouble.KILL:
                await self._start(event.service)
            case Trouble.SLOW:
                self.proxies[event.service].delay_seconds = 0.0
            case _:
                self.proxies[event.service].mend()

    async def heal(self) -> None:
        """Let nothing be wrong any more: the API server answers, the proxies pass everything on, the services run."""
        await asyncio.gather(*self._restarts)
        self._restarts.clear()
        await eventually(self._is_served, what="the API server answers", timeout_seconds=90)
        for service in SERVICES:
            proxy = self.proxies[service]
            proxy.mend()
            proxy.delay_seconds = 0.0
            proxy.faults.clear()
            await self._start(service)
        self.relay.losing = 0
        self.timeline.note("all is healed")

    async def keep_running(self) -> None:
        """Start a service that has ended by itself, until cancelled."""
        while True:
            for service in SERVICES:
                process = self.services.processes.get(service)
                if process is not None and process.returncode is not None and service not in self._killed:
                    said = f"the {service} ended by itself with {process.returncode}"
                    self.own_exits.append(said)
                    self.timeline.note(said)
                    await self.services.start(service, kubeconfig=self.kubeconfigs[service])
            await asyncio.sleep(LOOK_SECONDS)

    async def _trouble(self, event: Event, service: Service) -> None:
        proxy = self.proxies[service]
        match event.trouble:
            case Trouble.KILL:
                await self._kill(service)
            case Trouble.CUT:
                proxy.cut()
            case Trouble.SILENCE:
                proxy.silence()
            case Trouble.SLOW:
                proxy.delay_seconds = SLOW_SECONDS
            case Trouble.CUT_WATCHES:
                proxy.cut_watches()
            case Trouble.EXPIRE_WATCHES:
                proxy.expire_watches()
            case Trouble.UNHEARD:
                self.relay.losing += event.times
            case Trouble.ROTATE_TOKEN:
                self.credentials[service].rotate()
            case Trouble.GONE:
                proxy.add(Fault(method="GET", path="", of_watches=True, status=410, times=event.times))
                proxy.cut_watches()
            case _:
                proxy.add(_fault(event))

    async def _kill(self, service: Service) -> None:
        self._killed.add(service)
        if service in self.services.processes:
            with suppress(ProcessLookupError):
                await self.services.kill(service)

    async def _start(self, service: Service) -> None:
        if service not in self.services.processes:
            await self.services.start(service, kubeconfig=self.kubeconfigs[service])
        self._killed.discard(service)

    def _restart(self, event: Event) -> None:
        assert event.component is not None
        self._restarts.append(asyncio.create_task(self._outage(event.component)))

    async def _outage(self, component: Component) -> None:
        began = datetime.now(UTC)
        await asyncio.to_thread(self.cluster.restart, component)
        self.outages.append(Outage(component=component, began=began, ended=datetime.now(UTC)))
        self.timeline.note(f"the {component} was killed and is there again")

    async def _is_served(self) -> bool:
        try:
            await self.kube.request("GET", "/readyz", accept="*/*")
        except KubeError:
            return False
        return True


def _fault(event: Event) -> Fault:
    assert event.target is not None
    return Fault(
        method=event.target.method,
        path=event.target.path,
        times=event.times,
        status=_STATUS.get(event.trouble),
        headers={"Retry-After": "1"} if event.trouble is Trouble.TOO_MANY else {},
        break_off=event.trouble is Trouble.RESET,
        lose_answer=event.trouble is Trouble.LOST_ANSWER,
    )
