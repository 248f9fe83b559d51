"""JSON pointers (RFC 6901): how a place is written, and what a reference inside a document leads to. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote


def pointer(steps: Iterable[object]) -> str:
    """The pointer to a place; empty for the whole.

    >>> pointer(["a/b", 0])
    '/a~1b/0'
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def resolve(reference: str, root: Mapping[str, Any]) -> object:
    """What a reference inside a document points to (`#` and a pointer); None where it points elsewhere, or nowhere.

    >>> resolve("#/anyOf/1", {"anyOf": [True, {"type": "string"}]})
    {'type': 'string'}
    """
    start, *steps = reference.split("/")
    if start != "#":
        return None
    found: object = root
    for step in steps:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, list) and name.isascii() and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found
