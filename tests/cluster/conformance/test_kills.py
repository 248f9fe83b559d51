"""The suite's task scenarios while a server replica is killed every ten seconds: no client notices."""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
import yaml

from mcptasks_crds.kube import TOOLS as MCPTOOLS
from mcptasks_crds.kube import Kube
from mcptasks_devcluster.conformance import Outcome, run_scenarios
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.productimage.building import build_image
from mcptasks_devcluster.services import Services, services
from mcptasks_devcluster.spreading import Replica, SpreadingProxy

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
SCENARIOS: Final = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
    "tasks-status-notifications",
)
KILL_EVERY_SECONDS: Final = 10.0
LEAST_KILLS: Final = 3


@dataclass(kw_only=True)
class Killer:
    """Kills a server replica now and then, and starts it again."""

    proxy: SpreadingProxy
    servers: Mapping[Replica, Services]
    draw: random.Random
    kills: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(KILL_EVERY_SECONDS)
            replica = self.draw.choice(self.proxy.replicas)
            # Between requests: a client that is cut in the middle cannot know what became of its request, and the
            # suite's takes that for a failure. What a cut does is tried elsewhere.
            async with replica.between_requests():
                await self.servers[replica].kill("server")
            await self._until_it_is_missed()
            self.kills.append(replica.url)
            # As a Service does: a replica that has just started gets requests once it says that it is ready.
            replica.is_ready = False
            await self.servers[replica].start("server")
            await until_ready(replica.url)
            replica.is_ready = True

    async def _until_it_is_missed(self) -> None:
        """A request was sent to the dead replica, and then to the other one."""
        before = self.proxy.refused

        async def is_missed() -> bool:
            return self.proxy.refused > before

        await eventually(is_missed, what="a request met the dead replica")


async def until_ready(url: str) -> None:
    async with aiohttp.ClientSession() as session:

        async def is_ready() -> bool:
            try:
                async with session.get(f"{url}/readyz") as response:
                    return response.status == 200
            except aiohttp.ClientError:
                return False

        await eventually(is_ready, what="the server is ready", timeout_seconds=60)


@pytest.fixture
async def killer(cluster: Any, kube: Kube, namespace: str, tmp_path: Path, seed: int) -> AsyncIterator[Killer]:
    """Two servers and an operator at work in a namespace with the suite's tools, and a proxy before the servers."""
    cluster.load_docker_image(str(build_image("runtime", tag="test")))
    for path in sorted((FIXTURES / "conformance_tools").glob("*.yaml")):
        await kube.create(MCPTOOLS, namespace, yaml.safe_load(path.read_text()))
    kubeconfig = Path(cluster.kubeconfig_path)
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "key").write_text(secrets.token_hex(32))
    environment = {
        "PYTHONPATH": str(FIXTURES / "conformance_pack"),
        "MCPTASKS_TOOLPACKS": "conformance_pack:pack",
        "MCPTASKS_SIGNING_KEYS_DIR": str(keys),
    }
    async with AsyncExitStack() as stack:
        pair = [
            await stack.enter_async_context(
                services(kubeconfig=kubeconfig, namespace=namespace, environment=environment)
            )
            for _ in range(2)
        ]
        await pair[0].start("operator")
        urls = [each.url.removesuffix("/mcp") for each in pair]
        for each, url in zip(pair, urls, strict=True):
            await each.start("server")
            await until_ready(url)
        await eventually(lambda: _all_ready(kube, namespace), what="the tools are ready", timeout_seconds=60)
        proxy = await stack.enter_async_context(SpreadingProxy.running(urls, seed=seed))
        servers = dict(zip(proxy.replicas, pair, strict=True))
        yield Killer(proxy=proxy, servers=servers, draw=random.Random(seed))


async def _all_ready(kube: Kube, namespace: str) -> bool:
    tools = (await kube.list(MCPTOOLS, namespace))["items"]
    return all(
        any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in tool.get("status", {}).get("conditions", [])
        )
        for tool in tools
    )


async def test_no_task_scenario_notices_that_replicas_die(
    killer: Killer, tmp_path: Path, show: Callable[[str], None]
) -> None:
    outcomes: list[Outcome] = []
    killing = asyncio.create_task(killer.run())
    try:
        while len(killer.kills) < LEAST_KILLS and not killing.done():
            results = tmp_path / f"round-{len(outcomes)}"
            outcomes.append(await run_scenarios(f"{killer.proxy.url}/mcp", SCENARIOS, results=results))
    finally:
        assert not killing.done(), killing.exception()
        killing.cancel()

    answered = [replica.answered for replica in killer.proxy.replicas]
    show(f"conformance, {len(killer.kills)} kills, {killer.proxy.refused} of {sum(answered)} requests refused once:")
    for outcome in outcomes:
        show(f"  {outcome.summary}")
    assert [finding for outcome in outcomes for finding in outcome.findings] == []
    assert all(outcome.scenarios == set(SCENARIOS) for outcome in outcomes)
    assert killer.proxy.refused >= len(killer.kills)
