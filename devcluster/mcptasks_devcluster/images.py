"""Container images as files: the sandbox image made here, other images taken from where they were built."""

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from mcptasks_devcluster.errors import CommandError, UnavailableError
from mcptasks_devcluster.shell import run

PAUSE_IMAGE = "devcluster.local/pause:1"


def write_pause_image(program: Path, target: Path) -> None:
    """An image of this one static program, as ``docker save`` would write it."""
    layer = _tar([("pause", program.read_bytes(), 0o755)])
    config = json.dumps(
        {
            "architecture": "arm64" if os.uname().machine == "aarch64" else "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [PAUSE_IMAGE], "Layers": ["layer.tar"]}]
    target.write_bytes(
        _tar(
            [
                (config_name, config, 0o644),
                ("layer.tar", layer, 0o644),
                ("manifest.json", json.dumps(manifest).encode(), 0o644),
            ]
        )
    )


def _tar(files: list[tuple[str, bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content, mode in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def canonical(image: str) -> str:
    """The full name by which a node knows what pods call ``image``: ``tool:1`` is ``docker.io/library/tool:1``."""
    first, slash, _ = image.partition("/")
    named_registry = bool(slash) and ("." in first or ":" in first or first == "localhost")
    name = image if named_registry else f"docker.io/{image}" if slash else f"docker.io/library/{image}"
    last = name.rsplit("/", 1)[-1]
    return name if ":" in last or "@" in last else f"{name}:latest"


def export_commands(image: str, target: Path) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Ways to get an image by name out of where it may have been built; the first that works will do."""
    if shutil.which("docker"):
        yield ["docker", "save", "--output", str(target), image], {}
    if shutil.which("podman"):
        yield ["podman", "save", "--format", "docker-archive", "--output", str(target), image], {}
    if shutil.which("buildah"):
        push = ["push", image, f"docker-archive:{target}:{canonical(image)}"]
        yield ["buildah", *push], {}
        # Where overlay mounts are not allowed, images are built with the plain driver, which has its own storage. Said
        # as an option, because a buildah without a storage.conf does not look at the variable STORAGE_DRIVER.
        yield ["buildah", "--storage-driver", os.environ.get("STORAGE_DRIVER") or "vfs", *push], {}


def export_image(image: str, target: Path) -> None:
    """Write ``image`` to ``target`` as a docker archive."""
    refusals = []
    for command, env in export_commands(image, target):
        target.unlink(missing_ok=True)  # buildah does not write over an archive
        try:
            run(command, env=env)
        except CommandError as error:
            refusals.append(str(error))
        else:
            return
    if not refusals:
        raise UnavailableError(f"{image} is no file, and there is no docker, podman or buildah to take an image from")
    raise CommandError("\n".join([f"no storage has the image {image}:", *refusals]))
