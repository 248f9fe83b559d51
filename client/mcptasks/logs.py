"""A task's log, as a server of ours shows it: an MCP resource (docs/resources.md). Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

LOG_META: Final = "mcptasks.dev/log"
"""In the contents' `_meta`: what is known of the log."""


@dataclass(frozen=True, kw_only=True)
class TaskLog:
    """What a task has printed: the end of it, so far."""

    text: str
    source: str | None = None
    """Where it comes from: `pod`, `kept` or `none`; None where the server does not say."""
    is_whole: bool = True
    """Whether nothing is known to be missing before it."""
    note: str | None = None
    """What the server says of it, for people: why it is not whole, or why there is none."""


def task_log_uri(task_id: str) -> str:
    """The URI of a task's log. Whatever the id holds, it stays one part of it.

    >>> task_log_uri("mt-abc"), task_log_uri("a/b")
    ('mcptask://mt-abc/log', 'mcptask://a%2Fb/log')
    """
    return f"mcptask://{quote(task_id, safe='')}/log"


def task_log(contents: Sequence[Mapping[str, Any]]) -> TaskLog:
    """The log in a resource's contents. The note, which is also the text's first line, is taken off the text."""
    text = "".join(str(each.get("text", "")) for each in contents)
    meta = contents[0].get("_meta") if contents else None
    known = meta.get(LOG_META) if isinstance(meta, Mapping) else None
    if not isinstance(known, Mapping):
        return TaskLog(text=text)
    source, note = known.get("source"), known.get("note")
    return TaskLog(
        text=text.removeprefix(f"{note}\n"),
        source=source if isinstance(source, str) else None,
        is_whole=known.get("isWhole") is True,
        note=note if isinstance(note, str) else None,
    )
