"""Two server replicas and an operator on a real cluster, and clients that others wrote, each run by its driver.

A driver is given the server's URL and the names of cases, runs them at once, and prints one JSON object: what its
client saw, by case. The drivers stand in `tests/clients`, each beside the environment that it needs.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import pytest
import pytest_asyncio
import yaml

from mcptasks.client import TasksClient
from mcptasks.errors import InternalServerError, UnreachableError
from mcptasks_crds.kube import TOOLS, Kube
from mcptasks_devcluster import nodejs, pythonenvs
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.productimage.base import base_image
from mcptasks_devcluster.productimage.engines import find_engine
from mcptasks_devcluster.services import Services, services
from mcptasks_devcluster.spreading import Replica, SpreadingProxy
from mcptasks_server.testing.passing import PassingJudge

ROOT: Final = Path(__file__).parents[3]
CLIENTS: Final = ROOT / "tests" / "clients"
NODE_PACKAGES: Final = ROOT / "tests" / "node" / "clients"
NAMESPACES: Final = "/api/v1/namespaces"

SILENCE_SECONDS: Final = 25.0
"""After which the load balancer before the replicas cuts an answer of which nothing came."""

Seen = Mapping[str, Any]
"""What a client saw in one case, as its driver says it."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """A row of `cases.yaml`."""

    id: str
    driver: str
    cases: Mapping[str, str]
    """What is tried, and the driver's name for it."""

    @property
    def is_lenient(self) -> bool:
        """Whether it needs a server that takes requests about tasks without `Mcp-Name`."""
        return self.driver == "fastmcp_tasks"


def clients() -> dict[str, Client]:
    """The rows of `cases.yaml`."""
    rows = yaml.safe_load((CLIENTS / "cases.yaml").read_text())
    return {name: Client(id=name, driver=row.get("driver", name), cases=row["cases"]) for name, row in rows.items()}


@dataclass(frozen=True, kw_only=True)
class World:
    """The running product."""

    kube: Kube
    namespace: str
    replicas: Sequence[Services]
    """Two that are strict, then two that are not."""
    url: str
    """Any of the replicas, for each request another one, whatever session it is of; silent answers are cut."""
    lenient_url: str
    """The same of two replicas that take requests about tasks without `Mcp-Name`."""

    behind: Sequence[Replica]
    """The replicas as their proxies see them."""

    async def restart(self) -> None:
        """Restart all servers as a Deployment does: each is told to end, its neighbour only once it serves again."""
        pairs = list(zip(self.replicas, self.behind, strict=True))
        for strict, lenient in zip(pairs[:2], pairs[2:], strict=True):
            await asyncio.gather(_restart(*strict), _restart(*lenient))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The product at work, and the tools listed."""
    kubeconfig = Path(cluster.kubeconfig_path)
    image = base_image(find_engine(), None)
    cluster.load_docker_image(image)
    keys = tmp_path_factory.mktemp("keys")
    (keys / "1").write_text(token_hex())
    async with AsyncExitStack() as stack:
        kube = await stack.enter_async_context(await Kube.connect(kubeconfig=kubeconfig))
        await install_crds(kube)
        made = json.loads(await kube.request("POST", NAMESPACES, body={"metadata": {"generateName": "clients-"}}))
        namespace = made["metadata"]["name"]
        stack.push_async_callback(kube.request, "DELETE", f"{NAMESPACES}/{namespace}")
        for tool in yaml.safe_load_all((CLIENTS / "tools.yaml").read_text().replace("IMAGE", image)):
            await kube.create(TOOLS, namespace, tool)
        replicas = [
            await stack.enter_async_context(
                services(
                    kubeconfig=kubeconfig,
                    namespace=namespace,
                    environment={
                        "MCPTASKS_SIGNING_KEYS_DIR": str(keys),
                        "MCPTASKS_REQUIRE_TASK_NAME_HEADER": strict,
                    },
                )
            )
            for strict in ("true", "true", "false", "false")
        ]
        for replica in replicas:
            await replica.start("server")
        await replicas[0].start("operator")
        judge = PassingJudge()
        proxies = [
            await stack.enter_async_context(
                SpreadingProxy.running(
                    [replica.url.removesuffix("/mcp") for replica in some],
                    seed=1,
                    has_affinity=False,
                    silence_seconds=SILENCE_SECONDS,
                    look=judge,
                )
            )
            for some in (replicas[:2], replicas[2:])
        ]
        for replica in replicas:
            await until_served(replica.url)
        yield World(
            kube=kube,
            namespace=namespace,
            replicas=replicas,
            url=f"{proxies[0].url}/mcp",
            lenient_url=f"{proxies[1].url}/mcp",
            behind=[replica for proxy in proxies for replica in proxy.replicas],
        )
        assert all(replica.answered for proxy in proxies for replica in proxy.replicas)
        assert judge.judged
        assert judge.refused == []


async def _restart(replica: Services, seen: Replica) -> None:
    """As behind a Service: nothing new is sent to a server that is told to end, nor before it is ready again."""
    seen.is_ready = False
    await until_served(replica.url)  # with this, it has taken all connections that were made before
    await replica.stop("server")
    await replica.start("server")
    await until_served(replica.url)
    seen.is_ready = True


async def until_served(url: str) -> None:
    """Wait until a replica lists all tools."""
    wanted = {tool["metadata"]["name"] for tool in yaml.safe_load_all((CLIENTS / "tools.yaml").read_text())}

    async def is_served() -> bool:
        try:
            async with TasksClient(url) as client:
                return wanted <= {tool.name for tool in await client.list_tools()}
        except (InternalServerError, UnreachableError):
            return False

    await eventually(is_served, what=f"{url} lists the tools", timeout_seconds=120)


class Drivers:
    """Runs each client's driver once, with all of its cases but those that the world must do something for."""

    def __init__(self, world: World, directory: Path) -> None:
        self._world, self._directory = world, directory
        self._node = nodejs.install(NODE_PACKAGES)
        # Node finds a module's packages beside the module, and nowhere else.
        self._scripts = directory / "node"
        shutil.copytree(CLIENTS, self._scripts, ignore=shutil.ignore_patterns("__pycache__"))
        (self._scripts / "node_modules").symlink_to(self._node.path / "node_modules")
        self.clients = clients()
        self._runs: dict[str, asyncio.Task[Seen]] = {}

    def begin(self, client: Client, names: Sequence[str], *, strict: bool = False) -> asyncio.Task[Seen]:
        """Start the driver with these cases, unless it was started with them before; `strict`: whatever it needs."""
        url = self._world.lenient_url if client.is_lenient and not strict else self._world.url
        key = f"{client.id} {url} {' '.join(names)}"
        if key not in self._runs:
            self._runs[key] = asyncio.create_task(self._run(client, url, names))
        return self._runs[key]

    async def _run(self, client: Client, url: str, names: Sequence[str]) -> Seen:
        program, environment = await asyncio.to_thread(self._program, client)
        process = await asyncio.create_subprocess_exec(
            *(*program, url, *names), env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, err.decode()
        seen: Seen = json.loads(out)
        return seen

    async def end(self) -> None:
        """End what still runs."""
        for run in self._runs.values():
            run.cancel()
        await asyncio.gather(*self._runs.values(), return_exceptions=True)

    def _program(self, client: Client) -> tuple[list[str], dict[str, str]]:
        """The driver's command line and environment; what it needs is installed."""
        driver = CLIENTS / client.driver
        home = self._directory / client.id
        home.mkdir(exist_ok=True)
        environment = {**self._node.environment, "HOME": str(home), "PYTHONPATH": str(CLIENTS)}
        if (driver / "driver.mjs").exists():
            return [str(self._node.node), str(self._scripts / client.driver / "driver.mjs")], environment
        python = Path(sys.executable)
        if (driver / pythonenvs.PINS).exists():
            python = pythonenvs.install(driver).python
        return [str(python), str(driver / "driver.py")], environment


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def drivers(world: World, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Drivers]:
    """The drivers, none of them started."""
    drivers = Drivers(world, tmp_path_factory.mktemp("drivers"))
    yield drivers
    await drivers.end()
