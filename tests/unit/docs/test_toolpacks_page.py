"""docs/toolpacks.md: its packs are packs, and do what the page says."""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
import yaml
from mcp_types import ElicitResult

from mcptasks_server.toolpack import BlockingContext, Context
from mcptasks_server.toolpack.loading import GROUP, load_packs
from mcptasks_server.toolpack.pack import CALL_SECONDS, MOST_CALL_SECONDS
from mcptasks_server.toolpack.packs import packs_of
from mcptasks_server.toolpack.running import DEFAULT_THREADS, Runner

PAGE = "docs/toolpacks.md"


@pytest.fixture
def modules(page: Callable[[str], Any]) -> Iterator[list[ModuleType]]:
    """The page's packs, imported."""
    made = []
    for number, source in enumerate(page(PAGE).blocks("python")):
        module = ModuleType(f"documented_pack_{number}")
        sys.modules[module.__name__] = module
        exec(compile(source, module.__name__, "exec"), module.__dict__)
        made.append(module)
    yield made
    for module in made:
        del sys.modules[module.__name__]


class Asked:
    """A context whose person gives one answer."""

    def __init__(self, answer: ElicitResult) -> None:
        self.answer = answer

    async def elicit(self, key: str, message: str, schema: Mapping[str, Any]) -> ElicitResult:
        """The answer."""
        return self.answer

    async def progress(self, value: float, **more: Any) -> None:
        """Nothing."""


async def test_the_first_pack_does_what_it_says(modules: list[ModuleType]) -> None:
    units = modules[0]
    accepted = Asked(ElicitResult(action="accept", content={"feet": 10}))

    assert (await units.to_metres(3, "km")).metres == 3000
    assert await units.measure("hall", accepted) == "The hall is 3.048 m long."
    assert await units.measure("hall", Asked(ElicitResult(action="decline"))) == "Nobody has measured it."


def test_all_packs_on_the_page_can_be_served_together(modules: list[ModuleType]) -> None:
    loaded = load_packs([f"{module.__name__}:pack" for module in modules])
    packs = packs_of(loaded, runner=Runner())

    assert [pack.name for pack in loaded] == ["units", "handbook"]
    assert [tool.name for tool in packs.tools] == ["to_metres", "measure"]
    assert (list(packs.prompts), list(packs.resources)) == (["explain"], ["handbook://contents"])
    assert list(packs.templates) == ["handbook://pages/{name}"]
    assert list(packs.completions) == [("explain", "page")]


def test_the_pack_is_named_where_it_is_looked_for(page: Callable[[str], Any]) -> None:
    (project,) = (tomllib.loads(block) for block in page(PAGE).blocks("toml"))

    assert project["project"]["entry-points"][GROUP] == {"units": "units_pack:pack"}


def test_the_methods_of_a_context_are_those_that_are_listed(page: Callable[[str], Any]) -> None:
    listed = {name for row in page(PAGE).rows("method") for name in re.findall(r"\b([a-z]+)(?=\(|,|$)", row["method"])}
    for kind in (Context, BlockingContext):
        offered = {name for name in dir(kind) if not name.startswith("_")} - {"end", "has_ended"}
        assert offered <= listed


def test_the_figures_are_the_codes_own(page: Callable[[str], Any]) -> None:
    text = page(PAGE).section("Time and threads")

    assert f"A call may take {CALL_SECONDS:g} seconds" in text
    assert f"at most {MOST_CALL_SECONDS:g}" in text
    assert f"`server.toolPacks.threads` says ({DEFAULT_THREADS})" in text


def test_the_charts_threads_are_the_codes_own(page: Callable[[str], Any]) -> None:
    values = yaml.safe_load(page("charts/mcptasks/values.yaml").text)

    assert values["server"]["toolPacks"] == {"names": [], "threads": DEFAULT_THREADS}
