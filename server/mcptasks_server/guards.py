"""Whose requests are looked at: the `Host` and `Origin` rules that keep web pages from using a server they cannot see.

Pure. Source: specification 2026-07-28, Streamable HTTP, "Security & Endpoint". Health paths are exempt: a kubelet asks
by the pod's address.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from .errors import ForbiddenError
from .headers import Headers
from .jsonrpc import quoted

ANY: Final = "*"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]/@]+)(?::(\d{1,5}))?")

ALLOWED_METHODS: Final = "POST, OPTIONS"
_FIXED_HEADERS: Final = (
    "Accept",
    "Authorization",
    "Content-Type",
    "Last-Event-ID",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Session-Id",
)
_READABLE_HEADERS: Final = "Mcp-Session-Id, WWW-Authenticate"
"""What a page may read of an answer: the session, which it must send back, and what a token is missing."""
_PARAMETER_HEADER: Final = re.compile(r"mcp-param-[!#$%&'*+\-.^_`|~0-9a-z]+")
_PREFLIGHT_SECONDS: Final = "600"


@dataclass(frozen=True, kw_only=True)
class Guards:
    """Which hosts and origins may be."""

    hosts: frozenset[str] = frozenset()
    """Beside loopback: names, with a port or (any port) without; `*` for any."""
    origins: frozenset[str] = frozenset()
    """Beside loopback: whole origins (`https://app.example`); `*` for any but `null`."""

    def check(self, headers: Headers) -> None:
        """That the request is for this server, and from where it may come.

        Raises:
            ForbiddenError: it is not.
        """
        hosts = headers.getall("Host", [])
        if len(hosts) != 1 or not self._is_our_host(hosts[0]):
            raise ForbiddenError(f"Host {quoted(', '.join(hosts))} is not allowed (MCPTASKS_ALLOWED_HOSTS)")
        for origin in headers.getall("Origin", []):
            if not self._is_allowed_origin(origin):
                raise ForbiddenError(f"Origin {quoted(origin)} is not allowed (MCPTASKS_ALLOWED_ORIGINS)")

    def cross_origin_headers(self, headers: Headers) -> dict[str, str]:
        """What an answer tells a browser: that the page may read it, if its origin is allowed."""
        origin = headers.get("Origin")
        if origin is None or not self._is_allowed_origin(origin):
            return {"Vary": "Origin"}
        return {
            "Vary": "Origin",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": _READABLE_HEADERS,
        }

    def preflight_headers(self, headers: Headers) -> Mapping[str, str]:
        """What a browser is told before it sends a page's request."""
        asked = [name.strip() for name in headers.get("Access-Control-Request-Headers", "").split(",")]
        mirrored = [name for name in asked if _PARAMETER_HEADER.fullmatch(name.lower())]
        return {
            **self.cross_origin_headers(headers),
            "Access-Control-Allow-Methods": ALLOWED_METHODS,
            "Access-Control-Allow-Headers": ", ".join((*_FIXED_HEADERS, *mirrored)),
            "Access-Control-Max-Age": _PREFLIGHT_SECONDS,
        }

    def _is_our_host(self, host: str) -> bool:
        if ANY in self.hosts:
            return True
        match = _HOST.fullmatch(host.strip().lower())
        if match is None:
            return False
        name = match[1].rstrip(".")
        return name in _LOOPBACK or name in self.hosts or f"{name}:{match[2]}" in self.hosts

    def _is_allowed_origin(self, origin: str) -> bool:
        if origin in self.origins or (ANY in self.origins and origin != "null"):
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        host = _HOST.fullmatch(parts.netloc.lower())
        return (
            parts.scheme in {"http", "https"}
            and not parts.path
            and not parts.query
            and host is not None
            and host[1] in _LOOPBACK
        )
