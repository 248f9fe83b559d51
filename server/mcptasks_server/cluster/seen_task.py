"""A task as a replica keeps it: without what no projection shows, and without a large result. Pure."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from mcptasks_crds.asking import open_questions
from mcptasks_crds.base import Json
from mcptasks_crds.task import McpTask

MAX_CACHED_RESULT: Final = 8 * 1024
"""Longest result (in characters) that is kept; a longer one is read when somebody asks for it."""


@dataclass(frozen=True, kw_only=True)
class SeenTask:
    """A task, as far as it is kept."""

    task: McpTask
    is_whole: bool
    """Whether its result is kept with it."""

    @cached_property
    def asks(self) -> bool:
        """Whether it has an open question."""
        return bool(open_questions(self.task))


def seen_task(document: Json) -> SeenTask:
    """The task of an object of the API server.

    Raises:
        ValueError: the object cannot be read as a task.
    """
    spec, status = dict(document.get("spec", {})), dict(document.get("status", {}))
    spec.pop("arguments", None)
    status.pop("logTail", None)
    is_whole = True
    for holder, key in (("result", "inline"), ("report", "result"), ("report", "content")):
        part: Any = status.get(holder)
        if isinstance(part, dict) and len(part.get(key) or "") > MAX_CACHED_RESULT:
            status[holder] = {name: value for name, value in part.items() if name != key}
            is_whole = False
    task = McpTask.model_validate({**document, "spec": spec, "status": status})
    return SeenTask(task=task, is_whole=is_whole)
