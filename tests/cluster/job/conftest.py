"""The product as people install it, tools whose programs use `mcptasks.job`, and an image that has no Python."""

import asyncio
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_crds.kube import Kube
from mcptasks_devcluster.crds import install_crds
from mcptasks_devcluster.forwarding import forwarded
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.programs import program
from mcptasks_server.testing.wire import Wire

ROOT: Final = Path(__file__).parents[3]
TAG: Final = "test"
NAMESPACE: Final = "job-test"
RELEASE: Final = "job"
PORT: Final = 8080
SECONDS: Final = 300
SHELL_IMAGE: Final = "docker.io/library/mcptasks-test-shell:1"
SHELL_PROGRAMS: Final = ("sh", "curl", "cat", "sleep")
_LIBRARY: Final = re.compile(r"(/\S+) \(0x")


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release that runs."""

    kubeconfig: Path

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What kubectl says, in the release's namespace."""
        return self._run(program("kubectl"), *arguments, "--namespace", NAMESPACE, given=given)

    def helm(self, *arguments: str) -> str:
        """What helm says, in the release's namespace."""
        return self._run(program("helm"), *arguments, "--namespace", NAMESPACE)

    def task(self, task_id: str) -> dict[str, Any]:
        """The object behind a task."""
        found: dict[str, Any] = json.loads(self.kubectl("get", "mcptask", task_id, "--output", "json"))
        return found

    def scale_servers(self, replicas: int) -> None:
        """So many servers, and no fewer pods that are ready."""
        deployment = f"deployment/{RELEASE}-mcptasks-server"
        self.kubectl("scale", deployment, f"--replicas={replicas}")
        if replicas:
            self.kubectl("rollout", "status", deployment, f"--timeout={SECONDS}s")
        else:
            selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=server"
            self.kubectl("wait", "--for=delete", "pod", "--selector", selector, f"--timeout={SECONDS}s")

    def server(self) -> str:
        """The name of a server's pod."""
        selector = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=server"
        found = json.loads(self.kubectl("get", "pods", "--selector", selector, "--output", "json"))["items"]
        ready = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        return str(ready[0]["metadata"]["name"])

    def tool(self, name: str, container: dict[str, Any], **spec: Any) -> None:
        """Offer a tool."""
        manifest = {
            "apiVersion": "mcptasks.dev/v1alpha1",
            "kind": "McpTool",
            "metadata": {"name": name},
            "spec": {
                "description": "A test's tool.",
                "job": {"template": {"spec": {"containers": [{"name": "tool", **container}]}}},
                **spec,
            },
        }
        self.kubectl("apply", "--filename", "-", given=json.dumps(manifest))
        self.kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"mcptool/{name}")

    def _run(self, *words: str, given: str | None = None) -> str:
        done = subprocess.run(
            words,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="session")
def release(cluster: Any) -> Iterator[Release]:
    """The chart with its defaults, in a namespace that admits restricted pods alone."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    found = Release(kubeconfig=Path(cluster.kubeconfig_path).absolute())
    asyncio.run(_install_crds(found.kubeconfig))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    chart = ["upgrade", "--install", RELEASE, str(ROOT / "charts" / "mcptasks"), "--wait", "--timeout", "180s"]
    try:
        found.kubectl("apply", "--filename", "-", given=json.dumps(namespace))
        found.helm(*chart, "--set", f"image.tag={TAG},crds.install=false,logLevel=debug")
        yield found
    finally:
        found.helm("uninstall", RELEASE, "--ignore-not-found", "--wait")
        found.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


async def _install_crds(kubeconfig: Path) -> None:
    async with await Kube.connect(kubeconfig=kubeconfig) as kube:
        await install_crds(kube)


@pytest.fixture
async def server_url(release: Release) -> AsyncIterator[str]:
    """Where one of the servers is."""
    async with AsyncExitStack() as stack:
        way = forwarded(release.server(), PORT, kubeconfig=release.kubeconfig, namespace=NAMESPACE)
        yield f"{await stack.enter_async_context(way)}/mcp"


@pytest.fixture
async def wire(server_url: str) -> AsyncIterator[Wire]:
    """A client of it."""
    async with aiohttp.ClientSession() as session:
        yield Wire(session, server_url)


MakeTool = Callable[..., None]


@pytest.fixture
def python_tool(release: Release) -> MakeTool:
    """Offers a Python program as a tool."""

    def make(name: str, source: str, **spec: Any) -> None:
        container = {"image": image_name("runtime", tag=TAG), "command": ["python", "-c", source]}
        release.tool(name, container, **spec)

    return make


@pytest.fixture(scope="session")
def shell_image(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A shell, curl and two more programs of this machine, with the libraries they need: nothing else."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    archive = tmp_path_factory.mktemp("image") / "shell.tar"
    archive.write_bytes(_image(_tree()))
    cluster.load_docker_image(str(archive))
    return SHELL_IMAGE


def _tree() -> dict[str, bytes]:
    """The files of the image by their paths."""
    found: dict[str, bytes] = {}
    for name in SHELL_PROGRAMS:
        path = shutil.which(name)
        assert path is not None
        found[f"bin/{name}"] = Path(path).read_bytes()
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for library in _LIBRARY.findall(listed):
            found[library.lstrip("/")] = Path(library).read_bytes()
    for name in ("libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"):  # names are looked up through these
        for library in Path("/lib").glob(f"*/{name}"):
            found[str(library).lstrip("/")] = library.read_bytes()
    return found


def _image(files: dict[str, bytes]) -> bytes:
    """An image of these files, as `docker save` would write it."""
    layer = _tar({path: (content, 0o755) for path, content in files.items()})
    config = json.dumps(
        {
            "architecture": "arm64" if os.uname().machine == "aarch64" else "amd64",
            "os": "linux",
            "config": {"Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": [SHELL_IMAGE], "Layers": ["layer.tar"]}]).encode()
    return _tar({name: (config, 0o644), "layer.tar": (layer, 0o644), "manifest.json": (manifest, 0o644)})


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, (content, mode) in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def shell(release: Release, server_url: str) -> Callable[..., str]:
    """Runs commands as an author types them: `kubectl` works in the release's namespace, `mcptasks` is on the path."""

    def run(script: str, *, folder: Path) -> str:
        programs = folder / "bin"
        programs.mkdir(exist_ok=True)
        wrapper = programs / "kubectl"
        wrapper.write_text(f'#!/bin/sh\nexec {program("kubectl")} --namespace {NAMESPACE} "$@"\n')
        wrapper.chmod(0o755)
        path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
        more = {"PATH": path, "KUBECONFIG": str(release.kubeconfig), "MCPTASKS_SERVER": server_url}
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=folder,
            env={**os.environ, **more},
            stdout=subprocess.PIPE,
            input="",
            text=True,
            check=False,
            timeout=SECONDS,
        )
        return done.stdout

    return run
