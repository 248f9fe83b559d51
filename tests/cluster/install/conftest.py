"""A release of the chart, in a namespace that enforces the restricted Pod Security Standard."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.programs import program

ROOT: Final = Path(__file__).parents[3]
CHART: Final = ROOT / "charts" / "mcptasks"
TAG: Final = "test"
NAMESPACE: Final = "install-test"
OTHER_NAMESPACE: Final = "install-test-other"


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a program ended."""

    code: int
    output: str
    """What it said, on both streams."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """helm and kubectl for the cluster under test."""

    helm_path: str
    kubectl_path: str
    kubeconfig: Path

    def helm(self, *arguments: str) -> Done:
        """Run helm."""
        return self._run(self.helm_path, *arguments)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> Done:
        """Run kubectl."""
        return self._run(self.kubectl_path, *arguments, stdin=stdin)

    def shell(self, text: str) -> Done:
        """Paste a text into a shell that finds kubectl."""
        return self._run("env", f"PATH={Path(self.kubectl_path).parent}:{os.environ['PATH']}", "bash", "-c", text)

    def objects(self, kinds: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
        """The objects of these kinds that are not about to go."""
        done = self.kubectl("get", kinds, "--namespace", namespace, "--output", "json")
        assert done.code == 0, done.output
        items: list[dict[str, Any]] = json.loads(done.output)["items"]
        return [item for item in items if "deletionTimestamp" not in item["metadata"]]

    def install(self, release: str, *settings: str, namespace: str = NAMESPACE) -> Done:
        """Install or upgrade a release, and wait until it is ready."""
        values = [word for setting in (f"image.tag={TAG}", *settings) for word in ("--set", setting)]
        chart = [release, str(CHART), "--namespace", namespace, "--wait", "--timeout", "180s"]
        return self.helm("upgrade", "--install", *chart, *values)

    def run_commands_of(self, text: str) -> None:
        """Run the kubectl commands that a message tells people to run, as they stand there."""
        commands = re.findall(r"^ *kubectl (.*)$", text.replace("\\\n", " "), re.MULTILINE)
        assert commands, text
        for command in commands:
            done = self.kubectl(*command.split())
            assert done.code == 0, done.output

    def _run(self, *command: str, stdin: str | None = None) -> Done:
        env = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run(
            command,
            env=env,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        return Done(code=done.returncode, output=done.stdout)


@pytest.fixture(scope="module")
def tools(cluster: Any) -> Cluster:
    """The cluster, with the product's image on its node."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    return Cluster(
        helm_path=program("helm"),
        kubectl_path=str(cluster.kubectl_path),
        kubeconfig=Path(cluster.kubeconfig_path).absolute(),
    )


@pytest.fixture(scope="module")
def namespaces(tools: Cluster) -> Iterator[None]:
    """Two namespaces that admit nothing but restricted pods."""
    for name in (NAMESPACE, OTHER_NAMESPACE):
        manifest = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "labels": {
                    "pod-security.kubernetes.io/enforce": "restricted",
                    "pod-security.kubernetes.io/enforce-version": "latest",
                },
            },
        }
        done = tools.kubectl("apply", "--filename", "-", stdin=json.dumps(manifest))
        assert done.code == 0, done.output
    yield
    for name in (NAMESPACE, OTHER_NAMESPACE):
        tools.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def release(tools: Cluster, namespaces: None) -> Iterator[str]:
    """A release that is installed and ready."""
    name = "itest"
    done = tools.install(name)
    if "is there already" in done.output:  # other tests have put the CRDs there, without Helm
        tools.run_commands_of(done.output)
        done = tools.install(name)
    assert done.code == 0, done.output
    yield name
    tools.helm("uninstall", name, "--namespace", NAMESPACE, "--ignore-not-found", "--wait")


@pytest.fixture(scope="session")
def image() -> str:
    """The image that the releases run."""
    return image_name("runtime", tag=TAG)
