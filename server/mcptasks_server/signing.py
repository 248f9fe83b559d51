"""What the server hands to a client and must believe when it comes back: signed, never stored.

Sessions, `requestState` and the ids of the server's own requests are such values, so any replica, after any restart,
can take them. The keys come from a Secret that all replicas share; the first one signs, each one verifies, so a key can
be changed without a pause.
"""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from itsdangerous import BadData, URLSafeSerializer

MIN_KEY_BYTES: Final = 32
_EXPIRES: Final = "exp"
_SHA256: Final = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


class Purpose(StrEnum):
    """What a signed value is for: one made for one purpose is refused for each other one."""

    SESSION = "session"
    REQUEST_STATE = "request-state"
    SERVER_REQUEST = "server-request"
    CURSOR = "cursor"
    IDEMPOTENCY = "idempotency"
    ARGUMENTS = "arguments"
    HELD_REQUEST = "held-request"


class SealError(ValueError):
    """The value was not made by us, was changed, or was made for something else."""


class SealExpiredError(SealError):
    """The value was made by us, and its time is over."""


class Signer:
    """Signs and verifies with a set of shared keys."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """`keys`: the first one signs. Each has at least `MIN_KEY_BYTES` bytes.

        Raises:
            ValueError: there is no key, or one is too short.
        """
        if not keys or any(len(key) < MIN_KEY_BYTES for key in keys):
            raise ValueError(f"signing needs at least one key, and each of at least {MIN_KEY_BYTES} bytes")
        self._keys = list(keys)
        oldest_first = list(reversed(self._keys))
        self._serializers = {
            purpose: URLSafeSerializer(oldest_first, salt=f"mcptasks.{purpose}", signer_kwargs=dict(_SHA256))
            for purpose in Purpose
        }

    @classmethod
    def ephemeral(cls) -> "Signer":
        """A signer with a key of its own, which ends with this process: for one replica, and for tests."""
        return cls([secrets.token_bytes(MIN_KEY_BYTES)])

    def seal(self, purpose: Purpose, claims: Mapping[str, Any], *, expires_at: float | None = None) -> str:
        """The claims as signed text of `A-Za-z0-9_.-`. They can be read by whoever holds it: no secrets in there.

        `expires_at`: seconds since the epoch.
        """
        body = dict(claims) if expires_at is None else {**claims, _EXPIRES: expires_at}
        sealed = self._serializers[purpose].dumps(body)
        return sealed if isinstance(sealed, str) else sealed.decode()

    def open(self, purpose: Purpose, sealed: str, *, now: float) -> dict[str, Any]:
        """The claims of a signed text.

        Raises:
            SealExpiredError: its time is over.
            SealError: it was not made by us for this purpose.
        """
        try:
            claims = self._serializers[purpose].loads(sealed)
        except (BadData, ValueError) as error:
            raise SealError("the value was not made by this server, or was changed") from error
        if not _is_canonical(sealed.rpartition(".")[2]):
            raise SealError("the value was not made by this server, or was changed")
        expires_at = claims.pop(_EXPIRES, None)
        if expires_at is not None and now >= expires_at:
            raise SealExpiredError("the value's time is over")
        return dict(claims)

    def digests(self, purpose: Purpose, *parts: str) -> tuple[str, ...]:
        """Keyed hashes (160 bits, 32 characters of lowercase base32) of some texts: by the signing key first, then by
        each older one. Nobody without the keys can tell what they were made of."""
        message = json.dumps(parts).encode()
        return tuple(_base32(hmac.digest(key, f"{purpose}:".encode() + message, "sha256")) for key in self._keys)

    def fingerprints(self, purpose: Purpose, text: str) -> tuple[str, ...]:
        """Keyed hashes of a text (256 bits, 64 characters of lowercase hex), in the order of `digests`."""
        message = f"{purpose}:{text}".encode("utf-8", "surrogatepass")
        return tuple(hmac.digest(key, message, "sha256").hex() for key in self._keys)

    def digest(self, purpose: Purpose, *parts: str) -> str:
        """The keyed hash by the signing key (see `digests`)."""
        return self.digests(purpose, *parts)[0]


def _is_canonical(signature: str) -> bool:
    """Whether base64 text is what an encoder writes: others decode to the same bytes, by bits that none ever sets."""
    padded = signature + "=" * (-len(signature) % 4)
    return base64.urlsafe_b64encode(base64.urlsafe_b64decode(padded)).decode().rstrip("=") == signature


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest[:20]).decode().lower()
