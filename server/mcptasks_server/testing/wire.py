"""A bare client of the modern wire: it sends exactly what a test says, and shows exactly what came.

Whatever comes is judged first (see `judges`): a message that breaks the specification fails the test that got it.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from multidict import CIMultiDict

from mcptasks_server.era import TASKS_EXTENSION
from mcptasks_server.headers import NAMED_BY, PROTOCOL_VERSION

from .answers import Answer, Stream
from .judges import MODERN, Asked

__all__ = ["VERSION", "WITH_FORMS", "WITH_TASKS", "Answer", "Stream", "Wire"]

VERSION: Final = MODERN
WITH_TASKS: Final[Mapping[str, Any]] = {"extensions": {TASKS_EXTENSION: {}}}
"""A client that can be given tasks, and cannot be asked."""
WITH_FORMS: Final[Mapping[str, Any]] = {**WITH_TASKS, "elicitation": {}}
"""A client of tasks that can also put a form before a person."""


class Wire:
    """Sends requests to one MCP endpoint."""

    def __init__(self, session: aiohttp.ClientSession, url: str, *, headers: Mapping[str, str] | None = None) -> None:
        """`headers` go with every request (`Authorization`)."""
        self._session = session
        self.url = url
        self._always = dict(headers or {})

    def as_caller(self, token: str) -> "Wire":
        """The same endpoint, for the caller that bears this token."""
        return Wire(self._session, self.url, headers={**self._always, "Authorization": f"Bearer {token}"})

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        capabilities: Mapping[str, Any] = WITH_TASKS,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        message_id: Any = 1,
    ) -> Answer:
        """Send a request as a conforming client does, and read its answer to the end.

        `meta` are further members of `_meta`. `headers` are set beside its own; None leaves one out.
        """
        body = self.body_of(method, params, capabilities=capabilities, meta=meta, message_id=message_id)
        return await self.post(body, headers=self.headers_for(method, params, headers))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        capabilities: Mapping[str, Any] = WITH_TASKS,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        message_id: Any = 1,
    ) -> AsyncIterator[Stream]:
        """Like `call`, message by message. Leaving the context closes the connection: this wire's cancellation."""
        body = self.body_of(method, params, capabilities=capabilities, meta=meta, message_id=message_id)
        async with self.sent(body, self.headers_for(method, params, headers)) as stream:
            yield stream

    @asynccontextmanager
    async def sent(
        self, body: str | bytes, headers: Mapping[str, str] | CIMultiDict[str], *, verb: str = "POST"
    ) -> AsyncIterator[Stream]:
        """Send a body as it is, and read what comes message by message."""
        data = body.encode() if isinstance(body, str) else body
        everywhere = CIMultiDict({"Content-Type": "application/json", **self._always})
        everywhere.update(headers)
        asked = Asked.of(data, header=everywhere.get(PROTOCOL_VERSION))
        async with self._session.request(verb, self.url, data=data, headers=everywhere) as response:
            try:
                yield Stream(response, asked)
            finally:
                response.close()

    async def post(
        self, body: str | bytes, *, headers: Mapping[str, str] | CIMultiDict[str] | None = None, verb: str = "POST"
    ) -> Answer:
        """Send a body as it is."""
        async with self.sent(body, headers or {}, verb=verb) as stream:
            return await stream.answer()

    @staticmethod
    def body_of(
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        capabilities: Mapping[str, Any] = WITH_TASKS,
        meta: Mapping[str, Any] | None = None,
        message_id: Any = 1,
    ) -> str:
        """A request's body as a conforming client writes it."""
        envelope = {PROTOCOL_VERSION_META_KEY: VERSION, CLIENT_CAPABILITIES_META_KEY: capabilities, **(meta or {})}
        members = {"_meta": envelope, **(params or {})}
        return json.dumps({"jsonrpc": "2.0", "id": message_id, "method": method, "params": members})

    @staticmethod
    def headers_for(
        method: str, params: Mapping[str, Any] | None, changes: Mapping[str, str | None] | None = None
    ) -> CIMultiDict[str]:
        """The headers that a conforming client sends with a request."""
        headers = CIMultiDict(
            {
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": VERSION,
                "Mcp-Method": method,
            }
        )
        name = (params or {}).get(NAMED_BY.get(method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = name
        for header, value in (changes or {}).items():
            headers.popall(header, None)
            if value is not None:
                headers[header] = value
        return headers
