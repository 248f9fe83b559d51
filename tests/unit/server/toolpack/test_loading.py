"""Finding packs, by entry point and by module."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcptasks_server.toolpack import PackError
from mcptasks_server.toolpack.loading import load_packs

MODULE = """\
from mcptasks_server.toolpack import ToolPack

first, second = ToolPack("first"), ToolPack("second")
other = 1
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a distribution with a module and entry points, for one test."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(module: str, source: str = MODULE, **entry_points: str) -> None:
        (tmp_path / f"{module}.py").write_text(source)
        information = tmp_path / f"{module}-1.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        lines = [f"{name} = {value}" for name, value in entry_points.items()]
        (information / "entry_points.txt").write_text("\n".join(["[mcptasks.toolpacks]", *lines, ""]))
        monkeypatch.delitem(sys.modules, module, raising=False)

    return write


def names(wanted: tuple[str, ...] | None) -> list[str]:
    """The names of the packs that are loaded."""
    return [pack.name for pack in load_packs(wanted)]


def test_all_installed_packs_are_loaded_by_name(install: Install) -> None:
    install("pack_of_two", zeta="pack_of_two:first", alpha="pack_of_two:second")

    assert names(None) == ["second", "first"]


def test_only_the_wanted_ones_are_loaded_in_the_order_given(install: Install) -> None:
    install("pack_of_two", zeta="pack_of_two:first", alpha="pack_of_two:second")

    assert names(("zeta",)) == ["first"]
    assert names(("zeta", "alpha")) == ["first", "second"]
    assert names(()) == []


def test_one_that_is_not_installed_is_loaded_by_module_and_attribute(install: Install) -> None:
    install("pack_without_entry")

    assert names(("pack_without_entry:second",)) == ["second"]


@pytest.mark.parametrize(
    ("source", "wanted", "words"),
    [
        (MODULE, "nothing", r"tool pack nothing: no installed package has one of this name.*\(there: mine\)"),
        (MODULE, "pack_that_fails:nothing", "tool pack pack_that_fails:nothing.*AttributeError"),
        (MODULE, "no_such_module:pack", "tool pack no_such_module:pack.*ModuleNotFoundError"),
        (MODULE, "pack_that_fails:other", "tool pack pack_that_fails:other: .* is a int, not a ToolPack"),
        (
            "raise RuntimeError('no database')",
            "mine",
            r"tool pack mine \(pack_that_fails:first\): RuntimeError: no dat",
        ),
    ],
)
def test_a_pack_that_cannot_be_loaded_is_named(install: Install, source: str, wanted: str, words: str) -> None:
    install("pack_that_fails", source, mine="pack_that_fails:first")

    with pytest.raises(PackError, match=words):
        load_packs((wanted,))


def test_what_is_wrong_inside_a_pack_is_said_in_its_own_words(install: Install) -> None:
    install("pack_that_fails", MODULE + "first.tool(name='a b')(print)\n", mine="pack_that_fails:first")

    with pytest.raises(PackError, match=r"^tool pack first: tool a b: a tool's name is"):
        load_packs(("mine",))
