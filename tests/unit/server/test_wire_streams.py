"""Answers that are streams, and clients that are slow, leave at any point, or say odd things of what they take."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.errors import RefusedError
from mcptasks_server.eventstream import SILENCE_SECONDS, EventStream
from mcptasks_server.exchange import Exchange, InputRequest, Result
from mcptasks_server.testing.desk import DONE, Desk, at_once
from mcptasks_server.testing.raw import connection, posted
from mcptasks_server.testing.wire import Wire

TOKEN: Final = {"progressToken": "t"}
CALL: Final = {"name": "x"}


@pytest.fixture
def desk() -> Desk:
    """What the endpoint's only tool does."""
    return Desk()


@pytest.fixture
async def wire(desk: Desk) -> AsyncIterator[Wire]:
    """A bare client of it."""
    async with desk.serving() as url, aiohttp.ClientSession() as session:
        yield Wire(session, url)


async def all_is_quiet(desk: Desk) -> None:
    async def quiet() -> bool:
        return desk.running == 0 and desk.open_streams == 0

    await eventually(quiet, what="nothing runs and no stream is open")


@pytest.mark.requirement("http/response-ends-stream", "http/no-buffering", "http/stream-related", "http/not-resumable")
async def test_what_comes_before_an_answer_makes_it_a_stream_that_the_answer_ends(wire: Wire, desk: Desk) -> None:
    async def work(exchange: Exchange) -> Result:
        for step in range(3):
            exchange.progress.report(step, total=3, message="x")
            await exchange.outbox.sent("progress")
        return DONE

    desk.work = work
    answer = await wire.call("tools/call", CALL, meta=TOKEN)

    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert [each["progress"] for each in answer.told("notifications/progress")] == [0, 1, 2]
    assert answer.result["content"] == DONE["content"]
    await all_is_quiet(desk)


@pytest.mark.requirement("http/json-or-stream")
@pytest.mark.parametrize(
    ("accept", "is_stream"),
    [
        ("application/json, text/event-stream", True),
        ("text/event-stream", True),
        ("TEXT/EVENT-STREAM;q=0.5", True),
        ("application/json", False),
        ("*/*", False),
        ("text/*", False),
        ("text/event-stream;q=0", False),
        ("", False),
        (None, False),
    ],
)
async def test_only_a_client_that_says_so_is_answered_by_a_stream(
    wire: Wire, desk: Desk, accept: str | None, is_stream: bool
) -> None:
    async def work(exchange: Exchange) -> Result:
        exchange.progress.report(1)
        return DONE

    desk.work = work
    answer = await wire.call("tools/call", CALL, meta=TOKEN, headers={"Accept": accept})

    assert answer.headers["Content-Type"].startswith("text/event-stream") is is_stream
    assert len(answer.told("notifications/progress")) == (1 if is_stream else 0)
    assert answer.result["content"] == DONE["content"]


@pytest.mark.requirement("base/response-id", "http/response-ends-stream")
@pytest.mark.parametrize("message_id", [0, "0", -(2**70), 2**53 + 1, "", "ä\n\u2028", "x" * 10_000])
async def test_an_answer_on_a_stream_echoes_the_id_with_value_and_type(wire: Wire, desk: Desk, message_id: Any) -> None:
    async def work(exchange: Exchange) -> Result:
        exchange.outbox.begin()
        return DONE

    async def failing(exchange: Exchange) -> Result:
        exchange.outbox.begin()
        raise RefusedError("no")

    for desk.work in (work, failing):
        answer = await wire.call("tools/call", CALL, message_id=message_id)

        assert (type(answer.body["id"]), answer.body["id"]) == (type(message_id), message_id)


@pytest.mark.requirement("progress/only-tokens", "progress/increases")
@pytest.mark.parametrize("token", ["", "0", 0, -1, 2**53 + 1, -(2**70), 10**30, "ä\u2028\n\\", "x" * 5000])
async def test_a_progress_token_comes_back_with_value_and_type(wire: Wire, desk: Desk, token: Any) -> None:
    async def work(exchange: Exchange) -> Result:
        exchange.progress.report(1)
        return DONE

    desk.work = work
    answer = await wire.call("tools/call", CALL, meta={"progressToken": token})

    (told,) = answer.told("notifications/progress")
    assert (type(told["progressToken"]), told["progressToken"]) == (type(token), token)


@pytest.mark.requirement("progress/only-tokens")
@pytest.mark.parametrize("token", [1.0, 1.5, True, False, [], {}, ["t"], {"t": 1}])
async def test_a_progress_token_that_is_none_is_refused_before_anything_runs(
    wire: Wire, desk: Desk, token: Any
) -> None:
    answer = await wire.call("tools/call", CALL, meta={"progressToken": token})

    assert answer.error == (200, -32602)
    assert "progressToken" in answer.message
    assert desk.ended == []


@pytest.mark.requirement("progress/only-tokens")
async def test_without_a_token_no_progress_is_told(wire: Wire, desk: Desk) -> None:
    async def work(exchange: Exchange) -> Result:
        exchange.outbox.begin()
        exchange.progress.report(1)
        return DONE

    desk.work = work

    assert (await wire.call("tools/call", CALL)).before == ()


@pytest.mark.requirement("progress/only-tokens", "http/stream-related")
async def test_two_calls_under_one_token_are_each_told_their_own_progress(wire: Wire, desk: Desk) -> None:
    both, meeting = 0, asyncio.Event()

    async def work(exchange: Exchange) -> Result:
        nonlocal both
        both += 1
        if both == 2:
            meeting.set()
        await meeting.wait()
        mine = int(exchange.id)
        for step in range(1, 4):
            exchange.progress.report(mine * 10 + step)
            await exchange.outbox.sent("progress")
        return DONE

    desk.work = work
    answers = await asyncio.gather(*(wire.call("tools/call", CALL, meta=TOKEN, message_id=number) for number in (1, 2)))

    told = [[each["progress"] for each in answer.told("notifications/progress")] for answer in answers]
    assert told == [[11, 12, 13], [21, 22, 23]]


@pytest.mark.requirement("progress/stops", "http/silent-after-close")
async def test_whatever_is_told_after_the_answer_is_never_sent(wire: Wire, desk: Desk) -> None:
    kept: list[Exchange] = []

    async def work(exchange: Exchange) -> Result:
        kept.append(exchange)
        exchange.progress.report(1)
        return DONE

    desk.work = work
    async with wire.stream("tools/call", CALL, meta=TOKEN) as stream:
        messages = [message async for message in stream]
    kept[0].progress.report(2)
    kept[0].progress.beat("still here")
    await kept[0].outbox.send({"jsonrpc": "2.0", "method": "notifications/message"})

    assert [message.get("method", "answer") for message in messages] == ["notifications/progress", "answer"]
    await all_is_quiet(desk)


@pytest.mark.requirement("progress/rate", "progress/increases", "http/json-or-stream")
async def test_a_slow_reader_gets_the_newest_and_the_end_and_costs_no_memory(wire: Wire, desk: Desk) -> None:
    steps, done = 60_000, asyncio.Event()

    async def work(exchange: Exchange) -> Result:
        for step in range(steps):
            exchange.progress.report(step, message="x" * 200)
            if step % 100 == 0:
                await asyncio.sleep(0)  # as a tool that does something between its reports
        assert len(exchange.outbox._waiting) <= 1
        done.set()
        return DONE

    desk.work = work
    async with connection(wire, receive_buffer=4096) as (reader, writer):
        writer.write(posted(wire, "tools/call", CALL, meta=TOKEN))
        await asyncio.wait_for(done.wait(), 30)  # with nobody reading
        text = b""
        while b'"result"' not in text:
            piece = await asyncio.wait_for(reader.read(65_536), 30)
            assert piece, "the stream ended without the answer"
            text = text[-100_000:] + piece

    values = [
        json.loads(line[6:])["params"]["progress"] for line in text.splitlines() if b"notifications/p" in line[:70]
    ]
    assert values == sorted(set(values))
    assert values[-1] == steps - 1
    assert desk.metrics.messages_replaced._value.get() > steps / 2


POINTS: Final = ("half-a-head", "half-a-body", "whole-request", "first-comment", "first-progress", "many-progress")


@pytest.mark.requirement("http/close-cancels", "http/close-stops-work", "cancel/disconnect", "cancel/races")
@pytest.mark.parametrize("abrupt", [True, False], ids=["reset", "closed"])
@pytest.mark.parametrize("point", POINTS)
async def test_a_client_that_leaves_at_any_point_leavesat_once_behind(
    wire: Wire, desk: Desk, point: str, abrupt: bool
) -> None:
    async def work(exchange: Exchange) -> Result:
        exchange.outbox.begin()
        step = 0
        while True:
            exchange.progress.report(step)
            await exchange.outbox.sent("progress")
            step += 1

    desk.work = work
    request = posted(wire, "tools/call", CALL, meta=TOKEN)
    sent = {"half-a-head": request[:40], "half-a-body": request[:-20]}.get(point, request)
    async with connection(wire) as (reader, writer):
        writer.write(sent)
        await writer.drain()
        match point:
            case "first-comment":
                await reader.readuntil(b": ")
            case "first-progress":
                await reader.readuntil(b"notifications/progress")
            case "many-progress":
                for _ in range(50):
                    await reader.readuntil(b"notifications/progress")
            case _:
                pass
        if abrupt:
            writer.transport.abort()

    await all_is_quiet(desk)
    assert set(desk.ended) <= {"cancelled"}
    desk.work = at_once
    assert (await wire.call("tools/call", CALL)).result["content"] == DONE["content"]


@pytest.mark.requirement("cancel/races")
@pytest.mark.parametrize("number", range(20))
async def test_a_client_that_leaves_while_its_answer_is_written_harms_nobody(
    wire: Wire, desk: Desk, number: int
) -> None:
    async def work(exchange: Exchange) -> Result:
        exchange.outbox.begin()
        for _ in range(number):
            await asyncio.sleep(0)
        return {**DONE, "content": [{"type": "text", "text": "x" * 1_000_000}]}

    desk.work = work
    async with connection(wire, receive_buffer=4096) as (reader, writer):
        writer.write(posted(wire, "tools/call", CALL))
        await reader.readuntil(b"begun")
        writer.transport.abort()

    await all_is_quiet(desk)


@pytest.mark.requirement("http/no-server-requests", "base/no-server-initiated")
async def test_a_question_is_a_result_and_never_a_request_on_the_stream(wire: Wire, desk: Desk) -> None:
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}

    async def work(exchange: Exchange) -> Result:
        exchange.progress.report(1)
        await exchange.ask({"q": InputRequest(method="elicitation/create", params=form)})
        return DONE

    desk.work = work
    answer = await wire.call("tools/call", CALL, meta=TOKEN, capabilities={"elicitation": {}})

    assert answer.result["resultType"] == "input_required"
    assert set(answer.result["inputRequests"]) == {"q"}
    assert [each["method"] for each in answer.before] == ["notifications/progress"]


@pytest.mark.requirement("logging/only-on-request", "logging/bad-level")
async def test_log_messages_come_at_the_level_that_was_asked_for_and_else_not(wire: Wire, desk: Desk) -> None:
    async def work(exchange: Exchange) -> Result:
        for level in ("debug", "warning", "emergency"):
            await exchange.log(level, {"at": level})
        return DONE

    desk.work = work
    level = "io.modelcontextprotocol/logLevel"
    told = {}
    for asked in (None, "debug", "warning", "emergency"):
        answer = await wire.call("tools/call", CALL, meta={} if asked is None else {level: asked})
        told[asked] = [each["level"] for each in answer.told("notifications/message")]

    assert told == {
        None: [],
        "debug": ["debug", "warning", "emergency"],
        "warning": ["warning", "emergency"],
        "emergency": ["emergency"],
    }
    wrong: Any
    for wrong in ("DEBUG", "trace", 3, [], ""):
        assert (await wire.call("tools/call", CALL, meta={level: wrong})).error == (200, -32602)


@pytest.mark.requirement("logging/own-stream", "http/stream-related")
async def test_a_log_message_is_on_the_stream_of_its_own_request_alone(wire: Wire, desk: Desk) -> None:
    both, meeting = 0, asyncio.Event()

    async def work(exchange: Exchange) -> Result:
        nonlocal both
        both += 1
        if both == 2:
            meeting.set()
        await meeting.wait()
        await exchange.log("error", {"of": exchange.id})
        return DONE

    desk.work = work
    level = {"io.modelcontextprotocol/logLevel": "debug"}
    answers = await asyncio.gather(
        *(wire.call("tools/call", CALL, meta=meta, message_id=number) for number, meta in ((1, level), (2, {})))
    )

    assert [answer.told("notifications/message") for answer in answers] == [
        [{"level": "error", "data": {"of": "1"}}],
        [],
    ]


@pytest.mark.requirement("http/keep-alive", "failures/f3-16")
async def test_a_silent_stream_says_now_and_then_that_it_lives(
    wire: Wire, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SILENCE_SECONDS <= 25
    defaults = EventStream.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "silence_seconds", 0.01)
    enough = asyncio.Event()

    async def work(exchange: Exchange) -> Result:
        exchange.outbox.begin()
        await enough.wait()
        return DONE

    desk.work = work
    async with connection(wire) as (reader, writer):
        writer.write(posted(wire, "tools/call", CALL))
        for _ in range(3):
            await reader.readuntil(b"\n: ")
        enough.set()
        await reader.readuntil(b"data: ")
