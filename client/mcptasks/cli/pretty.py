"""JSON for people: as many lines as needed and no more. Pure."""

import json
from collections.abc import Mapping
from typing import Any, Final

WIDTH: Final = 100


def pretty(value: Any, *, indent: int = 0, before: int = 0) -> str:
    """The value as JSON in which whatever fits stands on one line.

    Args:
        value: what `json.loads` gives.
        indent: how far its lines are indented, after the first.
        before: how many characters stand before it on its first line.

    >>> print(pretty({"rows": 3, "names": ["a" * 50, "b" * 50]}))
    {
      "rows": 3,
      "names": [
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
      ]
    }
    """
    flat = json.dumps(value, ensure_ascii=False)
    if indent + before + len(flat) <= WIDTH or not value or not isinstance(value, list | dict):
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, Mapping):
        names = [f"{json.dumps(name, ensure_ascii=False)}: " for name in value]
        parts = [
            f"{name}{pretty(part, indent=indent + 2, before=len(name))}"
            for name, part in zip(names, value.values(), strict=True)
        ]
    else:
        parts = [pretty(part, indent=indent + 2) for part in value]
    opening, closing = ("{", "}") if isinstance(value, Mapping) else ("[", "]")
    return opening + "\n" + ",\n".join(inner + part for part in parts) + f"\n{' ' * indent}{closing}"
