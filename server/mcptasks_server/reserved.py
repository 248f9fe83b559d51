"""What a tool's result may not say of itself: the protocol's and our own words about calls and tasks. Pure."""

import json
from typing import Final

from mcptasks_crds import jsontext, names

_RESERVED: Final = ("io.modelcontextprotocol/", f"{names.GROUP}/")
"""In `_meta`: by these a client tells a task's handle from a result, and the server's word from a tool's."""


def without_reserved(result: str) -> str:
    """A tool's result (JSON text) without what it says under reserved names in its `_meta`; else to the byte.

    >>> without_reserved('{"content":[],"_meta":{"mcptasks.dev/task":"mt-other","com.example/n":1.0}}')
    '{"content":[],"_meta":{"com.example/n":1.0}}'
    """
    if "_meta" not in result and "\\u" not in result:
        return result
    try:
        whole = jsontext.members(result)
        meta = jsontext.members(whole.get("_meta", "{}"))
    except ValueError:
        return result  # for those to say who look at the whole
    kept = {name: value for name, value in meta.items() if not name.startswith(_RESERVED)}
    return result if len(kept) == len(meta) else _written({**whole, "_meta": _written(kept)})


def _written(members: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items()) + "}"
