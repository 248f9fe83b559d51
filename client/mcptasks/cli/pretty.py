"""JSON for people: as many lines as needed and no more. Pure."""

import json
from typing import Any, Final

WIDTH: Final = 120


def pretty(value: Any, *, indent: int = 0, before: int = 0) -> str:
    """The value as JSON in which whatever fits stands on one line.

    Args:
        value: what `json.loads` gives.
        indent: how far its lines are indented, after the first.
        before: how many characters stand before it on its first line.

    >>> print(pretty({"rows": 3, "names": ["a" * 60, "b" * 60]}))
    {
      "rows": 3,
      "names": [
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
      ]
    }
    """
    flat = json.dumps(value, ensure_ascii=False)
    if indent + before + len(flat) <= WIDTH or not value or not isinstance(value, list | dict):
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, list):
        opening, closing = "[", "]"
        parts = [pretty(part, indent=indent + 2) for part in value]
    else:
        opening, closing = "{", "}"
        parts = [_member(name, part, indent=indent + 2) for name, part in value.items()]
    return opening + "\n" + ",\n".join(inner + part for part in parts) + f"\n{' ' * indent}{closing}"


def _member(name: str, value: Any, *, indent: int) -> str:
    before = f"{json.dumps(name, ensure_ascii=False)}: "
    return before + pretty(value, indent=indent, before=len(before))
