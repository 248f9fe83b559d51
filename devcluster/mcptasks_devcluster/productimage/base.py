"""The base image: a registry's Python image, or a Debian with Python made here where there is no registry."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mcptasks_devcluster.debian import ensure_packages
from mcptasks_devcluster.errors import CommandError, UnavailableError
from mcptasks_devcluster.locks import exclusive
from mcptasks_devcluster.paths import cache_dir
from mcptasks_devcluster.productimage.engines import Build, Engine
from mcptasks_devcluster.shell import answers, run, say

REGISTRY_BASE = "docker.io/library/python:3.11-slim"
_SUITE = "bookworm"
_PACKAGES = ("ca-certificates", "python3", "python3-venv")
_LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt", "var/log")
"""Directories whose content no program needs to run."""
_DEBOOTSTRAP = {"debootstrap": "/usr/sbin/debootstrap", "debian-archive-keyring": "/usr/share/keyrings"}
_MIRROR_VARIABLE = "MCPTASKS_DEBIAN_MIRROR"


def base_image(engine: Engine, wanted: str | None) -> str:
    """The base image's name: the wanted one, else one that can be had on this machine."""
    if wanted is not None:
        return wanted
    if engine.program != "buildah" and _from_registry(engine):
        return REGISTRY_BASE
    # buildah without docker or podman is what this tool makes do with where nothing else is, registries included.
    return _made_here(engine)


def _from_registry(engine: Engine) -> bool:
    if answers(engine.has_command(REGISTRY_BASE)):
        return True
    say(f"devcluster: pulling {REGISTRY_BASE}")
    return answers([engine.program, "pull", REGISTRY_BASE], timeout=600)


def _made_here(engine: Engine) -> str:
    image = f"localhost/mcptasks-base:{base_key()}"
    if answers(engine.has_command(image)):
        return image
    tree = root_file_system()
    with TemporaryDirectory(prefix="mcptasks-base-") as directory:
        context = Path(directory)
        os.link(tree, context / tree.name) if _same_device(tree, context) else shutil.copy(tree, context)
        file = context / "Dockerfile"
        file.write_text(f"FROM scratch\nADD {tree.name} /\n")
        run(engine.build_command(Build(context=context, file=file, image=image)), env=engine.env)
    return image


def base_key() -> str:
    """Changes with everything that decides the content."""
    recipe = (_SUITE, *_PACKAGES, *_LEFT_OUT, os.uname().machine)
    return hashlib.sha256("\n".join(recipe).encode()).hexdigest()[:12]


def root_file_system() -> Path:
    """A Debian with Python, as a tar file in the cache directory; made at the first call, by root on a Debian."""
    target = cache_dir() / "base" / f"{_SUITE}-{base_key()}.tar"
    with exclusive(target.parent / ".lock"):
        if target.exists():
            return target
        if os.geteuid() != 0:
            raise UnavailableError("a base image is made by root only; name one that you have: --base IMAGE")
        ensure_packages(_DEBOOTSTRAP, purpose="a base image without a registry")
        say("devcluster: making a base image with debootstrap (once, about a minute)")
        with TemporaryDirectory(prefix=".root-", dir=target.parent) as directory:
            root = Path(directory) / "root"
            run(debootstrap_command(root, mirror=_mirror()), timeout=1800)
            _leave_out(root)
            unfinished = Path(directory) / "root.tar"
            run(["tar", "--create", "--file", unfinished, "--numeric-owner", "--directory", root, "."])
            unfinished.replace(target)
    return target


def debootstrap_command(root: Path, *, mirror: str | None) -> list[str]:
    """The command that makes the tree."""
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", _SUITE, str(root)]
    return command if mirror is None else [*command, mirror]


def _mirror() -> str | None:
    """Where this machine's own packages of that release come from, so that a mirror in its apt settings is used."""
    if named := os.environ.get(_MIRROR_VARIABLE):
        return named
    with suppress(CommandError, UnavailableError):
        listing = run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Identifier: Packages"])
        return mirror_of(_SUITE, listing.splitlines())
    return None


def mirror_of(suite: str, lines: Sequence[str]) -> str | None:
    """The address on the first line that begins with this suite.

    >>> mirror_of("bookworm", ["bookworm-security http://b/", "bookworm http://a/debian/"])
    'http://a/debian/'
    """
    found = (line.split(" ", 1) for line in lines)
    return next((address.strip() for name, address in found if name == suite), None)


def _leave_out(root: Path) -> None:
    for directory in _LEFT_OUT:
        for entry in (root / directory).iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _same_device(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev
