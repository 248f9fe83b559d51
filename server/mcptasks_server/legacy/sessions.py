"""Legacy sessions: what `initialize` has agreed on, as a signed value that the client brings back. Pure.

Nothing is kept of a session: any replica, after any restart, reads it from the value. It gives no rights either: who
calls is found out anew with each request, and must be the one that the session was made for. Source: specification
2025-11-25, "Lifecycle" and "Transports", "Session Management".
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from mcptasks_server.caller import Caller
from mcptasks_server.signing import Purpose, SealError, Signer

from .errors import SessionGoneError

SESSION_ID: Final = "Mcp-Session-Id"
VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
"""The legacy versions that are served, newest first."""
TASKS_SINCE: Final = "2025-11-25"
ELICITATION_SINCE: Final = "2025-06-18"
SESSION_SECONDS: Final = 30 * 24 * 3600
"""How long a session lasts. Many clients show an error instead of beginning a new one, so it is long."""

_FLAGS: Final[Mapping[str, tuple[str, str | None]]] = MappingProxyType(
    {
        "f": ("elicitation", "form"),
        "u": ("elicitation", "url"),
        "s": ("sampling", None),
        "t": ("sampling", "tools"),
        "r": ("roots", None),
    }
)
"""What is kept of a client's capabilities: a letter for each one, and for what it says within."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What is known of a legacy client."""

    version: str
    caller: str
    """The name of the caller that it was made for."""
    nonce: str
    """What tells it from every other one."""
    flags: str = ""
    """The client's capabilities, as letters of `_FLAGS`."""

    @property
    def has_tasks(self) -> bool:
        """Whether its version has the experimental tasks."""
        return self.version >= TASKS_SINCE

    @property
    def capabilities(self) -> dict[str, dict[str, Any]]:
        """What the client has declared, as far as it matters here."""
        found: dict[str, dict[str, Any]] = {}
        for flag in self.flags:
            name, within = _FLAGS[flag]
            found.setdefault(name, {}).update({} if within is None else {within: {}})
        return found


def negotiated(requested: str) -> str:
    """The version to speak with a client that asks for one: that one, else the newest that is served."""
    return requested if requested in VERSIONS else VERSIONS[0]


def begin(*, requested: str, capabilities: Mapping[str, Any], caller: Caller) -> Session:
    """A new session."""
    version = negotiated(requested)
    return Session(
        version=version,
        caller=caller.name,
        nonce=secrets.token_urlsafe(12),
        flags="".join(flag for flag in _FLAGS if _has(capabilities, flag, version=version)),
    )


def sealed(session: Session, signer: Signer, *, now: float) -> str:
    """The session as what the client is given. `now`: seconds since the epoch."""
    claims = {"v": session.version, "u": session.caller, "n": session.nonce, "c": session.flags}
    return signer.seal(Purpose.SESSION, claims, expires_at=now + SESSION_SECONDS)


def opened(value: str, signer: Signer, *, caller: Caller, now: float) -> Session:
    """The session that a client brings back.

    Raises:
        SessionGoneError: it was not made by this server, is over, or is somebody else's.
    """
    try:
        claims = signer.open(Purpose.SESSION, value, now=now)
    except SealError as error:
        raise SessionGoneError("Session not found: it is over, or unknown here. Begin anew with initialize") from error
    if claims["u"] != caller.name:
        raise SessionGoneError("Session not found: it is not this caller's. Begin anew with initialize")
    return Session(version=claims["v"], caller=claims["u"], nonce=claims["n"], flags=claims["c"])


def _has(capabilities: Mapping[str, Any], flag: str, *, version: str) -> bool:
    name, within = _FLAGS[flag]
    declared = capabilities.get(name)
    if not isinstance(declared, Mapping) or (name == "elicitation" and version < ELICITATION_SINCE):
        return False
    if flag == "f" and not declared:  # an empty capability means forms
        return True
    return within is None or isinstance(declared.get(within), Mapping)
