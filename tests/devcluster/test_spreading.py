"""The proxy that sends each request to a random replica."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from mcptasks_devcluster.layout import free_port
from mcptasks_devcluster.spreading import Replica, SpreadingProxy

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Origin:
    """A server that remembers what it was asked."""

    url: str = ""
    seen: list[web.Request] = field(default_factory=list)


@asynccontextmanager
async def serving(handler: Handler | None = None) -> AsyncIterator[Origin]:
    origin = Origin()

    async def answer(request: web.Request) -> web.StreamResponse:
        origin.seen.append(request)
        await request.read()
        return web.Response(text=origin.url) if handler is None else await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    origin.url = "http://127.0.0.1:{1}".format(*runner.addresses[0][:2])
    try:
        yield origin
    finally:
        await runner.cleanup()


@pytest.fixture
async def two() -> AsyncIterator[tuple[Origin, Origin]]:
    async with serving() as one, serving() as other:
        yield one, other


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def text(session: aiohttp.ClientSession, url: str, **headers: str) -> str:
    async with session.post(url, data=b"{}", headers=headers) as response:
        return await response.text()


async def test_requests_of_one_connection_go_to_both_replicas_as_the_seed_says(
    two: tuple[Origin, Origin], session: aiohttp.ClientSession
) -> None:
    seen: list[list[str]] = []
    for _ in range(2):
        async with SpreadingProxy.running([each.url for each in two], seed=1) as proxy:
            seen.append([await text(session, f"{proxy.url}/mcp") for _ in range(20)])

    assert set(seen[0]) == {each.url for each in two}
    assert seen[0] == seen[1]


async def test_a_legacy_session_stays_with_its_replica(
    two: tuple[Origin, Origin], session: aiohttp.ClientSession
) -> None:
    async with SpreadingProxy.running([each.url for each in two], seed=1) as proxy:
        places = {
            number: {await text(session, f"{proxy.url}/mcp", **{"Mcp-Session-Id": f"s{number}"}) for _ in range(5)}
            for number in range(10)
        }

    assert all(len(each) == 1 for each in places.values())
    assert set.union(*places.values()) == {each.url for each in two}


async def test_the_replica_sees_the_request_as_the_client_sent_it(session: aiohttp.ClientSession) -> None:
    sent = {"Host": "evil.example.com", "mCp-NaMe": "x", "Accept": "text/event-stream", "Content-Type": "text/plain"}
    async with serving() as origin, SpreadingProxy.running([origin.url], seed=1) as proxy:
        await text(session, f"{proxy.url}/a%2Fb?q=%20", **sent)

    (seen,) = origin.seen
    assert seen.raw_path == "/a%2Fb?q=%20"
    assert sent.items() <= dict(seen.headers).items()
    assert b"mCp-NaMe" in {name for name, _ in seen.raw_headers}


async def test_a_replica_that_takes_no_connection_is_passed_over(session: aiohttp.ClientSession) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    async with serving() as origin, SpreadingProxy.running([dead, origin.url], seed=1) as proxy:
        answers = {await text(session, proxy.url) for _ in range(20)}

        assert answers == {origin.url}
        assert proxy.refused > 0


async def test_a_replica_that_is_not_ready_is_sent_nothing(
    two: tuple[Origin, Origin], session: aiohttp.ClientSession
) -> None:
    async with SpreadingProxy.running([each.url for each in two], seed=1) as proxy:
        proxy.replicas[0].is_ready = False

        assert {await text(session, proxy.url) for _ in range(20)} == {two[1].url}


async def test_a_request_that_reached_a_replica_is_never_sent_again(session: aiohttp.ClientSession) -> None:
    async def die(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with (
        serving(die) as first,
        serving(die) as second,
        SpreadingProxy.running([first.url, second.url], seed=1) as proxy,
        session.post(proxy.url) as response,
    ):
        status = response.status

    assert status >= 500
    assert len(first.seen) + len(second.seen) == 1


async def test_an_answer_that_breaks_off_breaks_off_for_the_client_too(session: aiohttp.ClientSession) -> None:
    async def break_off(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        assert request.transport is not None
        request.transport.close()
        return response

    async with serving(break_off) as origin, SpreadingProxy.running([origin.url], seed=1) as proxy:
        with pytest.raises(aiohttp.ClientError):
            await text(session, proxy.url)


async def test_a_client_that_goes_away_is_gone_for_the_replica_too(session: aiohttp.ClientSession) -> None:
    cancelled = asyncio.Event()

    async def hold(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b": open\n\n")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return response

    async with serving(hold) as origin, SpreadingProxy.running([origin.url], seed=1) as proxy:
        async with session.post(proxy.url) as response:
            assert await response.content.readany() == b": open\n\n"
            response.close()

        await asyncio.wait_for(cancelled.wait(), timeout=10)


async def test_between_requests_a_replica_has_none_and_gets_none() -> None:
    replica = Replica("http://127.0.0.1:1")
    log: list[str] = []

    async def moment() -> None:
        async with replica.between_requests():
            log.append("between")
            await asyncio.sleep(0)
            log.append("over")

    async def request() -> None:
        async with replica.request():
            log.append("request")

    async with asyncio.TaskGroup() as group:
        async with replica.request():
            log.append("first")
            group.create_task(moment())
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        group.create_task(request())

    assert log == ["first", "between", "over", "request"]


async def test_without_affinity_a_legacy_session_goes_anywhere(
    two: tuple[Origin, Origin], session: aiohttp.ClientSession
) -> None:
    async with SpreadingProxy.running([each.url for each in two], seed=1, has_affinity=False) as proxy:
        places = {await text(session, f"{proxy.url}/mcp", **{"Mcp-Session-Id": "one"}) for _ in range(20)}

    assert places == {each.url for each in two}


async def test_what_is_silent_for_too_long_is_cut(session: aiohttp.ClientSession) -> None:
    ended = asyncio.Event()

    async def begin_and_say_nothing(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"begun")
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return response

    async with (
        serving(begin_and_say_nothing) as origin,
        SpreadingProxy.running([origin.url], seed=1, silence_seconds=0.2) as proxy,
    ):
        with pytest.raises(aiohttp.ClientError):
            await text(session, proxy.url)
        async with asyncio.timeout(10):
            await ended.wait()
