"""Which wire a request speaks, and what every modern request must carry. Pure.

Source: specification 2026-07-28, "Versioning and Compatibility", "_meta", "Protocol Version Header".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY

from .errors import HeaderMismatchError, MissingMetadataError, UnsupportedVersionError
from .headers import PROTOCOL_VERSION, Headers, check_routing, value_of
from .jsonrpc import Message, Response

LEGACY_VERSIONS: Final = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""Versions that begin with an `initialize` handshake."""
MODERN_VERSIONS: Final = ("2026-07-28",)
"""Versions that carry everything in each request."""
SUPPORTED_VERSIONS: Final = (*MODERN_VERSIONS, "2025-11-25")
"""What this server names where a client asks what it speaks: of each era the newest."""

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"


class Era(Enum):
    """The wire that a message is written for."""

    MODERN = auto()
    LEGACY = auto()


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """What a modern request says of itself."""

    version: str
    capabilities: Mapping[str, Any]
    """The client's, for this request alone."""

    @property
    def declares_tasks(self) -> bool:
        """Whether the client can be given a task."""
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, Mapping) and isinstance(extensions.get(TASKS_EXTENSION), Mapping)


def era_of(message: Message | Response, headers: Headers) -> Era:
    """The era of a message.

    Raises:
        HeaderMismatchError: its header names a legacy version, its body another one.
    """
    header, body = value_of(headers, PROTOCOL_VERSION), _meta(message).get(PROTOCOL_VERSION_META_KEY)
    if header in LEGACY_VERSIONS:
        if body is not None and body != header:
            raise _version_mismatch()
        return Era.LEGACY
    if header is None and body is None:
        return Era.LEGACY
    return Era.MODERN


def envelope_of(message: Message, headers: Headers, *, require_task_name: bool = True) -> Envelope:
    """What a modern request says of itself, checked in the order that the errors' meaning asks for.

    A client that contradicts itself is told so before it is told that it asks for what is not served.
    Without `require_task_name`, `Mcp-Name` may be missing on the methods of tasks.

    Raises:
        HeaderMismatchError: a header is missing or contradicts the body.
        MissingMetadataError: `_meta` lacks a required member.
        UnsupportedVersionError: the version is not served.
    """
    header = value_of(headers, PROTOCOL_VERSION)
    if header is None:
        raise HeaderMismatchError(f"Header mismatch: the {PROTOCOL_VERSION} header is required")
    meta = _meta(message)
    version, capabilities = meta.get(PROTOCOL_VERSION_META_KEY), meta.get(CLIENT_CAPABILITIES_META_KEY)
    if not isinstance(version, str):
        raise MissingMetadataError(f"params._meta must hold the string {PROTOCOL_VERSION_META_KEY}")
    if not isinstance(capabilities, Mapping):
        raise MissingMetadataError(f"params._meta must hold the object {CLIENT_CAPABILITIES_META_KEY}")
    if header != version:
        raise _version_mismatch()
    if version not in MODERN_VERSIONS:
        raise UnsupportedVersionError(version, supported=SUPPORTED_VERSIONS)
    check_routing(headers, method=message.method, params=message.params or {}, require_task_name=require_task_name)
    return Envelope(version=version, capabilities=capabilities)


def check_notification(headers: Headers) -> None:
    """That a modern notification speaks a version that is served. Nothing more is asked of its headers.

    Raises:
        UnsupportedVersionError: it does not.
    """
    header = value_of(headers, PROTOCOL_VERSION)
    if header is not None and header not in MODERN_VERSIONS:
        raise UnsupportedVersionError(header, supported=SUPPORTED_VERSIONS)


def _meta(message: Message | Response) -> Mapping[str, Any]:
    if isinstance(message, Response):
        return {}
    meta = (message.params or {}).get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def _version_mismatch() -> HeaderMismatchError:
    return HeaderMismatchError(
        f"Header mismatch: {PROTOCOL_VERSION} header value does not match {PROTOCOL_VERSION_META_KEY} in params._meta"
    )
