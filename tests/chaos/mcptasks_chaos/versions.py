"""What may follow a version of a task: said here once more, beside the CRD's own rules, for whoever watches."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from mcptasks_crds.base import Json
from mcptasks_crds.phases import Phase, may_follow

_WRITTEN_ONCE: Final = (("job", "uid"), ("result",), ("report", "result"), ("error",), ("finishedAt",), ("startedAt",))


def wrong_steps(versions: list[Json]) -> list[str]:
    """What is wrong with the versions of one McpTask, oldest first; all of a run's tools run once."""
    return [what for before, after in pairwise(versions) for what in _wrong(before, after)]


def _wrong(before: Json, after: Json) -> Iterator[str]:
    was, now = before.get("status", {}), after.get("status", {})
    old, new = was.get("phase"), now.get("phase")
    if old is not None and new is None:
        yield f"{old} became nothing"
    elif new is not None and not may_follow(None if old is None else Phase(old), Phase(new)):
        yield f"{old} became {new}"
    elif (old, new) == ("Running", "Pending"):
        yield "it began a second attempt"
    if old is not None and Phase(old).is_terminal and was != now:
        yield f"its status changed after its end: {_changes(was, now)}"
    for path in _WRITTEN_ONCE:
        first, second = _at(was, path), _at(now, path)
        if first is not None and first != second:
            yield f"status.{'.'.join(path)} changed from {first} to {second}"
    if now.get("attempts", 0) < was.get("attempts", 0) or now.get("attempts", 0) > 1:
        yield f"status.attempts went from {was.get('attempts', 0)} to {now.get('attempts', 0)}"
    if now.get("expiresAt", "9") < was.get("expiresAt", ""):
        yield f"status.expiresAt fell from {was['expiresAt']} to {now['expiresAt']}"
    if before["spec"].get("cancelRequested") and not after["spec"].get("cancelRequested"):
        yield "the cancel was taken back"


def _changes(was: Json, now: Json) -> str:
    changed = sorted(key for key in {*was, *now} if was.get(key) != now.get(key))
    return ", ".join(f"{key}: {was.get(key)!r} -> {now.get(key)!r}" for key in changed)


def _at(document: Json, path: tuple[str, ...]) -> object:
    found: object = document
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found
