"""What passes a proxy is judged, whoever asks and however it comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mcptasks_devcluster.spreading import SpreadingProxy
from mcptasks_server.exchange import Exchange, Result
from mcptasks_server.testing.desk import DONE, Desk
from mcptasks_server.testing.passing import PassingJudge
from mcptasks_server.testing.wire import Wire

INFO = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"}}'
GOOD = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],' + INFO + "}}"
STREAM = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-cache"}


@asynccontextmanager
async def through(url: str, judge: PassingJudge) -> AsyncIterator[aiohttp.ClientSession]:
    """A session whose requests pass the judge on their way to a server."""
    async with (
        SpreadingProxy.running([url.removesuffix("/mcp")], seed=1, look=judge) as proxy,
        aiohttp.ClientSession(base_url=proxy.url) as session,
    ):
        yield session


async def ask(session: aiohttp.ClientSession, body: str, method: str = "tools/call") -> str:
    headers = {**Wire.headers_for(method, {"name": "x"}), "Content-Type": "application/json"}
    async with session.post("/mcp", data=body, headers=headers) as response:
        return await response.text()


async def test_good_answers_of_each_kind_are_judged_and_pass() -> None:
    desk, judge = Desk(), PassingJudge()

    async def work(exchange: Exchange) -> Result:
        exchange.progress.report(1)
        return DONE

    async with desk.serving() as url, through(url, judge) as session:
        await ask(session, Wire.body_of("tools/call", {"name": "x"}))
        await ask(session, "not json")
        desk.work = work
        text = await ask(session, Wire.body_of("tools/call", {"name": "x"}, meta={"progressToken": 1}))

    assert "notifications/progress" in text
    assert (judge.judged, judge.refused) == (4, [])


@pytest.mark.parametrize(
    ("headers", "body", "why"),
    [
        ({"Content-Type": "application/json"}, GOOD.replace('"id":1', '"id":"1"'), "is not the request's"),
        ({"Content-Type": "application/json"}, GOOD.replace('"content":[],', ""), "content"),
        (
            {"Content-Type": "application/json"},
            '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"x"}}',
            "-32000",
        ),
        (
            {"Content-Type": "application/json"},
            '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}',
            "answered 200",
        ),
        (STREAM, f"data: {GOOD}\n\ndata: {GOOD}\n\n", "after the answer"),
        (STREAM, f"data: {GOOD[:20]}\ndata: {GOOD[20:]}\n\n", "one line"),
        (STREAM, f"id: 1\ndata: {GOOD}\n\n", "resumed"),
        (STREAM, f"data: {GOOD}\n", "within an event"),
        ({"Content-Type": "text/event-stream"}, f"data: {GOOD}\n\n", "AssertionError"),
    ],
)
async def test_what_is_wrong_passes_all_the_same_and_is_told(headers: dict[str, str], body: str, why: str) -> None:
    async def wrong(_: web.Request) -> web.Response:
        return web.Response(text=body, headers=headers)

    app, judge = web.Application(), PassingJudge()
    app.router.add_post("/mcp", wrong)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    try:
        async with through(str(server.make_url("/mcp")), judge) as session:
            assert await ask(session, Wire.body_of("tools/call", {"name": "x"})) == body
    finally:
        await server.close()

    assert why in judge.refused[0]


async def test_a_stream_that_its_client_leaves_is_no_fault() -> None:
    desk, judge = Desk(), PassingJudge()

    async def work(exchange: Exchange) -> Result:
        exchange.progress.report(1)
        await asyncio.Event().wait()
        return DONE

    desk.work = work
    async with (
        desk.serving() as url,
        SpreadingProxy.running([url.removesuffix("/mcp")], seed=1, look=judge) as proxy,
        aiohttp.ClientSession() as session,
    ):
        wire = Wire(session, f"{proxy.url}/mcp")
        async with wire.stream("tools/call", {"name": "x"}, meta={"progressToken": "t"}) as stream:
            await stream.until("notifications/progress")

    assert (judge.judged, judge.refused) == (1, [])
