"""What a task gave, put together of where its parts are kept. Pure.

A task's pods may add parts before they give the result (`status.report.content`); the result itself is in the report
or, where the operator made it of the tool's exit, in `status.result.inline`. What is too large for the object is in
Secrets: whoever has read these puts it back first (`with_what_was_kept_apart`).
"""

import json
from collections.abc import Iterable

from . import jsontext
from .reasons import Reason
from .task import TaskResult, TaskStatus


def result_text(status: TaskStatus) -> str | None:
    """A finished task's CallToolResult as JSON text, with the parts that were added before it; None: there is none."""
    result, report = status.result, status.report
    if result is None:
        return None
    text = result.inline if result.source is None else None if report is None else report.result
    if text is not None and result.source is not None and status.reason is Reason.OUTPUT_INVALID:
        text = as_invalid(text, status.message or "")
    parts = None if report is None else report.content
    return text if text is None or parts is None else with_parts(text, parts)


def is_kept_apart(status: TaskStatus) -> bool:
    """Whether the result of a task that is over, or parts of it, are outside of the object."""
    result, report = status.result, status.report
    if result is None or report is None:
        return False
    return report.content_from is not None or (result.source is not None and report.result_from is not None)


def with_what_was_kept_apart(status: TaskStatus, *, result: str | None, parts: Iterable[str]) -> TaskStatus:
    """The same with a result and parts in it that are kept elsewhere. `result`: None where it is in the object."""
    report = status.report
    if report is None:
        return status
    content = report.content
    for each in parts:
        content = each if content is None else join_arrays(content, each)
    found = {"content": content, "content_from": None, "result": result or report.result, "result_from": None}
    return status.model_copy(update={"report": report.model_copy(update=found)})


def without_result(status: TaskStatus) -> TaskStatus:
    """The same where what the tool gave cannot be had any more."""
    return status.model_copy(update={"result": TaskResult()})


def as_invalid(result: str, message: str) -> str:
    """The tool error that a result becomes which breaks the tool's output schema: why, and then what the tool gave.

    >>> as_invalid('{"content":[],"structuredContent":{"n":1.0}}', "n is no string")
    '{"content":[{"type": "text", "text": "n is no string"},{"type": "text", "text": "{\\"n\\":1.0}"}],"isError":true}'
    """
    blocks = [_text_block(message)]
    try:
        members = jsontext.members(result)
    except jsontext.JsonTextError:
        return f'{{"content":[{blocks[0]}],"isError":true}}'
    own, structured = members.get("content", "[]").strip(), members.get("structuredContent")
    if structured is not None and own[1:-1].strip() == "":
        blocks.append(_text_block(structured))
    content = join_arrays(f"[{','.join(blocks)}]", own if own.startswith("[") else "[]")
    return f'{{"content":{content},"isError":true}}'


def _text_block(text: str) -> str:
    return json.dumps({"type": "text", "text": text}, ensure_ascii=False)


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
