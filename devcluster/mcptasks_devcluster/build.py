"""Building the programs from pinned Go modules, once; later runs find them in the cache directory."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from mcptasks_devcluster.golang import Go, find_go
from mcptasks_devcluster.locks import exclusive
from mcptasks_devcluster.paths import cache_dir
from mcptasks_devcluster.shell import run, say
from mcptasks_devcluster.versions import GOBUILD, PROGRAMS, Program, build_key, linker_flags


def binary(name: str) -> Path:
    """Where a built program is, or will be."""
    return cache_dir() / "bin" / f"{PROGRAMS[name].module}-{build_key(PROGRAMS[name].module)}" / name


def ensure(names: Sequence[str]) -> None:
    """Build what is missing of these; safe to be called by several processes at once."""
    if all(binary(name).exists() for name in names):
        return
    with exclusive(cache_dir() / "bin" / ".lock"):
        missing = [name for name in names if not binary(name).exists()]
        if not missing:
            return
        go = find_go()
        say(f"devcluster: building {len(missing)} programs with {go.path} (once; cold about ten minutes on two cores)")
        for number, name in enumerate(missing, start=1):
            started = time.monotonic()
            say(f"devcluster: [{number}/{len(missing)}] building {name}")
            _build(go, PROGRAMS[name])
            say(f"devcluster: [{number}/{len(missing)}] {name} built in {time.monotonic() - started:.0f} s")


def build_command(go: str, program: Program, output: Path) -> list[str]:
    """The command that builds one program, to be run in its module's directory."""
    return [go, "build", "-trimpath", "-ldflags", linker_flags(program), "-o", str(output), program.package]


def _build(go: Go, program: Program) -> None:
    target = binary(program.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    run(
        build_command(go.path, program, unfinished),
        # Static, and never with other versions than go.mod names.
        env={"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off", **go.env},
        cwd=GOBUILD / program.module,
        timeout=3600,
    )
    unfinished.replace(target)
