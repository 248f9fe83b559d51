"""Clusters for tests: pytest-kind's own fixture, whoever serves it, and a namespace for each test.

A test marked `cluster` gets a whole cluster (`cluster`: pytest-kind's `KindCluster`), one marked `apiserver` the light
one, without a kubelet. Both use the same fixtures below: `kubeconfig`, `kube`, `namespace`.
"""

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from mcptasks_crds import names
from mcptasks_crds.kube import JOBS, PODS, SECRETS, TASKS, ConflictError, Kind, Kube, NotFoundError
from mcptasks_devcluster import pythonenvs
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.layout import PORTS, PORTS_VARIABLE
from mcptasks_server.contexts import Contexts
from mcptasks_server.testing import fastmcp_models, judges

# A busy machine is no finding: property tests are bounded by pytest's own timeout, not by the clock of one example.
settings.register_profile("mcptasks", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mcptasks")

ROOT: Final = Path(__file__).parents[1]
OURS: Final = f"{names.MANAGED_BY_LABEL}={names.MANAGED_BY}"
NAMESPACES: Final = "/api/v1/namespaces"
PATIENCE: Final = 100
"""How often it is looked whether something is left, 50 ms apart."""

SHOWN: Final = "shown"
"""The property of a test's report that holds a line for whoever started the tests."""

_WITH_CRDS: Final = pytest.StashKey[set[Path]]()


def pytest_configure(config: pytest.Config) -> None:
    """Give each of several processes that share the tests (pytest-xdist's workers) clusters and ports of its own."""
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        config.option.cluster_name += f"-{worker}"
        workers = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        share = len(PORTS) // workers
        low = (
            PORTS.start + int(worker.removeprefix("gw")) % workers * share
        )  # one that replaces another has a higher number
        os.environ[PORTS_VARIABLE] = f"{low}-{low + share}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write what tests had to show. It comes with their reports, whichever process ran them."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    ended = [report for report in reports if isinstance(report, pytest.TestReport) and report.when == "teardown"]
    if lines := [line for report in ended for name, line in report.user_properties if name == SHOWN]:
        terminalreporter.section("shown by tests")
        for line in lines:
            terminalreporter.write_line(str(line))


@pytest.fixture
def show(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says something to whoever started the tests, at their end, whether they pass or not."""
    return lambda line: request.node.user_properties.append((SHOWN, line))


def devcluster(*arguments: str) -> str:
    """What the development cluster's command line prints; its progress goes to the terminal."""
    command = [sys.executable, "-m", "mcptasks_devcluster", *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session", autouse=True)
def judged_by_fastmcp() -> None:
    """Hold every task that a test's client is shown against fastmcp's models too, where `make programs` has run."""
    environment = pythonenvs.installed(ROOT / "tests" / "clients" / "fastmcp_tasks")
    if environment is not None:
        judges.OTHERS.append(fastmcp_models.judge_of(environment.path))


@pytest.fixture(autouse=True)
def nothing_left_of_requests(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test, nothing is left in memory of the requests that servers of this process have answered."""
    made: list[Contexts] = []
    begin = Contexts.__init__

    def noted(contexts: Contexts, **arguments: Any) -> None:
        begin(contexts, **arguments)
        made.append(contexts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Contexts, "__init__", noted)
        yield
    if any(contexts.left(seconds=0) for contexts in made):
        request.node.funcargs.clear()  # what the test's own doubles have kept
    for _ in range(PATIENCE):
        if not any(contexts.left(seconds=0) for contexts in made):
            break
        gc.collect()  # what is only kept by itself is no leak
        threading.Event().wait(0.05)  # a thread that has just ended its work may not have let go of it yet
    assert sum(contexts.left(seconds=0) for contexts in made) == 0, "something keeps what belongs to ended requests"


@pytest.fixture(scope="session")
def kind_programs(pytestconfig: pytest.Config) -> None:
    """Give pytest-kind the `kind` stand-in and a kubectl, so that it downloads neither."""
    options = pytestconfig.option
    if options.kind_bin is None:
        options.kind_bin = str(ROOT / "devcluster" / "bin" / "kind")
    if options.kind_kubectl_bin is None:
        options.kind_kubectl_bin = devcluster("bin", "kubectl")


@pytest.fixture(scope="session")
def cluster(kind_programs: None, request: pytest.FixtureRequest) -> Any:
    """A whole cluster, as pytest-kind's `KindCluster`."""
    return request.getfixturevalue("kind_cluster")


@pytest.fixture(scope="session")
def api_server(pytestconfig: pytest.Config) -> Iterator[Path]:
    """The kubeconfig of a light cluster: a real API server and controllers, no kubelet."""
    name = f"{pytestconfig.option.cluster_name}-light"
    yield Path(devcluster("up", "--light", "--name", name))
    if not pytestconfig.option.keep_cluster:
        devcluster("down", "--name", name)


@pytest.fixture
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The kubeconfig of the cluster that the test's marker asks for."""
    if request.node.get_closest_marker("cluster"):
        return Path(request.getfixturevalue("cluster").kubeconfig_path)
    return Path(request.getfixturevalue("api_server"))


@pytest.fixture
async def kube(kubeconfig: Path, pytestconfig: pytest.Config) -> AsyncIterator[Kube]:
    """An open connection with all rights, and the CRDs installed."""
    installed = pytestconfig.stash.setdefault(_WITH_CRDS, set())
    async with await Kube.connect(kubeconfig=kubeconfig) as kube:
        if kubeconfig not in installed:
            await install_crds(kube)
            installed.add(kubeconfig)
        yield kube


@pytest.fixture
async def namespace(kube: Kube, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A namespace of the test's own; afterwards nothing of ours may be left without an owner, or held by us."""
    created = await kube.request("POST", NAMESPACES, body={"metadata": {"generateName": "t-"}})
    name = json.loads(created)["metadata"]["name"]
    yield name
    leaks = [leak for kind in (TASKS, JOBS, PODS, SECRETS) for leak in await _leaks(kube, kind, name)]
    with suppress(NotFoundError, ConflictError):  # a test may have deleted it
        await kube.request("DELETE", f"{NAMESPACES}/{name}")
    assert leaks == []


async def _leaks(kube: Kube, kind: Kind, namespace: str) -> list[str]:
    """What of ours would outlive its task, or could not be deleted without us."""
    selector = {} if kind is TASKS else {"labelSelector": OURS}
    found: list[str] = []
    for item in (await kube.list(kind, namespace, **selector))["items"]:
        metadata = item["metadata"]
        finalizers = [text for text in metadata.get("finalizers", ()) if "mcptasks" in text or "kopf" in text]
        if finalizers:
            found.append(f"{kind.plural}/{metadata['name']} is held by {finalizers}")
        if kind is not TASKS and not metadata.get("ownerReferences"):
            found.append(f"{kind.plural}/{metadata['name']} has no owner")
    return found
