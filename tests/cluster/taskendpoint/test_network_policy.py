"""The chart's NetworkPolicy where it is enforced: which pods get through to which ports, and which do not.

The tests of this file are one release's life, in this order: without the policy, with it, and with named peers.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_devcluster.paths import cluster_paths
from mcptasks_devcluster.policies import enforced
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.record import read_record
from mcptasks_devcluster.releases import CHART, Release, installed
from mcptasks_server.testing.wire import WITH_TASKS

from .conftest import TAG, client_of, offer

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]

HOME: Final = "policy-test"
ELSEWHERE: Final = "policy-test-elsewhere"
RELEASE: Final = "guarded"
PROGRAM: Final = (Path(__file__).parent / "reaching.py").read_text()
TASKS_POD: Final = {names.MANAGED_BY_LABEL: names.MANAGED_BY, names.TASK_LABEL: "mt-none"}
AGENT: Final = {"role": "agent"}
SCRAPER: Final = {"role": "scraper"}
PODS: Final = {
    "neighbour": (HOME, {}),
    "stranger": (ELSEWHERE, {}),
    "pretender": (ELSEWHERE, TASKS_POD),
    "agent": (ELSEWHERE, AGENT),
    "scraper": (ELSEWHERE, SCRAPER),
}
"""None of them is a task's. Name -> where it is, and its labels."""


@dataclass(frozen=True, kw_only=True)
class Doors:
    """The URLs of each port, at every pod that has it and at its Service, if it has one."""

    tasks: tuple[str, ...]
    mcp: tuple[str, ...]
    metrics: tuple[str, ...]

    def through(self, pod: str, release: Release) -> set[str]:
        """The ports by which this pod gets in."""
        every = (*self.tasks, *self.mcp, *self.metrics)
        asked = ("exec", pod, "--", "python", "-c", PROGRAM, *every)
        came = json.loads(replace(release, namespace=PODS[pod][0]).kubectl(*asked))
        kinds = {"tasks": self.tasks, "mcp": self.mcp, "metrics": self.metrics}
        got_in = {kind: {came[url].startswith("HTTP ") for url in urls} for kind, urls in kinds.items()}
        assert all(len(answers) == 1 for answers in got_in.values()), came  # a port is open at each door, or at none
        return {kind for kind, answers in got_in.items() if answers == {True}}


def doors(release: Release) -> Doors:
    """Of the pods that are there now."""
    ours = f"app.kubernetes.io/instance={release.name}"
    pods = [pod for pod in release.objects("pods", "--selector", ours) if "deletionTimestamp" not in pod["metadata"]]
    found: dict[str, list[str]] = {"tasks": [], "mcp": [], "metrics": []}
    for pod in pods:
        for port in pod["spec"]["containers"][0].get("ports", ()):
            found[port["name"]].append(f"http://{pod['status']['podIP']}:{port['containerPort']}/")
    for service in release.objects("services", "--selector", ours):
        for port in service["spec"]["ports"]:
            name = port["targetPort"]
            found[name].append(f"http://{service['metadata']['name']}.{HOME}.svc.cluster.local:{port['port']}/")
    return Doors(**{kind: tuple(urls) for kind, urls in found.items()})


def let_in(release: Release) -> dict[str, set[str]]:
    """By which ports each of the pods gets in, asked by all at once: who is kept out is so by a time-out."""
    there = doors(release)
    with ThreadPoolExecutor() as threads:
        return dict(zip(PODS, threads.map(lambda pod: there.through(pod, release), PODS), strict=True))


@pytest.fixture(scope="module")
def release(cluster: Any) -> Iterator[Release]:
    """The chart with single services and without its policy, where the network enforces policies."""
    paths = cluster_paths(cluster.name)
    record = read_record(paths.record)
    if record is None or record.provider != "local":
        pytest.skip("whether this cluster's network enforces policies is not ours to say")
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    kubeconfig = Path(cluster.kubeconfig_path)
    elsewhere = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}}
    values = {"image.tag": TAG, "networkPolicy.enabled": "false", "server.replicas": "1", "operator.replicas": "1"}
    chart = installed(RELEASE, namespace=HOME, kubeconfig=kubeconfig, values=values, before=[elsewhere])
    with enforced(paths), chart as release:
        try:
            there = {name: replace(release, namespace=namespace) for name, (namespace, _) in PODS.items()}
            for name, (_, labels) in PODS.items():
                there[name].kubectl("apply", "--filename", "-", given=json.dumps(pod_of(name, labels)))
            for name in PODS:
                there[name].kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"pod/{name}")
            yield release
        finally:
            release.kubectl("delete", "namespace", ELSEWHERE, "--wait=false")


def pod_of(name: str, labels: dict[str, str]) -> Json:
    """A pod that waits to be told what to do, and conforms to the restricted standard."""
    container = {
        "name": "it",
        "image": image_name("runtime", tag=TAG),
        "command": ["sleep", "infinity"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {
        "containers": [container],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def upgraded(release: Release, **policy: Any) -> None:
    """The same release with that policy. Its pods stay."""
    values = ("--reuse-values", "--set-json", f"networkPolicy={json.dumps({'enabled': True, **policy})}")
    release.helm("upgrade", release.name, str(CHART), *values, "--wait", "--timeout", "120s")


def test_without_the_policy_every_pod_gets_in_by_every_port(release: Release) -> None:
    """So it is the policy that keeps them out below."""
    assert let_in(release) == {pod: {"tasks", "mcp", "metrics"} for pod in PODS}


def test_the_port_of_tasks_is_closed_to_every_pod_that_is_no_tasks(release: Release) -> None:
    upgraded(release)

    assert let_in(release) == {pod: {"mcp", "metrics"} for pod in PODS}


async def test_a_tasks_pod_gets_in_and_its_progress_and_result_arrive(release: Release) -> None:
    offer(release, "flood", job="flood")
    async with client_of(release) as wire:
        params = {"name": "flood", "arguments": {}}
        called = await wire.call("tools/call", params, capabilities=WITH_TASKS)
        asked = {"notifications": {"taskIds": [called.result["taskId"]]}}
        async with wire.stream("subscriptions/listen", asked, capabilities=WITH_TASKS) as stream:
            seen = [(await stream.until("notifications/tasks", within=60))["params"]]
            while seen[-1]["status"] == "working":
                seen.append((await stream.until("notifications/tasks", within=60))["params"])

    assert seen[-1]["status"] == "completed"
    assert int(seen[-1]["result"]["content"][0]["text"]) >= 20
    assert any(each.get("statusMessage", "").isdigit() for each in seen)


def test_the_ports_are_open_to_the_peers_that_are_named_and_to_no_others(release: Release) -> None:
    upgraded(release, clients=[peer(AGENT)], scrapers=[peer(SCRAPER)])

    assert let_in(release) == {
        "neighbour": set(),
        "stranger": set(),
        "pretender": set(),
        "agent": {"mcp"},
        "scraper": {"metrics"},
    }


def test_probes_go_on_and_new_pods_become_ready(release: Release) -> None:
    for component in ("server", "operator"):
        release.kubectl("rollout", "restart", f"deployment/{RELEASE}-mcptasks-{component}")
    for component in ("server", "operator"):
        release.kubectl("rollout", "status", f"deployment/{RELEASE}-mcptasks-{component}", "--timeout=120s")


def test_helm_test_gets_in_too(release: Release) -> None:
    assert "Succeeded" in release.helm("test", RELEASE, "--timeout", "240s")


def peer(labels: dict[str, str]) -> Json:
    """Pods with these labels in the other namespace."""
    namespaces = {"matchLabels": {"kubernetes.io/metadata.name": ELSEWHERE}}
    return {"namespaceSelector": namespaces, "podSelector": {"matchLabels": labels}}
