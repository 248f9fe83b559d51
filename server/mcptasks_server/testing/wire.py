"""A bare client of the modern wire: it sends exactly what a test says, and shows exactly what came."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from multidict import CIMultiDict, CIMultiDictProxy

from mcptasks_server.era import TASKS_EXTENSION
from mcptasks_server.headers import NAMED_BY

VERSION: Final = "2026-07-28"
WITH_TASKS: Final[Mapping[str, Any]] = {"extensions": {TASKS_EXTENSION: {}}}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    text: str
    headers: CIMultiDictProxy[str]

    @property
    def body(self) -> dict[str, Any]:
        """The JSON-RPC message."""
        document: dict[str, Any] = json.loads(self.text)
        return document

    @property
    def result(self) -> dict[str, Any]:
        """The result; fails where there is none."""
        result: dict[str, Any] = self.body["result"]
        return result

    @property
    def error(self) -> tuple[int, int]:
        """The HTTP status and the JSON-RPC error's code; fails where there is none."""
        return self.status, self.body["error"]["code"]


class Wire:
    """Sends requests to one MCP endpoint."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self.url = url

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        capabilities: Mapping[str, Any] = WITH_TASKS,
        headers: Mapping[str, str | None] | None = None,
        message_id: Any = 1,
    ) -> Answer:
        """Send a request as a conforming client does. `headers` are set beside its own; None leaves one out."""
        meta = {PROTOCOL_VERSION_META_KEY: VERSION, CLIENT_CAPABILITIES_META_KEY: capabilities}
        body = {"jsonrpc": "2.0", "id": message_id, "method": method, "params": {"_meta": meta, **(params or {})}}
        return await self.post(json.dumps(body), headers=self.headers_for(method, params, headers))

    async def post(
        self, body: str | bytes, *, headers: Mapping[str, str] | CIMultiDict[str] | None = None, verb: str = "POST"
    ) -> Answer:
        """Send a body as it is."""
        data = body.encode() if isinstance(body, str) else body
        everywhere = CIMultiDict({"Content-Type": "application/json"})
        everywhere.update(headers or {})
        async with self._session.request(verb, self.url, data=data, headers=everywhere) as response:
            return Answer(status=response.status, text=await response.text(), headers=response.headers)

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
