"""A result that is larger than is kept: what of it a task remembers. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Final

from mcptasks_crds import limits
from mcptasks_crds.task import TooLarge

from .bodies import ResultBody

ENDS_BYTES: Final = 4096
"""How much of each end of a body is kept that is not read as a whole."""


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """A body that is too large to be read as a whole."""

    size: int
    """In bytes; at least so many."""
    head: bytes
    tail: bytes
    """Empty where it was not read to its end."""


def refused(result: ResultBody | Sampled, *, size: int, limit: int) -> TooLarge:
    """What is kept of a result that is refused. `size`: with the parts before it, in the limit's own measure."""
    if isinstance(result, Sampled):
        head, tail = result.head.decode("utf-8", "replace"), result.tail.decode("utf-8", "replace")
    else:
        head = tail = max(_words(result.content), _structure(result), key=len) or result.text
    return TooLarge(
        bytes=size,
        limit=limit,
        head=limits.keep_head(head, limits.REFUSED_END_STORED_BYTES),
        tail=limits.keep_tail(tail, limits.REFUSED_END_STORED_BYTES),
    )


def _structure(result: ResultBody) -> str:
    """Its structured content as JSON text. The words beside one that is large may only say that it is."""
    return "" if result.structured is None else json.dumps(result.structured, ensure_ascii=False)


def _words(content: list[Any]) -> str:
    """What a result says in text."""
    return "\n".join(part["text"] for part in content if part["type"] == "text")
