"""Progress of one request, told to its client. Source: both eras' "Progress".

The value always rises (the specification's MUST), whatever the tool reports; a sign of life between two reports is the
last value plus a hair. Without the client's token nothing is sent.
"""

import math
from typing import Any, Final

import orjson

from .outbox import Outbox

SLOT: Final = "progress"


class ProgressLine:
    """The progress notifications of one request."""

    def __init__(self, outbox: Outbox, *, token: str | None) -> None:
        """`token`: as JSON text, as the client wrote it; None where it wants no progress."""
        self._outbox, self._token = outbox, token
        self._last = -math.inf
        self._total: float | None = None

    @property
    def token(self) -> str | None:
        """The client's token as JSON text, as it wrote it."""
        return self._token

    @property
    def is_wanted(self) -> bool:
        """Whether the client has asked for progress."""
        return self._token is not None

    def report(self, progress: float, *, total: float | None = None, message: str | None = None) -> None:
        """Tell how far it is. What does not rise is passed over."""
        if progress > self._last and math.isfinite(progress):
            self._total = total
            self._send(progress, message)

    def beat(self, message: str) -> None:
        """Tell that it lives: the last value plus a hair, and no total that nobody has given."""
        self._send(0.0 if self._last == -math.inf else math.nextafter(self._last, math.inf), message)

    def _send(self, progress: float, message: str | None) -> None:
        self._last = progress
        if self._token is None:
            return
        params: dict[str, Any] = {"progressToken": orjson.Fragment(self._token), "progress": progress}
        if self._total is not None and self._total >= progress:
            params["total"] = self._total
        if message:
            params["message"] = message
        notification = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        self._outbox.replace(SLOT, notification)
