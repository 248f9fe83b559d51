"""The manifest of requirements and the tests, each held against the other.

`tests/requirements/*.yaml` lists what the specifications ask of a server, in our words. A test that proves one of them
carries its id: `@pytest.mark.requirement("id", ...)`. What nothing proves stands there as a gap, with the reason.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

ROOT: Final = Path(__file__).parents[3]
MANIFEST: Final = ROOT / "tests" / "requirements"
WITH_TESTS: Final = ("tests", "server/mcptasks_server/testing", "operator/mcptasks_operator/testing")
"""Where tests stand; contracts that test modules subclass are in the packages' `testing`."""
WIRE_TESTS: Final = "test_wire_*.py"
"""The modules whose every test must say which requirement it proves."""

Text = Annotated[str, Field(min_length=1)]


class Requirement(BaseModel):
    """One sentence that a server is held to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[a-z0-9.-]+$")]
    level: Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "ours"]
    """`ours`: no specification asks for it, this project promises it."""
    says: Text
    """In our own words."""
    section: Text
    gap: Text | None = None
    """Why nothing proves it."""


class Area(BaseModel):
    """The requirements of one document, or of one of its subjects."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    document: Text
    requirements: Annotated[tuple[Requirement, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Marker:
    """A requirement's id at a test."""

    id: str
    where: str


@cache
def areas() -> dict[str, Area]:
    files = sorted(MANIFEST.glob("*.yaml"))
    return {file.name: Area.model_validate(yaml.safe_load(file.read_text())) for file in files}


def requirements() -> dict[str, Requirement]:
    return {each.id: each for area in areas().values() for each in area.requirements}


@cache
def markers() -> tuple[Marker, ...]:
    files = (file for folder in WITH_TESTS for file in sorted((ROOT / folder).rglob("*.py")))
    return tuple(marker for file in files for marker in markers_in(file.read_text(), file.relative_to(ROOT).as_posix()))


def markers_in(source: str, name: str) -> Iterator[Marker]:
    """The ids that a module's text carries, without running it."""
    if "requirement" not in source:
        return
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
            where = f"{name}:{node.lineno}"
            assert node.args, f"{where}: names no requirement"
            assert not node.keywords, f"{where}: takes ids only"
            for argument in node.args:
                assert isinstance(argument, ast.Constant), f"{where}: an id must be written out"
                assert isinstance(argument.value, str), f"{where}: an id is text"
                yield Marker(id=argument.value, where=where)


def silent_tests(source: str) -> list[str]:
    """The tests of a module that carry no id, nor does the module."""
    tree = ast.parse(source)
    if any(isinstance(node, ast.Assign) and "mark.requirement(" in ast.unparse(node) for node in tree.body):
        return []
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not any("mark.requirement(" in ast.unparse(each) for each in node.decorator_list)
    ]


def proven() -> set[str]:
    return {marker.id for marker in markers()}


def test_every_requirement_has_an_id_of_its_own() -> None:
    counted = Counter(each.id for area in areas().values() for each in area.requirements)

    assert [each for each, number in counted.items() if number > 1] == []


def test_every_requirement_has_a_test_or_is_stated_as_a_gap() -> None:
    unproven = [each.id for each in requirements().values() if each.gap is None and each.id not in proven()]

    assert unproven == [], "give each a test that carries its id, or state `gap: why` in the manifest"


def test_no_gap_has_a_test() -> None:
    gaps = {each.id for each in requirements().values() if each.gap is not None}
    closed = [f"{marker.id} at {marker.where}" for marker in markers() if marker.id in gaps]

    assert closed == [], "these are gaps no more: take `gap` out of the manifest"


def test_every_id_at_a_test_is_a_requirement() -> None:
    unknown = [f"{marker.id} at {marker.where}" for marker in markers() if marker.id not in requirements()]

    assert unknown == [], "no such requirement is in the manifest"


def test_every_test_of_the_wire_says_what_it_proves() -> None:
    files = sorted((ROOT / "tests").rglob(WIRE_TESTS))
    silent = [f"{file.relative_to(ROOT)}: {name}" for file in files for name in silent_tests(file.read_text())]

    assert files, "there are no tests of the wire"
    assert silent == [], "give each the id of a requirement"


def test_a_test_without_an_id_is_found_unless_its_module_has_one() -> None:
    silent = "def test_x(): ...\nclass TestAll:\n    async def test_y(self): ...\n    def helper(self): ..."

    assert silent_tests(silent) == ["test_x", "test_y"]
    assert silent_tests('pytestmark = pytest.mark.requirement("a/b")\n' + silent) == []


def test_ids_are_read_wherever_a_marker_may_stand() -> None:
    source = """
import pytest
pytestmark = [pytest.mark.requirement("a/module")]

@pytest.mark.requirement("a/one", "a/two")
def test_x(): ...

class TestAll:
    @pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.requirement("a/case"))])
    async def test_y(self, n): ...
"""

    assert {marker.id for marker in markers_in(source, "x.py")} == {"a/module", "a/one", "a/two", "a/case"}


def test_an_id_that_is_not_written_out_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"x.py:2: an id must be written out"):
        list(markers_in("\npytest.mark.requirement(ID)", "x.py"))
