"""What a poll shows of a task, made once for each version of it, however often it is asked for.

A task is an object that never changes: a newer version is another one. So what was made of it stays right, and goes
when it goes.
"""

import weakref
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mcptasks_crds.task import McpTask

from .projection import detailed_task


class TaskViews:
    """The views of the tasks that are in memory and were asked for."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, bool], tuple[weakref.ref[McpTask], Mapping[str, Any]]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def members_of(self, task: McpTask, *, elicitation: bool) -> Mapping[str, Any]:
        """The members of a DetailedTask. `elicitation`: see `detailed_task`."""
        key, views = (id(task), elicitation), self._kept
        kept = views.get(key)
        if kept is not None:
            return kept[1]
        members = MappingProxyType(detailed_task(task, elicitation=elicitation).members())
        # An object's id is another's once it is gone, which is when its view goes too.
        views[key] = weakref.ref(task, lambda _: views.pop(key, None)), members
        return members
