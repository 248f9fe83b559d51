"""Callers by static bearer tokens: a file, mounted from a Secret, says whose each token is.

The file is YAML (or JSON): a list of entries.

    - token: 3Hk...            # at least 32 characters
      subject: anna
      groups: [deployers]      # optional
      expiresAt: 2027-01-01T00:00:00Z   # optional

It is read anew when it changes, so a token can be added or taken away without a restart. Tokens are kept as hashes:
nothing here can print one. Source: RFC 6750 for the header and the answer to a bad one.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import structlog
import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from mcptasks_crds.limits import CALLER_STORED_BYTES, stored_bytes

from .caller import ANONYMOUS, Caller
from .errors import UnauthenticatedError
from .headers import Headers

MIN_TOKEN_LENGTH: Final = 32
CHECK_SECONDS: Final = 1.0
"""How often the file is looked at, at most."""
_SCHEME: Final = "bearer"


class TokensError(ValueError):
    """The file cannot be used. The message names the entry and the field, never a token."""


class _Entry(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", populate_by_name=True)

    token: Annotated[SecretStr, Field(min_length=MIN_TOKEN_LENGTH)]
    subject: Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f]+$")]
    groups: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    expires_at: AwareDatetime | None = None


_ENTRIES: Final = TypeAdapter(tuple[_Entry, ...])


def read_tokens(text: str) -> Mapping[bytes, Caller]:
    """The callers of a tokens file, by their token's hash.

    Raises:
        TokensError: the file is not what it must be.
    """
    try:
        entries = _ENTRIES.validate_python(yaml.safe_load(text) or ())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TokensError(f"not YAML{'' if mark is None else f' (line {mark.line + 1})'}") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = "/".join(str(step) for step in first["loc"]) or "the file"
        raise TokensError(f"{where}: {first['msg']}") from None
    callers: dict[bytes, Caller] = {}
    for number, entry in enumerate(entries):
        if entry.subject == ANONYMOUS.name:
            raise TokensError(
                f"{number}/subject: {ANONYMOUS.name} is everybody where nobody is known: take another one"
            )
        if stored_bytes(entry.subject) > CALLER_STORED_BYTES:
            raise TokensError(f"{number}/subject: longer than {CALLER_STORED_BYTES} bytes")
        key = _hash(entry.token.get_secret_value())
        if key in callers:
            raise TokensError(f"{number}/token: an earlier entry has the same one")
        callers[key] = _caller(entry)
    return callers


class TokenAuthentication:
    """Callers by the tokens of a file."""

    knows_callers: Final = True

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Raises:
            TokensError: the file cannot be used.
        """
        self._path, self._clock, self._monotonic = path, clock, monotonic
        self._log: Any = structlog.get_logger()
        self._reading = asyncio.Lock()
        self._text = _text(path)
        self._callers = read_tokens(self._text)
        self._read_at = monotonic()

    async def caller_of(self, headers: Headers) -> Caller:
        """The caller whose token the `Authorization` header bears."""
        values = headers.getall("Authorization", [])
        if not values:
            raise UnauthenticatedError("Authentication is required: send Authorization: Bearer <token>")
        scheme, _, token = values[0].strip().partition(" ")
        if len(values) > 1 or scheme.lower() != _SCHEME or not token.strip():
            raise UnauthenticatedError(
                "The Authorization header must be one, and read: Bearer <token>", is_invalid=True
            )
        await self._renew()
        caller = self._callers.get(_hash(token.strip()))
        if caller is None or (caller.expires_at is not None and self._clock() >= caller.expires_at):
            raise UnauthenticatedError("The token is not known, or its time is over", is_invalid=True)
        return caller

    async def _renew(self) -> None:
        if self._monotonic() - self._read_at < CHECK_SECONDS or self._reading.locked():
            return
        async with self._reading:
            try:
                text = await asyncio.to_thread(_text, self._path)
                if text != self._text:
                    self._callers, self._text = read_tokens(text), text
                    self._log.info("tokens read anew", callers=len(self._callers))
            except TokensError as error:
                # Whoever can still come in, can; a mistake in the file must not lock everybody out.
                self._log.error("the tokens file cannot be used; the last good one stays", error=str(error))
            self._read_at = self._monotonic()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise TokensError(f"{path} cannot be read: {error.__class__.__name__}") from error


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _caller(entry: _Entry) -> Caller:
    ends: datetime | None = entry.expires_at
    return Caller(
        name=entry.subject, groups=frozenset(entry.groups), expires_at=None if ends is None else ends.timestamp()
    )
