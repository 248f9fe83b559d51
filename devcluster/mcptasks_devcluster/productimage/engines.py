"""The programs that build images, and what each is told. They differ in little, and only here."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mcptasks_devcluster.debian import ensure_packages
from mcptasks_devcluster.kind import engine as answering_engine
from mcptasks_devcluster.shell import answers

_BUILDAH = {"buildah": "/usr/bin/buildah"}


@dataclass(frozen=True, kw_only=True)
class Build:
    """One image to be built."""

    context: Path
    file: Path
    image: str
    target: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """One program, and what it is always told here."""

    program: str
    options: tuple[str, ...] = ()
    """Given before the program's verb."""
    build_options: tuple[str, ...] = ()
    """Given after the verb `build`."""
    env: Mapping[str, str] = field(default_factory=dict)

    def build_command(self, build: Build) -> list[str]:
        """The command that makes the image, in this engine's own storage."""
        words = self._command("build", *self.build_options, "--tag", build.image, "--file", str(build.file))
        if build.target is not None:
            words += ["--target", build.target]
        for name, value in build.arguments.items():
            words += ["--build-arg", f"{name}={value}"]
        for name, path in build.secrets.items():
            words += ["--secret", f"id={name},src={path}"]
        return [*words, str(build.context)]

    def save_command(self, image: str, archive: Path) -> list[str]:
        """The command that writes the image to a docker archive, under its full name."""
        if self.program == "buildah":
            return self._command("push", image, f"docker-archive:{archive}:{image}")
        form = ["--format", "docker-archive"] if self.program == "podman" else []
        return self._command("save", "--output", str(archive), *form, image)

    def has_command(self, image: str) -> list[str]:
        """The command that succeeds when the image is in this engine's storage."""
        if self.program == "buildah":
            return self._command("inspect", "--type", "image", "--format", "{{.FromImageID}}", image)
        return self._command("image", "inspect", "--format", "{{.Id}}", image)

    def _command(self, *words: str) -> list[str]:
        return [self.program, *self.options, *words]


def find_engine() -> Engine:
    """docker or podman where one answers, else buildah, which is installed where that is possible."""
    chosen = answering_engine()
    if chosen == "docker":
        # The classic builder knows no secrets.
        return Engine(program="docker", env={"DOCKER_BUILDKIT": "1"})
    if chosen is not None:
        return Engine(program=chosen)
    if shutil.which("buildah") is None:
        ensure_packages(_BUILDAH, purpose="building images without docker or podman")
    return buildah(os.environ, overlay=answers(["buildah", "info"]))


def buildah(environ: Mapping[str, str], *, overlay: bool) -> Engine:
    """buildah as it works inside a container too; what the environment says already stays as it is.

    chroot isolation asks for no namespaces, and the vfs driver for no mounts (it copies each layer whole).
    """
    # As an option, because a buildah without a storage.conf does not look at the variable.
    driver = environ.get("STORAGE_DRIVER") or (None if overlay else "vfs")
    return Engine(
        program="buildah",
        options=("--storage-driver", driver) if driver else (),
        # Layers for the next build, which others keep unasked; kept as whole copies, they cost more than they save.
        build_options=() if driver == "vfs" else ("--layers",),
        env={} if "BUILDAH_ISOLATION" in environ else {"BUILDAH_ISOLATION": "chroot"},
    )
