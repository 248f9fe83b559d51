"""An answer as server-sent events: one message a line, whatever is in it, and a sign of life in each silence."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.eventstream import EventStream, event, takes_streams
from mcptasks_server.lines import one_line

SILENCE: Final = 0.05
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/event-stream", True),
        ("application/json, text/event-stream", True),
        ("application/json;q=0.9 , Text/Event-Stream;q=0.1", True),
        ("text/event-stream; charset=utf-8", True),
        ("text/event-stream;q=0", False),
        ("text/event-stream; q=0.000", False),
        ("application/json", False),
        ("*/*", False),
        ("text/*", False),
        ("text/event-streams", False),
        ("", False),
        (",,;", False),
    ],
)
def test_a_client_takes_streams_if_it_says_so_by_name(accept: str, expected: bool) -> None:
    assert takes_streams(accept) is expected


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    ),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_any_message_is_one_line_for_any_reader_and_the_same_value(
    value: Any, indent: int | None, is_ascii: bool
) -> None:
    text = json.dumps({"v": value}, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")

    written = event(one_line(text)).decode("utf-8", "surrogatepass")

    first, data, *rest = written.splitlines()
    assert (first, rest) == ("event: message", [""])
    assert written.endswith("\n\n")
    assert json.loads(data.removeprefix("data: ")) == {"v": value}


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[Handler], Awaitable[str]]]:
    servers: list[TestServer] = []

    async def started(handler: Handler) -> str:
        app = web.Application()
        app.router.add_post("/", handler)
        server = TestServer(app, host="127.0.0.1")
        servers.append(server)
        await server.start_server()
        return str(server.make_url("/"))

    yield started
    for server in servers:
        await server.close()


async def test_a_silent_stream_gives_a_sign_of_life_each_time_and_none_after_its_end(
    serve: Callable[[Handler], Awaitable[str]],
) -> None:
    go_on, streams = asyncio.Event(), list[EventStream]()

    async def handler(request: web.Request) -> web.StreamResponse:
        stream = EventStream(request, headers={"X-More": "1"}, silence_seconds=SILENCE)
        streams.append(stream)
        stream.outbox.begin()
        await go_on.wait()
        try:
            return await stream.finish(b'{"end":1}')
        finally:
            stream.close()

    headers = {"Accept": "text/event-stream"}
    async with aiohttp.ClientSession() as session, session.post(await serve(handler), headers=headers) as response:
        lines = [await response.content.readline() for _ in range(6)]
        go_on.set()
        rest = await response.content.read()

    assert lines == [b": begun\n", b"\n", b": alive\n", b"\n", b": alive\n", b"\n"]
    assert rest.replace(b": alive\n\n", b"") == b'event: message\ndata: {"end":1}\n\n'
    assert rest.endswith(b'data: {"end":1}\n\n')
    assert response.headers["X-More"] == "1"
    assert response.headers["Cache-Control"] == "no-cache, no-transform"
    assert streams[0]._timer is not None
    assert streams[0]._timer.cancelled()


async def test_what_is_said_meanwhile_takes_the_place_of_signs_of_life(
    serve: Callable[[Handler], Awaitable[str]],
) -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        stream = EventStream(request, headers={}, silence_seconds=60)
        for number in range(50):
            stream.outbox.replace("n", {"n": number})
            await stream.outbox.sent("n")
        try:
            return await stream.finish(b"{}")
        finally:
            stream.close()

    headers = {"Accept": "text/event-stream"}
    async with aiohttp.ClientSession() as session, session.post(await serve(handler), headers=headers) as response:
        text = await response.text()

    assert "alive" not in text
    assert [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")] == [
        *({"n": number} for number in range(50)),
        {},
    ]
