"""What the image is made from: the files that .dockerignore lets in, and one hash of them."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from mcptasks_devcluster.errors import DevclusterError

REPOSITORY = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """A .dockerignore that refuses all, lets some paths in, and out of those refuses names anywhere.

    Docker's whole pattern language has subtleties in which builders differ; this much means the same to all of them.
    """

    included: tuple[str, ...]
    refused_names: tuple[str, ...]

    def admits(self, path: Path) -> bool:
        """Whether a path (relative to the context) enters the build."""
        inside = any(path.is_relative_to(included) for included in self.included)
        return inside and not any(fnmatch(part, name) for part in path.parts for name in self.refused_names)


def read_rules(text: str) -> Rules:
    """Parse a .dockerignore; anything beyond what `Rules` can say is an error."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines or lines[0] != "*":
        raise DevclusterError(".dockerignore must begin by refusing everything: *")
    included, refused = [], []
    for line in lines[1:]:
        if line.startswith("!") and "*" not in line:
            included.append(line.removeprefix("!"))
        elif line.startswith("**/") and "/" not in line.removeprefix("**/"):
            refused.append(line.removeprefix("**/"))
        else:
            raise DevclusterError(f".dockerignore: {line!r} is neither !PATH nor **/NAME")
    return Rules(included=tuple(included), refused_names=tuple(refused))


def build_files(root: Path) -> Iterator[Path]:
    """The files of the build, relative to the root, in a fixed order."""
    rules = read_rules((root / ".dockerignore").read_text())
    found: set[Path] = set()
    for included in rules.included:
        start = root / included
        found.update([start] if start.is_file() else (path for path in start.rglob("*") if path.is_file()))
    relative = (path.relative_to(root) for path in found)
    yield from sorted(path for path in relative if rules.admits(path))


def content_key(root: Path, *, target: str, also: Iterable[str] = ()) -> str:
    """A hash of the Dockerfile, of every file that the target is made from, and of what else the result depends on."""
    digest = hashlib.sha256()
    for word in also:
        digest.update(f"{len(word)}:{word}".encode())
    copied = copied_paths((root / "Dockerfile").read_text(), target=target)
    files = (path for path in build_files(root) if any(path.is_relative_to(source) for source in copied))
    for path in (Path("Dockerfile"), *files):
        file = root / path
        content = file.read_bytes()
        digest.update(f"{path}\0{file.stat().st_mode & 0o111:o}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def copied_paths(dockerfile: str, *, target: str) -> tuple[str, ...]:
    """What the target and the stages before it copy from the context, so that a test's change rebuilds no product.

    >>> copied_paths("FROM x AS a\\nCOPY b c /d/\\nFROM a AS e\\nCOPY --from=a f g", target="a")
    ('b', 'c')
    """
    copied: list[str] = []
    stage = ""
    for line in dockerfile.splitlines():
        words = line.split()
        if words[:1] == ["FROM"]:
            if stage == target:
                break
            stage = words[-1]
        elif words[:1] == ["COPY"] and not words[1].startswith("--from="):
            copied += words[1:-1]
    if stage != target:
        raise DevclusterError(f"the Dockerfile has no stage {target}")
    return tuple(copied)
