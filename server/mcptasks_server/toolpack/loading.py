"""Finding packs: installed ones by their entry points, others by module and attribute."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from .errors import PackError
from .pack import ToolPack

GROUP: Final = "mcptasks.toolpacks"
"""The group of entry points in which packages name their packs."""


def load_packs(wanted: Sequence[str] | None) -> tuple[ToolPack, ...]:
    """The packs that are wanted, in this order; None: all that are installed, by name.

    Each is named by its entry point, or as `module:attribute` (for one that is not installed, but can be imported).

    Raises:
        PackError: one is not there, or cannot be loaded. Names it.
    """
    installed = {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda each: each.name)}
    points = installed.values() if wanted is None else [_point(name, installed) for name in wanted]
    return tuple(_load(point) for point in points)


def _point(name: str, installed: dict[str, EntryPoint]) -> EntryPoint:
    if ":" in name:
        return EntryPoint(name=name, value=name, group=GROUP)
    if name not in installed:
        there = ", ".join(installed) or "none"
        raise PackError(f"tool pack {name}: no installed package has one of this name in {GROUP} (there: {there})")
    return installed[name]


def _load(point: EntryPoint) -> ToolPack:
    try:
        pack = point.load()
    except PackError:
        raise
    except Exception as error:  # importing it runs its author's code
        raise PackError(f"tool pack {point.name} ({point.value}): {type(error).__name__}: {error}") from error
    if not isinstance(pack, ToolPack):
        raise PackError(f"tool pack {point.name}: {point.value} is a {type(pack).__name__}, not a ToolPack")
    return pack
