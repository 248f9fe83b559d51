"""What a task gave, put together of where its parts are kept. Pure.

A task's pods may add parts before they give the result (`status.report.content`); the result itself is in the report
or, where the operator made it of the tool's exit, in `status.result.inline`.
"""

import json

from . import jsontext
from .task import TaskStatus


def result_text(status: TaskStatus) -> str | None:
    """A finished task's CallToolResult as JSON text, with the parts that were added before it; None: there is none."""
    result, report = status.result, status.report
    if result is None:
        return None
    text = result.inline if result.source is None else None if report is None else report.result
    parts = None if report is None else report.content
    return text if text is None or parts is None else with_parts(text, parts)


def with_parts(result: str, parts: str) -> str:
    """A result with further parts before its own; both are JSON text, and stay as they were written.

    A result that cannot be read is given as it is: whoever reads it will say so.

    >>> with_parts('{"content":[{"n":1.0}],"isError":false}', '[{"n":2}]')
    '{"content":[{"n":2},{"n":1.0}],"isError":false}'
    """
    try:
        members = jsontext.members(result)
    except jsontext.JsonTextError:
        return result
    own = members.get("content", "[]").strip()
    if not own.startswith("["):
        return result
    members["content"] = join_arrays(parts, own)
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items()) + "}"


def join_arrays(first: str, second: str) -> str:
    """Two JSON arrays as one, each element as it was written.

    >>> join_arrays("[1.0, 2]", "[ ]"), join_arrays("[]", "[3]"), join_arrays("[1]", "[2]")
    ('[1.0, 2]', '[3]', '[1,2]')
    """
    before, after = first.strip()[1:-1].strip(), second.strip()[1:-1].strip()
    return "[" + ",".join(filter(None, (before, after))) + "]"
