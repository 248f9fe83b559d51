"""A double of an MCP server with tasks, for tests of the client and of whatever is built on it.

It speaks the wire over real HTTP on a loopback port and is as strict about envelope and headers as the protocol is
(2026-07-28, streamable HTTP and the tasks extension). Its tasks do not run anything: each look at one shows the next of
the states that the test has written down.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from aiohttp import web

from .headers import parameter_headers
from .wire import PROTOCOL_VERSION, TASKS_EXTENSION

Json = dict[str, Any]

MOMENT: Final = "2026-11-29T21:45:32.325Z"
_META: Final = "io.modelcontextprotocol/"
_NAMED_BY: Final = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
    "resources/read": "uri",
}


def state(status: str, **members: Any) -> Json:
    """One state of a task, without its id."""
    return {"status": status, "createdAt": MOMENT, "lastUpdatedAt": MOMENT, "ttlMs": 3_600_000, **members}


def completed(text: str, *, is_error: bool = False, **members: Any) -> Json:
    """The state of a task that gave a text."""
    return state("completed", result=tool_result(text, is_error=is_error, **members))


def tool_result(text: str, *, is_error: bool = False, **members: Any) -> Json:
    """A tool's result."""
    content = [{"type": "text", "text": text}]
    return {"resultType": "complete", "content": content, "isError": is_error, **members}


@dataclass(kw_only=True)
class FakeTask:
    """A task that goes through its states, one a look; the last one stays, and one that asks until it is answered."""

    states: list[Json]
    cancelled_by_request: bool = True
    """Whether a cancel ends it."""
    answers: Json = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    """Why the next answers are refused, one each."""

    def look(self) -> Json:
        """The next state."""
        while len(self.states) > 1 and self.states[0]["status"] == "input_required" and not self._open():
            self.states.pop(0)
        if still := self._open():
            return {**self.states[0], "inputRequests": still}
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def _open(self) -> Json:
        """What it asks and has no answer to."""
        asked = self.states[0].get("inputRequests", {})
        return {key: request for key, request in asked.items() if key not in self.answers}

    def cancel(self) -> None:
        """What a cancel does to it."""
        if self.cancelled_by_request and self.states[0]["status"] in {"working", "input_required"}:
            self.states[:] = [state("cancelled")]


@dataclass(frozen=True, kw_only=True)
class FakeTool:
    """A tool: what it gives at once, or the states of the task that a call makes."""

    schema: Json = field(default_factory=lambda: {"type": "object"})
    result: Json | None = None
    states: Sequence[Json] = ()
    progress: Sequence[Json] = ()
    """Sent before the result, in a stream of events."""
    cancelled_by_request: bool = True
    is_silent: bool = False
    """A call of it is never answered."""
    asks_first: Json | None = None
    """What a call is asked before anything is started; the answers come with its retry."""
    refusals: list[str] = field(default_factory=list)
    """Why the next answers that come so are refused, one each."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A request as it came."""

    method: str
    params: Json
    headers: Mapping[str, str]
    text: str


class RefusalError(Exception):
    """An error answer."""

    def __init__(self, code: int, message: str, *, status: int = 200, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.data = data


class FakeServer:
    """The server. Use as an async context manager; `url` is then its endpoint."""

    def __init__(self, tools: Mapping[str, FakeTool] | None = None, *, page_size: int = 100) -> None:
        self.tools = dict(tools or {})
        self.tasks: dict[str, FakeTask] = {}
        self.resources: dict[str, list[Json]] = {}
        """The contents of each resource, by its URI."""
        self.seen: list[Seen] = []
        self.broken: list[Callable[[], web.Response | None]] = []
        """What the next requests get instead of an answer, one each; `drop` closes the connection."""
        self.url = ""
        self._page_size = page_size
        self._silence = asyncio.Event()
        self._came = asyncio.Event()
        self._methods: Mapping[str, Callable[[Json], Json]] = {
            "server/discover": self._discover,
            "tools/list": self._list,
            "tools/call": self._call,
            "tasks/get": self._get,
            "tasks/update": self._update,
            "tasks/cancel": self._cancel,
            "resources/read": self._read,
        }

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/mcp", self._post)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/mcp"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._silence.set()
        await self._runner.cleanup()

    def methods(self) -> list[str]:
        """The methods of the requests that came, in order."""
        return [seen.method for seen in self.seen]

    async def until_asked(self, method: str) -> None:
        """Wait for the first request of a method."""
        while method not in self.methods():
            self._came.clear()
            await self._came.wait()

    def params(self, method: str) -> list[Json]:
        """The parameters of all requests of a method, in order."""
        return [seen.params for seen in self.seen if seen.method == method]

    async def _post(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        if self.broken:
            broken = self.broken.pop(0)()
            if broken is None and request.transport is not None:
                request.transport.close()
            return broken or web.Response(status=500)
        message: Json = json.loads(text)
        method, params = message["method"], message.get("params", {})
        self.seen.append(Seen(method=method, params=params, headers=dict(request.headers), text=text))
        self._came.set()
        try:
            self._check(request.headers, method, params)
            tool = self.tools.get(params["name"]) if method == "tools/call" else None
            if tool is not None and tool.is_silent:
                await self._silence.wait()
            document = {"jsonrpc": "2.0", "id": message["id"], "result": self._methods[method](params)}
        except RefusalError as refusal:
            error = {"code": refusal.code, "message": str(refusal), "data": refusal.data}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error}, status=refusal.status)
        if tool is not None and tool.progress:
            return await self._stream(request, document, params["_meta"]["progressToken"], tool.progress)
        return web.json_response(document)

    def _check(self, headers: Mapping[str, str], method: str, params: Json) -> None:
        meta = params.get("_meta", {})
        if "MCP-Protocol-Version" not in headers:
            raise RefusalError(-32020, "MCP-Protocol-Version is missing", status=400)
        capabilities = meta.get(f"{_META}clientCapabilities")
        if not isinstance(capabilities, dict) or f"{_META}protocolVersion" not in meta:
            raise RefusalError(-32602, "_meta lacks what is required", status=400)
        if headers["MCP-Protocol-Version"] != PROTOCOL_VERSION or meta[f"{_META}protocolVersion"] != PROTOCOL_VERSION:
            raise RefusalError(
                -32022, "Unsupported protocol version", status=400, data={"supported": [PROTOCOL_VERSION]}
            )
        named_by = _NAMED_BY.get(method)
        if headers.get("Mcp-Method") != method or (named_by and headers.get("Mcp-Name") != params[named_by]):
            raise RefusalError(-32020, "Mcp-Method or Mcp-Name does not fit the body", status=400)
        if method not in self._methods:
            raise RefusalError(-32601, "Method not found", status=404)
        if method.startswith("tasks/") and TASKS_EXTENSION not in capabilities.get("extensions", {}):
            raise RefusalError(-32021, "Missing required client capability", status=400)
        if method == "tools/call" and params["name"] in self.tools:
            wanted = parameter_headers(self.tools[params["name"]].schema, params.get("arguments", {}))
            if any(headers.get(name) != value for name, value in wanted.items()):
                raise RefusalError(-32020, "Mcp-Param does not fit the body", status=400)

    async def _stream(
        self, request: web.Request, document: Json, token: Any, progress: Sequence[Json]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        notes = [
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, **step}}
            for step in progress
        ]
        for message in [*notes, document]:
            await response.write(f": keep-alive\n\nevent: message\ndata: {json.dumps(message)}\n\n".encode())
        await response.write_eof()
        return response

    def _discover(self, _: Json) -> Json:
        capabilities: Json = {"tools": {}, "extensions": {TASKS_EXTENSION: {}}}
        return {"resultType": "complete", "supportedVersions": [PROTOCOL_VERSION], "capabilities": capabilities}

    def _list(self, params: Json) -> Json:
        start = int(params.get("cursor", 0))
        end = start + self._page_size
        items = [{"name": name, "inputSchema": tool.schema} for name, tool in self.tools.items()]
        following = {"nextCursor": str(end)} if end < len(items) else {}
        return {"resultType": "complete", "tools": items[start:end], **following}

    def _call(self, params: Json) -> Json:
        tool = self.tools.get(params["name"])
        if tool is None:
            raise RefusalError(-32602, f"Unknown tool: {params['name']}")
        if tool.asks_first is not None and (asking := _asking(tool, params)) is not None:
            return asking
        if not tool.states:
            return tool.result or tool_result("")
        task_id = f"mt-{len(self.tasks):026}"
        task = FakeTask(states=list(tool.states), cancelled_by_request=tool.cancelled_by_request)
        self.tasks[task_id] = task
        return {"resultType": "task", "taskId": task_id, **state("working", pollIntervalMs=1000)}

    def _get(self, params: Json) -> Json:
        return {"resultType": "complete", "taskId": params["taskId"], **self._task(params).look()}

    def _update(self, params: Json) -> Json:
        task = self._task(params)
        if task.refusals:
            raise RefusalError(-32602, task.refusals.pop(0))
        for key, answer in params["inputResponses"].items():
            task.answers.setdefault(key, answer)
        return {"resultType": "complete"}

    def _cancel(self, params: Json) -> Json:
        self._task(params).cancel()
        return {"resultType": "complete"}

    def _read(self, params: Json) -> Json:
        if params["uri"] not in self.resources:
            raise RefusalError(-32602, "Resource not found", data={"uri": params["uri"]})
        return {
            "resultType": "complete",
            "contents": self.resources[params["uri"]],
            "ttlMs": 0,
            "cacheScope": "private",
        }

    def _task(self, params: Json) -> FakeTask:
        task = self.tasks.get(params["taskId"])
        if task is None:
            raise RefusalError(-32602, "Failed to retrieve task: Task not found")
        return task


def form(message: str = "Really?", /, **properties: Any) -> Json:
    """A request to the client: a form with these fields, all of them required."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def _asking(tool: FakeTool, params: Json) -> Json | None:
    """The questions that a call is to be repeated with the answers of; None where it brings them."""
    state = json.dumps([params["name"], params.get("arguments")])
    if "requestState" not in params:
        return {"resultType": "input_required", "inputRequests": tool.asks_first, "requestState": state}
    if params["requestState"] != state or params["inputResponses"].keys() != (tool.asks_first or {}).keys():
        raise RefusalError(-32602, "Invalid params: requestState: it was given to another request")
    if tool.refusals:
        raise RefusalError(-32602, tool.refusals.pop(0))
    return None


def drop() -> None:
    """For `FakeServer.broken`: the connection is closed without an answer."""


def unavailable() -> web.Response:
    """For `FakeServer.broken`: a proxy's answer while there is no server behind it."""
    return web.Response(status=503, text="no healthy upstream", headers={"Retry-After": "7"})
