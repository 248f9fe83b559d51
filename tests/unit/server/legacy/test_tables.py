"""What a replica knows of its own legacy clients: levels, requests under way, streams, and who is asked what."""

import asyncio

import pytest

from mcptasks_server.errors import RefusedError
from mcptasks_server.exchange import LOG_LEVELS
from mcptasks_server.jsonrpc import Response
from mcptasks_server.legacy import loglevels, server_requests
from mcptasks_server.legacy.loglevels import LogLevels
from mcptasks_server.legacy.result_streams import ResultStreams
from mcptasks_server.legacy.server_requests import Asked, InlineRequest, ServerRequests, TaskQuestion
from mcptasks_server.legacy.underway import UnderWay, WithdrawnError
from mcptasks_server.signing import Signer

NOW = 1_800_000_000.0


def test_a_session_gets_what_is_at_or_above_its_level_and_info_unless_it_says() -> None:
    levels = LogLevels()
    levels.set("quiet", "error")
    levels.set("loud", "debug")

    assert [level for level in LOG_LEVELS if levels.wants("quiet", level)] == list(LOG_LEVELS[4:])
    assert all(levels.wants("loud", level) for level in LOG_LEVELS)
    assert [level for level in LOG_LEVELS if not levels.wants("another", level)] == ["debug"]


def test_the_oldest_level_is_forgotten_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loglevels, "MAX_SESSIONS", 2)
    levels = LogLevels()
    for session in ("one", "two", "three"):
        levels.set(session, "emergency")

    assert [session for session in ("one", "two", "three") if levels.wants(session, "info")] == ["one"]


async def test_a_withdrawn_request_stops_and_leaves_nothing_behind() -> None:
    under_way, began = UnderWay(), asyncio.Event()

    async def work() -> None:
        async with under_way.request("key"):
            began.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(work())
    await began.wait()

    assert (under_way.withdraw("another"), under_way.withdraw("key"), under_way.withdraw("key")) == (False, True, True)
    with pytest.raises(WithdrawnError):
        await running
    assert len(under_way) == 0


async def test_a_request_that_ends_by_itself_is_not_under_way_any_more() -> None:
    under_way = UnderWay()
    with pytest.raises(TimeoutError, match="its own"):
        async with under_way.request("key"):
            raise TimeoutError("its own")

    assert not under_way.withdraw("key")


async def test_a_client_that_goes_away_has_withdrawn_nothing() -> None:
    under_way, began = UnderWay(), asyncio.Event()

    async def work() -> None:
        async with under_way.request("key"):
            began.set()
            await asyncio.Event().wait()

    running = asyncio.create_task(work())
    await began.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(under_way) == 0


def test_of_two_streams_of_a_task_the_newer_one_speaks() -> None:
    streams = ResultStreams()
    with streams.newest("mt-a") as first, streams.newest("mt-b") as other:
        with streams.newest("mt-a") as second:
            assert (first.speaks, second.speaks, other.speaks) == (False, True, True)
        assert len(streams) == 1
    assert len(streams) == 0


@pytest.mark.requirement("legacy/elicitation-bound")
def test_a_questions_id_names_task_and_question_at_every_replica_for_its_own_session_alone() -> None:
    keys = [b"k" * 32]
    here, there = ServerRequests(Signer(keys)), ServerRequests(Signer(keys))
    question = TaskQuestion(task_id="mt-" + "a" * 32, key="approve")

    ids = [here.question_id(question, session="mine", asked=Asked()) for _ in range(2)]

    assert ids[0] != ids[1]  # an id is never used twice
    assert there.named_by(ids[0], session="mine", now=NOW) == question
    assert there.named_by(ids[0], session="another", now=NOW) is None
    assert ServerRequests(Signer.ephemeral()).named_by(ids[0], session="mine", now=NOW) is None


@pytest.mark.parametrize("request_id", [7, "x", "", True, "a.b.c"])
def test_an_id_that_was_not_given_names_nothing(request_id: object) -> None:
    assert ServerRequests(Signer.ephemeral()).named_by(request_id, session="s", now=NOW) is None


async def test_an_inline_request_is_answered_once_and_only_here() -> None:
    keys = [b"k" * 32]
    here, there = ServerRequests(Signer(keys)), ServerRequests(Signer(keys))
    response = Response(id="x", result={"roots": []})
    with here.expecting(session="s") as (request_id, answer):
        named = there.named_by(request_id, session="s", now=NOW)
        assert isinstance(named, InlineRequest)
        assert not there.resolve(named, response)
        assert here.resolve(named, response)
        assert not here.resolve(named, response)
        assert await answer is response

    assert not here.resolve(named, response)
    assert len(here) == 0


async def test_only_so_many_inline_requests_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_requests, "MAX_WAITING", 1)
    requests = ServerRequests(Signer.ephemeral())
    with (
        requests.expecting(session="s"),
        pytest.raises(RefusedError, match="try again"),
        requests.expecting(session="s"),
    ):
        pass


def test_a_question_is_put_once_on_a_stream_and_again_where_its_answer_was_none() -> None:
    requests, asked = ServerRequests(Signer.ephemeral()), Asked()
    request_id = requests.question_id(TaskQuestion(task_id="mt-a", key="q"), session="s", asked=asked)

    assert [asked.is_new("q"), asked.is_new("q")] == [True, False]
    requests.ask_again(request_id, "q")
    requests.ask_again("unknown", "q")
    assert [asked.is_new("q"), asked.is_new("q")] == [True, False]
