"""The keys of the work queue: which task or tool is to be looked at, and why a change elsewhere means that."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, Kind

from .store import task_of


class Key(NamedTuple):
    """One task or tool."""

    kind: Literal["task", "tool"]
    name: str


def task_key(name: str) -> Key:
    """The key of a task."""
    return Key("task", name)


def tool_key(name: str) -> Key:
    """The key of a McpTool."""
    return Key("tool", name)


def keys_about(kind: Kind, document: Mapping[str, Any]) -> tuple[Key, ...]:
    """What is to be looked at because of a change of this object."""
    if kind == TASKS:
        return (task_key(document["metadata"]["name"]),)
    if kind == TOOLS:
        return (tool_key(document["metadata"]["name"]),)
    if kind in (JOBS, PODS):
        task = task_of(dict(document))
        return (task_key(task),) if task else ()
    return ()
