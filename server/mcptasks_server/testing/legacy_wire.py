"""A bare client of the legacy wire (2025-11-25 and older). What comes is judged as on the modern one (see `wire`)."""

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import aiohttp

from .answers import Answer, Stream
from .judges import LEGACY
from .wire import Wire

VERSION: Final = LEGACY
CLIENT_INFO: Final = {"name": "test", "version": "1"}
EVERYTHING: Final[Mapping[str, Any]] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
"""What a client declares that can do all that a server may ask."""


class LegacyWire:
    """One client, with the session that it was given."""

    def __init__(self, wire: Wire, *, version: str = VERSION, session_id: str | None = None) -> None:
        self._wire = wire
        self.version, self.session_id = version, session_id
        self._ids = itertools.count(1)

    @classmethod
    async def connected(
        cls, wire: Wire, *, capabilities: Mapping[str, Any] | None = None, version: str = VERSION
    ) -> Self:
        """A client that has gone through the handshake."""
        client = cls(wire, version=version)
        await client.initialize(capabilities or {})
        accepted = await client.notify("notifications/initialized")
        assert accepted.status == 202
        return client

    def elsewhere(self, wire: Wire) -> "LegacyWire":
        """The same session at another replica."""
        return LegacyWire(wire, version=self.version, session_id=self.session_id)

    async def initialize(self, capabilities: Mapping[str, Any], *, version: str | None = None) -> Answer:
        """The handshake's request; takes the session and the version that it is given."""
        asked = {
            "protocolVersion": version or self.version,
            "capabilities": dict(capabilities),
            "clientInfo": CLIENT_INFO,
        }
        answer = await self._wire.post(self.body_of("initialize", asked, message_id=0), headers=self._accepts())
        if "result" in answer.body:
            self.session_id = answer.headers.get("Mcp-Session-Id")
            self.version = answer.result["protocolVersion"]
        return answer

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, message_id: Any = None, **headers: str
    ) -> Answer:
        """Send a request and read its answer to the end."""
        async with self.stream(method, params, message_id=message_id, **headers) as stream:
            return await stream.answer()

    @asynccontextmanager
    async def stream(
        self, method: str, params: Mapping[str, Any] | None = None, *, message_id: Any = None, **headers: str
    ) -> AsyncIterator[Stream]:
        """Send a request and read its answer message by message. Leaving the context closes the connection."""
        body = self.body_of(method, params, message_id=next(self._ids) if message_id is None else message_id)
        async with self._wire.sent(body, self.headers() | headers) as stream:
            yield stream

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> Answer:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        return await self._wire.post(json.dumps(message), headers=self.headers())

    async def respond(self, message_id: Any, result: Any = None, *, error: Mapping[str, Any] | None = None) -> Answer:
        """Answer a request of the server."""
        outcome = {"result": result} if error is None else {"error": error}
        return await self._wire.post(
            json.dumps({"jsonrpc": "2.0", "id": message_id, **outcome}), headers=self.headers()
        )

    async def cancel(self, message_id: Any) -> Answer:
        """Say that a request is not wanted any more."""
        return await self.notify("notifications/cancelled", {"requestId": message_id})

    def headers(self) -> dict[str, str]:
        """What a conforming client sends after the handshake."""
        session = {} if self.session_id is None else {"Mcp-Session-Id": self.session_id}
        return {**self._accepts(), "MCP-Protocol-Version": self.version, **session}

    @staticmethod
    def body_of(method: str, params: Mapping[str, Any] | None = None, *, message_id: Any = 1) -> str:
        """A request's body."""
        message = {"jsonrpc": "2.0", "id": message_id, "method": method}
        return json.dumps(message | ({} if params is None else {"params": params}))

    @staticmethod
    def _accepts() -> dict[str, str]:
        return {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def legacy_client(url: str, **handshake: Any) -> AsyncIterator[LegacyWire]:
    """A connected client of a URL."""
    async with aiohttp.ClientSession() as session:
        yield await LegacyWire.connected(Wire(session, url), **handshake)
