"""The documentation's pages, taken apart: their code blocks, tables, headings and links."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from mcptasks_crds.metadata import Metadata
from mcptasks_crds.tool import McpTool

ROOT: Final = Path(__file__).parents[3]
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_LINK: Final = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


@dataclass(frozen=True, kw_only=True)
class Page:
    """One Markdown page."""

    path: Path
    text: str

    def blocks(self, language: str) -> list[str]:
        """The fenced blocks of a language."""
        return [body for name, body in _FENCE.findall(self.text) if name == language]

    def prose(self) -> str:
        """The page without its fenced blocks."""
        return _FENCE.sub("", self.text)

    def anchors(self) -> set[str]:
        """What a link may point to inside the page, as GitHub makes it of headings."""
        return {_slug(title) for _, title in _HEADING.findall(self.prose())}

    def links(self) -> list[tuple[str, str]]:
        """The links: their text and their target."""
        return _LINK.findall(self.prose())

    def section(self, title: str) -> str:
        """A heading's text up to the next one of its level or above; with its lower headings."""
        prose = self.prose()
        found = [(match.start(), len(match[1]), match[2]) for match in _HEADING.finditer(prose)]
        start, level = next((start, level) for start, level, name in found if name == title)
        end = next((at for at, depth, _ in found if at > start and depth <= level), len(prose))
        return prose[start:end]

    def sections(self) -> Iterator[tuple[str, str]]:
        """The headings of the third level, each with the one of the second level above it."""
        above = ""
        for depth, title in _HEADING.findall(self.prose()):
            if len(depth) == 2:
                above = title
            elif len(depth) == 3:
                yield above, title

    def rows(self, first_column: str) -> list[Mapping[str, str]]:
        """The rows of the one table whose first column is called so; code marks are taken off."""
        tables = re.findall(r"(?:^\|.*\n)+", self.prose() + "\n", re.MULTILINE)
        (table,) = [table for table in tables if _cells(table.splitlines()[0])[0] == first_column]
        head, _, *body = table.splitlines()
        return [dict(zip(_cells(head), _cells(line), strict=True)) for line in body]


def _cells(line: str) -> Sequence[str]:
    return [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]


def _slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.fixture(scope="session")
def page() -> Callable[[str], Page]:
    """Reads a page by its path in the repository."""

    def read(path: str) -> Page:
        return Page(path=ROOT / path, text=(ROOT / path).read_text("utf-8"))

    return read


@pytest.fixture(scope="session")
def documented_tools(page: Callable[[str], Page]) -> dict[str, dict[str, Any]]:
    """The whole tools among the examples of docs/tools.md, by name."""
    blocks = [yaml.safe_load(block) for block in page("docs/tools.md").blocks("yaml")]
    return {block["metadata"]["name"]: block for block in blocks if block.get("kind") == "McpTool"}


@pytest.fixture
def as_stored() -> Callable[[dict[str, Any]], McpTool]:
    """A manifest as the API server would give it back."""

    def read(manifest: dict[str, Any]) -> McpTool:
        metadata = Metadata(name=manifest["metadata"]["name"], namespace="n", uid="tool-uid", generation=1)
        return McpTool.model_validate(manifest).model_copy(update={"metadata": metadata})

    return read
