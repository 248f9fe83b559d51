"""What can go wrong with a request to an API server, as values: which requests, how often, and how."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import Final

REASONS: Final = {
    401: "Unauthorized",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}
"""The words of an API server's own answers: `metav1.StatusReason`."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request that came by."""

    method: str
    path: str
    is_watch: bool
    is_dry_run: bool


@dataclass(kw_only=True)
class Fault:
    """What happens to requests of a method whose path matches a pattern, so many times."""

    method: str
    path: str
    """A regular expression that is searched for in the path."""
    times: int = 1
    of_watches: bool = False
    """Whether it is watches that it happens to, or everything else."""
    status: int | None = None
    """Answer with this status, and do not pass the request on."""
    headers: dict[str, str] = field(default_factory=dict)
    break_off: bool = False
    """Close the connection, and do not pass the request on."""
    lose_answer: bool = False
    """Pass the request on, and close the connection in place of the answer."""
    hold_answer: bool = False
    """Pass the request on, and keep the answer back until `release` is set."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a request met this fault (and was passed on, if it is to be)."""
    release: asyncio.Event = field(default_factory=asyncio.Event)

    def fits(self, request: Request) -> bool:
        """Whether the request is one of those."""
        is_kind = request.is_watch if self.of_watches else not request.is_watch and not request.is_dry_run
        return is_kind and self.times > 0 and request.method == self.method and bool(re.search(self.path, request.path))


def status_object(code: int) -> bytes:
    """The body of an API server's answer that something went wrong."""
    words = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "a fault was asked for"}
    return json.dumps({**words, "reason": REASONS.get(code, ""), "code": code}).encode()


def error_event(code: int) -> bytes:
    """The last line of a watch that an API server cannot go on with."""
    return b'{"type":"ERROR","object":' + status_object(code) + b"}\n"
