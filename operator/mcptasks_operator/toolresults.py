"""MCP's CallToolResult as JSON text.

Built as text around the tool's own text, never parsed and written anew: large integers, 1.0 and the order of members
stay as the tool wrote them. Every result made here is valid and within what a task can keep.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from mcptasks_crds import limits
from mcptasks_crds.jsontext import JsonTextError, members

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TWIN_TOO_LARGE: Final = "(too large to be repeated as text: see the structured content)"


def text_result(text: str, *, is_error: bool) -> str:
    """A result that is text. The text must fit; see `fitting_tail`.

    >>> text_result("done", is_error=False)
    '{"content":[{"type":"text","text":"done"}],"isError":false}'
    """
    return f'{{"content":[{_block(text)}],"isError":{_boolean(is_error)}}}'


def structured_result(source: str) -> str | None:
    """A result whose structured content is that JSON text, with the same text beside it; None if it is too large.

    >>> structured_result('{"n": 1.0}')
    '{"content":[{"type":"text","text":"{\\\\"n\\\\": 1.0}"}],"structuredContent":{"n": 1.0},"isError":false}'
    """
    for twin in (source, _TWIN_TOO_LARGE):
        result = f'{{"content":[{_block(twin)}],"structuredContent":{source},"isError":false}}'
        if _fits(result):
            return result
    return None


def fitting_tail(text: str, build: Callable[[str], str]) -> str:
    """The longest end of the text with which `build` makes a result that a task can keep."""
    if _fits(build(text)):
        return text
    low, high = 0, len(text)  # the smallest start that fits lies in (low, high]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits(build(text[middle:])) else (middle, high)
    return text[high:]


def says_error(result: str) -> bool:
    """Whether a CallToolResult says that the tool failed.

    Raises:
        JsonTextError: it is no JSON object with content.
    """
    found = members(result)
    if not found.get("content", "").startswith("["):
        raise JsonTextError("no content")
    return found.get("isError") == "true"


def _fits(result: str) -> bool:
    return limits.stored_bytes(result) <= limits.RESULT_STORED_BYTES


def _block(text: str) -> str:
    text = _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)  # half a character could not be sent
    return f'{{"type":"text","text":{json.dumps(text, ensure_ascii=False)}}}'


def _boolean(value: bool) -> str:
    return "true" if value else "false"
