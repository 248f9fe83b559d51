"""Progress of one request, told to its client. Source: both eras' "Progress".

The value always rises (the specification's MUST), whatever the tool reports; a sign of life between two reports is the
last value plus a hair. Without the client's token nothing is sent.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import orjson

from mcptasks_crds import jsontext

from .errors import InvalidParamsError
from .outbox import Outbox

SLOT: Final = "progress"
HAIR: Final = 1e-6
"""By how much a sign of life rises: small beside what tools count, and no number that a client would take for zero."""
_SAFE_INTEGER: Final = 2**53
_LARGEST: Final = 1e300
"""What is larger is no number for a client, or leaves no room for a hair."""


class ProgressLine:
    """The progress notifications of one request."""

    def __init__(
        self,
        outbox: Outbox,
        *,
        token: str | None,
        after: float = -math.inf,
        meta: Mapping[str, Any] | None = None,
        slot: str = SLOT,
    ) -> None:
        """`token`: as JSON text, as the client wrote it; None where it wants no progress.

        `after`: what may have been told under this token already. `meta`: each notification's `_meta`. `slot`: another
        one for each line of one outbox.
        """
        self._outbox, self._token, self._meta, self._slot = outbox, token, meta, slot
        self._last = after
        self._total: float | None = None

    @property
    def token(self) -> str | None:
        """The client's token as JSON text, as it wrote it."""
        return self._token

    @property
    def is_wanted(self) -> bool:
        """Whether the client has asked for progress."""
        return self._token is not None

    def report(self, progress: float, *, total: float | None = None, message: str | None = None) -> bool:
        """Tell how far it is. What does not rise is passed over: says whether it was not."""
        value = _readable(progress)
        if value is None or value <= self._last:
            return False
        self._total = None if total is None else _readable(total)
        self._send(value, message)
        return True

    def beat(self, message: str) -> None:
        """Tell that it lives: the last value plus a hair, and no total that nobody has given."""
        last = self._last
        self._send(0.0 if last == -math.inf else max(last + HAIR, math.nextafter(last, math.inf)), message)

    def _send(self, progress: float, message: str | None) -> None:
        self._last = progress
        if self._token is None:
            return
        params: dict[str, Any] = {"progressToken": orjson.Fragment(self._token), "progress": progress}
        if self._total is not None and self._total >= progress:
            params["total"] = self._total
        if message:
            params["message"] = message
        if self._meta is not None:
            params["_meta"] = self._meta
        notification = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        self._outbox.replace(self._slot, notification)


def _readable(number: float) -> float | None:
    """A number as every client can read it; None where it is none."""
    if not abs(number) <= _LARGEST:  # NaN is not
        return None
    return number if abs(number) <= _SAFE_INTEGER else float(number)


def token_of(params: Mapping[str, Any], sources: Mapping[str, str]) -> str | None:
    """The progress token of a request, as the text that its client wrote; None where it wants no progress.

    `sources`: each member of `params` as its client wrote it.

    Raises:
        InvalidParamsError: it is neither a string nor an integer.
    """
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, Mapping) else None
    if token is None:
        return None
    if isinstance(token, bool) or not isinstance(token, str | int):
        raise InvalidParamsError("Invalid params: _meta/progressToken: must be a string or an integer")
    return jsontext.members(sources["_meta"])["progressToken"]
