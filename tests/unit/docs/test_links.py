"""Every link in the repository's pages leads somewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        *(f"{folder}/**/*.md" for folder in ("docs", "charts", "devcluster", "examples", "benchmarks")),
    )
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("path", PAGES)
def test_every_link_of_a_page_leads_somewhere(path: str, page: Callable[[str], Any]) -> None:
    here = page(path)

    dead = [target for _, target in here.links() if "://" not in target and not leads_somewhere(target, here, page)]

    assert dead == []


def test_the_pages_for_users_are_found_from_the_first_one(page: Callable[[str], Any]) -> None:
    seen, waiting = set[str](), ["README.md"]
    while waiting:
        path = waiting.pop()
        seen.add(path)
        targets = (target.partition("#")[0] for _, target in page(path).links() if "://" not in target)
        pages = {(ROOT / path).parent.joinpath(target).resolve() for target in targets if target.endswith(".md")}
        waiting += [each.relative_to(ROOT).as_posix() for each in pages if each.exists()]
        waiting = [each for each in waiting if each not in seen]

    users = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert users <= seen


def leads_somewhere(target: str, here: Any, page: Callable[[str], Any]) -> bool:
    file, _, anchor = target.partition("#")
    path = here.path if not file else (here.path.parent / file).resolve()
    if not path.exists() or not path.is_relative_to(ROOT):
        return False
    return not anchor or anchor in page(path.relative_to(ROOT).as_posix()).anchors()
