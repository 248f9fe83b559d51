"""How far a tool is, as it is said to the endpoint. Pure."""

import json
import math
from typing import Any, Final

PROGRESS_HEADER: Final = "Mcptask-Progress"
"""Of a result: the last progress, which is written with it."""
MESSAGE_BYTES: Final = 1024
"""What a task keeps of a progress message."""


def progress_of(progress: float, total: float | None, message: str | None) -> dict[str, Any]:
    """The members of a progress.

    Raises:
        ValueError: a number is negative or not finite, or the total is less than the progress.
    """
    for name, value in (("progress", progress), ("total", total)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name}: must be a number from 0 on and is {value}")
    if total is not None and total < progress:
        raise ValueError(f"total: {total} is less than the progress, {progress}")
    members = {"progress": progress, "total": total, "message": message}
    return {name: value for name, value in members.items() if value is not None}


def header_of(body: bytes) -> str:
    """A progress as a header can hold it: in ASCII, and of its message no more than is kept.

    >>> header_of('{"progress":3,"message":"né"}'.encode())
    '{"progress": 3, "message": "n\\\\u00e9"}'
    """
    members = json.loads(body)
    if "message" in members:
        members["message"] = members["message"].encode()[:MESSAGE_BYTES].decode("utf-8", "ignore")
    return json.dumps(members)
