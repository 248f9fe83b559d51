"""The product as people install it, tools whose programs use `mcptasks.job`, and an image that has no Python."""

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
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_devcluster.forwarding import forwarded
from mcptasks_devcluster.productimage.building import build_image, image_name
from mcptasks_devcluster.programs import program
from mcptasks_devcluster.releases import PORT, SECONDS, Release, installed
from mcptasks_server.testing.wire import Wire

TAG: Final = "test"
NAMESPACE: Final = "job-test"
RELEASE: Final = "job"
SHELL_IMAGE: Final = "docker.io/library/mcptasks-test-shell:1"
SHELL_PROGRAMS: Final = ("sh", "curl", "cat", "sleep")
_LIBRARY: Final = re.compile(r"(/\S+) \(0x")


def scale_servers(release: Release, replicas: int) -> None:
    """So many servers, and no fewer pods that are ready."""
    deployment = f"deployment/{RELEASE}-mcptasks-server"
    release.kubectl("scale", deployment, f"--replicas={replicas}")
    if replicas:
        release.kubectl("rollout", "status", deployment, f"--timeout={SECONDS}s")
    else:
        release.kubectl("wait", "--for=delete", "pod", "--selector", release.of_servers, f"--timeout={SECONDS}s")


@pytest.fixture(scope="session")
def release(cluster: Any) -> Iterator[Release]:
    """The chart with its defaults."""
    cluster.load_docker_image(str(build_image("runtime", tag=TAG)))
    values = {"image.tag": TAG, "logLevel": "debug"}
    with installed(RELEASE, namespace=NAMESPACE, kubeconfig=Path(cluster.kubeconfig_path), values=values) as release:
        yield release


@pytest.fixture
async def server_url(release: Release) -> AsyncIterator[str]:
    """Where one of the servers is."""
    async with AsyncExitStack() as stack:
        way = forwarded(release.servers()[0], PORT, kubeconfig=release.kubeconfig, namespace=NAMESPACE)
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
