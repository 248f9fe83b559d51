"""Building one of the Dockerfile's targets, unless exactly this was built before."""

import os
import time
import tomllib
from pathlib import Path

from mcptasks_devcluster.images import canonical
from mcptasks_devcluster.locks import exclusive
from mcptasks_devcluster.paths import cache_dir
from mcptasks_devcluster.productimage.base import base_image
from mcptasks_devcluster.productimage.engines import Build, Engine, find_engine
from mcptasks_devcluster.productimage.network import build_secrets
from mcptasks_devcluster.productimage.sources import REPOSITORY, content_key
from mcptasks_devcluster.shell import run, say

TARGETS = {"runtime": "mcptasks", "examples": "mcptasks-examples", "conformance": "mcptasks-conformance"}
"""The Dockerfile's targets that become images, and the images' names."""


def image_name(target: str, *, tag: str) -> str:
    """The full name: what a kubelet makes of the short one, and what every engine takes as it is.

    >>> image_name("runtime", tag="dev")
    'docker.io/library/mcptasks:dev'
    """
    return canonical(f"{TARGETS[target]}:{tag}")


def build_image(target: str, *, tag: str, base: str | None = None) -> Path:
    """Build the image, and give the docker archive that holds it. Nothing is done where nothing has changed."""
    image = image_name(target, tag=tag)
    directory = cache_dir() / "images"
    with exclusive(directory / ".lock"):
        engine = find_engine()
        chosen = base_image(engine, base)
        stem = f"{TARGETS[target]}-{tag}"
        archive = directory / f"{stem}-{content_key(REPOSITORY, target=target, also=(image, chosen))}.tar"
        if archive.exists():
            say(f"devcluster: {image} is as it was built before")
        else:
            _build(engine, target=target, image=image, base=chosen, archive=archive)
            for older in directory.glob(f"{stem}-{'?' * 16}.tar"):
                if older != archive:
                    older.unlink()
    return archive


def _build(engine: Engine, *, target: str, image: str, base: str, archive: Path) -> None:
    say(f"devcluster: building {image} with {engine.program} on {base}")
    started = time.monotonic()
    with build_secrets(os.environ) as secrets:
        build = Build(
            context=REPOSITORY,
            file=REPOSITORY / "Dockerfile",
            image=image,
            target=target,
            arguments={"BASE_IMAGE": base, "VERSION": version()},
            secrets=secrets,
        )
        run(engine.build_command(build), env=engine.env, timeout=3600)
    unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
    run(engine.save_command(image, unfinished), env=engine.env)
    unfinished.replace(archive)
    say(f"devcluster: built {image} in {time.monotonic() - started:.0f} s")


def version() -> str:
    """The distribution's version."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    return str(project["version"])
