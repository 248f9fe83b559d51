"""The chart, installed in a cluster as people install it, and what kubectl and helm say of that release."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcptasks_crds import names
from mcptasks_crds.kube import Kube
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.errors import CommandError
from mcptasks_devcluster.programs import program

CHART: Final = Path(__file__).parents[2] / "charts" / "mcptasks"
PORT: Final = 8080
"""Of a server's pod: where clients are served."""
SECONDS: Final = 300
"""How long one command may take."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release that runs."""

    name: str
    namespace: str
    kubeconfig: Path

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What kubectl says, in the release's namespace.

        Raises:
            CommandError: it failed.
        """
        return self._run(program("kubectl"), *arguments, given=given)

    def helm(self, *arguments: str) -> str:
        """What helm says, in the release's namespace.

        Raises:
            CommandError: it failed.
        """
        return self._run(program("helm"), *arguments)

    def objects(self, kinds: str, *arguments: str) -> list[dict[str, Any]]:
        """The objects of these kinds."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", kinds, "--output", "json", *arguments))["items"]
        return found

    def task(self, task_id: str) -> dict[str, Any]:
        """The object behind a task."""
        found: dict[str, Any] = json.loads(self.kubectl("get", "mcptask", task_id, "--output", "json"))
        return found

    @property
    def of_servers(self) -> str:
        """The selector of the server's pods."""
        return f"app.kubernetes.io/instance={self.name},app.kubernetes.io/component=server"

    def servers(self) -> list[str]:
        """The names of the server's pods that are ready."""
        return sorted(
            pod["metadata"]["name"]
            for pod in self.objects("pods", "--selector", self.of_servers)
            if "deletionTimestamp" not in pod["metadata"]
            and all(each["ready"] for each in pod["status"].get("containerStatuses", [{"ready": False}]))
        )

    def tool(self, name: str, container: Mapping[str, Any], **spec: Any) -> None:
        """Offer a tool of one container, and wait until it is ready."""
        manifest = {
            "apiVersion": names.API_VERSION,
            "kind": names.TOOL_KIND,
            "metadata": {"name": name},
            "spec": {
                "description": f"The tool {name}.",
                "job": {"template": {"spec": {"containers": [{"name": "tool", **container}]}}},
                **spec,
            },
        }
        self.kubectl("apply", "--filename", "-", given=json.dumps(manifest))
        self.kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"mcptool/{name}")

    def _run(self, tool: str, *words: str, given: str | None = None) -> str:
        done = subprocess.run(
            [tool, "--namespace", self.namespace, *words],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        if done.returncode:
            raise CommandError(f"{tool} {' '.join(words)} failed ({done.returncode}): {done.stdout}")
        return done.stdout


@contextmanager
def installed(
    name: str,
    *,
    namespace: str,
    kubeconfig: Path,
    values: Mapping[str, str],
    before: Sequence[Mapping[str, Any]] = (),
) -> Iterator[Release]:
    """The chart with these values, in a namespace that admits restricted pods alone; both are gone afterwards.

    `before`: objects that are applied before the chart is installed.
    """
    release = Release(name=name, namespace=namespace, kubeconfig=kubeconfig.absolute())
    asyncio.run(_install_crds(release.kubeconfig))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}
    settings = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    chart = ["upgrade", "--install", name, str(CHART), "--wait", "--timeout", "180s", "--set", "crds.install=false"]
    try:
        for manifest in (home, *before):
            release.kubectl("apply", "--filename", "-", given=json.dumps(manifest))
        release.helm(*chart, *settings)
        yield release
    finally:
        release.helm("uninstall", name, "--ignore-not-found", "--wait")
        release.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false")


async def _install_crds(kubeconfig: Path) -> None:
    async with await Kube.connect(kubeconfig=kubeconfig) as kube:
        await install_crds(kube)
