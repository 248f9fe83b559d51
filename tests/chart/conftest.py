"""The chart, rendered by the real helm, without a cluster."""

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks_devcluster.programs import program

CHART: Final = Path(__file__).parents[2] / "charts" / "mcptasks"
# What helm would ask a cluster for.
KUBERNETES: Final = ("--kube-version", "1.35.0")

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """A release's objects, hooks included."""

    objects: tuple[Object, ...]

    def of(self, kind: str, name: str) -> Object:
        """The one object of this kind whose name ends so."""
        (found,) = (item for item in self.of_kind(kind) if item["metadata"]["name"].endswith(name))
        return found

    def of_kind(self, kind: str) -> list[Object]:
        """All objects of this kind."""
        return [item for item in self.objects if item["kind"] == kind]

    def pods(self) -> dict[str, Object]:
        """Every pod that comes of this release, with metadata and spec, by its owner's kind and name."""
        found = {f"Pod/{item['metadata']['name']}": item for item in self.of_kind("Pod")}
        for item in self.of_kind("Deployment"):
            found[f"Deployment/{item['metadata']['name']}"] = item["spec"]["template"]
        for item in self.of_kind("McpTool"):
            found[f"McpTool/{item['metadata']['name']}"] = item["spec"]["job"]["template"]
        return found


class HelmError(Exception):
    """helm ended badly; the message is what it said."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """One value of values.yaml, with the comment above it."""

    path: str
    default: Any
    comment: str


@pytest.fixture(scope="session")
def helm() -> str:
    """helm's path."""
    return program("helm")


@pytest.fixture(scope="session")
def chart() -> Path:
    """The chart's directory."""
    return CHART


@pytest.fixture(scope="session")
def everything() -> Object:
    """Values that turn on every branch."""
    content: Object = yaml.safe_load((CHART / "ci" / "everything-values.yaml").read_text())
    return content


@pytest.fixture
def render(helm: str, tmp_path: Path) -> Callable[..., Rendered]:
    """Renders the chart as release `demo` in namespace `here`."""

    def rendered(values: Mapping[str, Any] | None = None, *, release: str = "demo") -> Rendered:
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(dict(values or {})))
        command = [helm, "template", release, str(CHART), "--namespace", "here", "--values", str(file), *KUBERNETES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HelmError(done.stderr)
        return Rendered(objects=tuple(item for item in yaml.safe_load_all(done.stdout) if item))

    return rendered


@pytest.fixture
def refusal_of(render: Callable[..., Rendered]) -> Callable[[Mapping[str, Any]], str]:
    """What helm says to values that it does not take."""

    def refused(values: Mapping[str, Any]) -> str:
        with pytest.raises(HelmError) as caught:
            render(values)
        return str(caught.value)

    return refused


@pytest.fixture(scope="session")
def documented_values() -> tuple[Value, ...]:
    """The values of values.yaml that have a comment, which are those that a user may set."""
    return tuple(_documented(CHART / "values.yaml"))


@pytest.fixture(scope="session")
def default_values() -> Object:
    """The content of values.yaml."""
    content: Object = yaml.safe_load((CHART / "values.yaml").read_text())
    return content


def _documented(file: Path) -> Iterator[Value]:
    """Follows the file's own lines, because a YAML parser drops the comments."""
    content = yaml.safe_load(file.read_text())
    path: list[str] = []
    comment: list[str] = []
    for line in file.read_text().splitlines():
        if found := re.fullmatch(r" *# (.*)", line):
            comment.append(found[1])
            continue
        if found := re.match(r"( *)([A-Za-z]+):", line):
            path = [*path[: len(found[1]) // 2], found[2]]
            if comment:
                yield Value(path=".".join(path), default=_at(content, path), comment=" ".join(comment))
        comment = []


def _at(content: Any, path: list[str]) -> Any:
    for word in path:
        content = content[word]
    return content
