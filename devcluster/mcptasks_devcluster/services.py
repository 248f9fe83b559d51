"""Server and operator as processes of this machine, for tests and benchmarks that kill them or time them."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from mcptasks_devcluster.layout import free_port

Service = Literal["server", "operator"]

STOP_SECONDS: Final = 30.0
"""How long a kubelet waits between its first word and its last (`terminationGracePeriodSeconds`)."""


@dataclass(frozen=True, kw_only=True)
class Services:
    """The two services of one namespace; either may be killed and started again, at the same address."""

    namespace: str
    url: str
    """Where the server's MCP endpoint is, or will be."""
    environment: dict[str, str]
    processes: dict[Service, asyncio.subprocess.Process]
    logs: Path | None = None
    """The directory of a log for each service; None: they write where this process does."""

    async def start(self, service: Service, *, kubeconfig: Path | None = None) -> None:
        """Start a service that does not run; `kubeconfig` is another identity than everybody's."""
        environment = dict(self.environment)
        if kubeconfig is not None:
            environment["MCPTASKS_KUBECONFIG"] = str(kubeconfig)
        command = (sys.executable, "-m", f"mcptasks_{service}")
        if self.logs is None:
            self.processes[service] = await asyncio.create_subprocess_exec(*command, env=environment)
            return
        with (self.logs / f"{service}.log").open("ab") as log:
            self.processes[service] = await asyncio.create_subprocess_exec(
                *command, env=environment, stdout=log, stderr=log
            )

    async def kill(self, service: Service) -> None:
        """SIGKILL: the service has no time for anything."""
        process = self.processes.pop(service)
        process.kill()
        await process.wait()

    async def stop(self, service: Service) -> None:
        """SIGTERM, as a kubelet's first word; the service ends by itself."""
        process = self.processes.pop(service)
        process.terminate()
        await _ended({service: process})


@asynccontextmanager
async def services(
    *, kubeconfig: Path, namespace: str, environment: Mapping[str, str] | None = None, logs: Path | None = None
) -> AsyncIterator[Services]:
    """The services of a namespace, none of them started; those that run at the end are stopped as a kubelet does.

    `environment` is added to theirs.
    """
    port = free_port()
    found = Services(
        namespace=namespace,
        url=f"http://127.0.0.1:{port}/mcp",
        environment={
            **os.environ,
            "MCPTASKS_NAMESPACE": namespace,
            "MCPTASKS_KUBECONFIG": str(kubeconfig),
            "MCPTASKS_LOG_LEVEL": "warning",
            "MCPTASKS_HOST": "127.0.0.1",
            "MCPTASKS_PORT": str(port),
            "MCPTASKS_METRICS_PORT": str(free_port()),
            "MCPTASKS_TASK_PORT": str(free_port()),
            "MCPTASKS_OPERATOR_PORT": str(free_port()),
            **(environment or {}),
        },
        processes={},
        logs=logs,
    )
    try:
        yield found
    finally:
        for process in found.processes.values():
            if process.returncode is None:
                process.terminate()
        await _ended(found.processes)


async def _ended(told: Mapping[Service, asyncio.subprocess.Process]) -> None:
    """Wait until services that were told to end have done so; one that does not is killed, and named."""
    waiting = {asyncio.create_task(process.wait()): service for service, process in told.items()}
    if not waiting:
        return
    late = {waiting[task] for task in (await asyncio.wait(waiting, timeout=STOP_SECONDS))[1]}
    for service in late:
        told[service].kill()
    await asyncio.gather(*waiting)
    if late:
        raise AssertionError(f"not ended {STOP_SECONDS:g} s after SIGTERM: {', '.join(sorted(late))}")
