"""Inline tools that ask their legacy client: on the call's own stream, answered by a POST of its own."""

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcptasks_devcluster.eventually import eventually
from mcptasks_server.exchange import Exchange, InputRequest
from mcptasks_server.legacy import exchange as legacy_exchange
from mcptasks_server.testing.legacy_wire import LegacyWire
from mcptasks_server.testing.wire import Wire

from .conftest import ELICIT, ROOTS, SAMPLE, Inline

CALL = {"name": "inline"}
ACCEPT = {"action": "accept", "content": {"sure": True}}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "m"}


def asks(inline: Inline, requests: Mapping[str, InputRequest]) -> list[Any]:
    """Have the tool ask; gives what it is answered."""
    answers: list[Any] = []

    async def run(exchange: Exchange, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answers.append(await exchange.ask(requests))
        return {"content": [{"type": "text", "text": "done"}]}

    inline.run = run
    return answers


@pytest.mark.parametrize("action", [ACCEPT, {"action": "decline"}, {"action": "cancel"}])
async def test_an_answer_reaches_the_tool_as_it_was_given(
    client: LegacyWire, inline: Inline, action: dict[str, Any]
) -> None:
    answers = asks(inline, {"q": ELICIT})

    async with client.stream("tools/call", CALL) as stream:
        asked = await stream.until("elicitation/create")
        accepted = await client.respond(asked["id"], action)
        answer = await stream.answer()

    assert asked["params"] == {"message": "Sure?", "requestedSchema": ELICIT.params["requestedSchema"]}  # type: ignore[index]
    assert (accepted.status, accepted.text) == (202, "")
    assert answer.result["content"][0]["text"] == "done"
    assert answers == [{"q": action}]


async def test_all_that_is_asked_at_once_is_sent_at_once_and_may_be_answered_in_any_order(
    client: LegacyWire, inline: Inline
) -> None:
    answers = asks(inline, {"form": ELICIT, "model": SAMPLE, "folders": ROOTS})

    async with client.stream("tools/call", CALL) as stream:
        asked = {message["method"]: message for message in [await stream.next() for _ in range(3)] if message}
        await client.respond(asked["roots/list"]["id"], {"roots": [{"uri": "file:///home"}]})
        await client.respond(asked["sampling/createMessage"]["id"], SAMPLED)
        await client.respond(asked["elicitation/create"]["id"], ACCEPT)
        await stream.answer()

    assert len({message["id"] for message in asked.values()}) == 3
    assert answers == [{"form": ACCEPT, "model": SAMPLED, "folders": {"roots": [{"uri": "file:///home"}]}}]


async def test_a_form_that_the_client_could_not_show_is_cancelled(client: LegacyWire, inline: Inline) -> None:
    answers = asks(inline, {"q": ELICIT})

    async with client.stream("tools/call", CALL) as stream:
        asked = await stream.until("elicitation/create")
        await client.respond(asked["id"], error={"code": -32603, "message": "no screen"})
        await stream.answer()

    assert answers == [{"q": {"action": "cancel"}}]


async def test_sampling_that_fails_at_the_client_fails_the_tool(client: LegacyWire, inline: Inline) -> None:
    asks(inline, {"m": SAMPLE})

    async with client.stream("tools/call", CALL) as stream:
        asked = await stream.until("sampling/createMessage")
        await client.respond(asked["id"], error={"code": -1, "message": "User rejected sampling request"})
        answer = await stream.answer()

    assert answer.error == (200, -32603)
    assert "User rejected" in answer.message


async def test_an_answer_that_is_none_is_asked_for_again(client: LegacyWire, inline: Inline) -> None:
    answers = asks(inline, {"q": ELICIT})

    async with client.stream("tools/call", CALL) as stream:
        first = await stream.until("elicitation/create")
        await client.respond(first["id"], {"action": "accept", "content": {"sure": "perhaps"}})
        second = await stream.until("elicitation/create")
        await client.respond(second["id"], ACCEPT)
        await stream.answer()

    assert first["id"] != second["id"]
    assert answers == [{"q": ACCEPT}]


async def test_a_client_that_never_answers_what_is_asked_is_given_up(client: LegacyWire, inline: Inline) -> None:
    asks(inline, {"q": ELICIT})

    async with client.stream("tools/call", CALL) as stream:
        while (message := await stream.next()) is not None and message.get("method") == "elicitation/create":
            await client.respond(message["id"], {"action": "whatever"})
        answer = await stream.answer()

    assert [each["method"] for each in answer.before] == ["elicitation/create"] * 4 + ["notifications/cancelled"]
    assert answer.error == (200, -32602)


async def test_a_client_that_is_silent_is_given_up_in_time_and_told_so(
    client: LegacyWire, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legacy_exchange, "ASK_SECONDS", 0.05)
    asks(inline, {"q": ELICIT})

    answer = await client.call("tools/call", CALL)

    asked, cancelled = answer.before
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == asked["id"]
    assert answer.error == (200, -32603)


@pytest.mark.requirement("legacy/negotiated-only", "legacy/elicitation-modes")
@pytest.mark.parametrize(
    ("request_", "capabilities"),
    [
        (ELICIT, {}),
        (ELICIT, {"elicitation": {"url": {}}, "sampling": {}}),
        (SAMPLE, {"elicitation": {}}),
        (ROOTS, {"elicitation": {}, "sampling": {}}),
    ],
)
async def test_a_client_is_never_asked_what_it_has_not_declared(
    replicas: tuple[Wire, Wire], inline: Inline, request_: InputRequest, capabilities: dict[str, Any]
) -> None:
    client = await LegacyWire.connected(replicas[0], capabilities=capabilities)
    asks(inline, {"q": request_})

    answer = await client.call("tools/call", CALL)

    assert answer.error == (200, -32600)
    assert "initialize" in answer.message
    assert answer.before == ()


async def test_a_client_that_takes_no_stream_is_never_asked(client: LegacyWire, inline: Inline) -> None:
    asks(inline, {"q": ELICIT})

    answer = await client.call("tools/call", CALL, Accept="application/json")

    assert answer.error == (200, -32600)


@pytest.mark.requirement("legacy/accepted-202")
async def test_an_answer_to_what_nobody_has_asked_is_accepted_and_passed_over(
    client: LegacyWire, elsewhere: LegacyWire, inline: Inline
) -> None:
    answers = asks(inline, {"q": ELICIT})

    async with client.stream("tools/call", CALL) as stream:
        asked = await stream.until("elicitation/create")
        for request_id in (1, "x", asked["id"] + "x"):
            assert (await client.respond(request_id, ACCEPT)).status == 202
        assert (await elsewhere.respond(asked["id"], ACCEPT)).status == 202  # the other replica waits for nothing
        await client.respond(asked["id"], ACCEPT)
        await stream.answer()
        assert (await client.respond(asked["id"], {"action": "decline"})).status == 202  # late

    assert answers == [{"q": ACCEPT}]


async def test_an_answer_from_another_session_is_passed_over(
    client: LegacyWire, replicas: tuple[Wire, Wire], inline: Inline
) -> None:
    answers = asks(inline, {"q": ELICIT})
    another = await LegacyWire.connected(replicas[0])

    async with client.stream("tools/call", CALL) as stream:
        asked = await stream.until("elicitation/create")
        assert (await another.respond(asked["id"], {"action": "decline"})).status == 202
        await client.respond(asked["id"], ACCEPT)
        await stream.answer()

    assert answers == [{"q": ACCEPT}]


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc":"2.0","id":"x"}',
        '{"jsonrpc":"2.0","result":{}}',
        '{"jsonrpc":"2.0","id":"x","result":{},"error":{}}',
        '{"jsonrpc":"2.0","id":"x","result":[]}',
        '{"jsonrpc":"2.0","id":null,"result":{}}',
    ],
)
async def test_a_malformed_response_is_a_bad_request(
    client: LegacyWire, replicas: tuple[Wire, Wire], body: str
) -> None:
    assert (await replicas[0].post(body, headers=client.headers())).status == 400


@asynccontextmanager
async def waiting_tool(client: LegacyWire, inline: Inline) -> Any:
    """A call whose tool waits until it is stopped."""
    began = asyncio.Event()

    async def run(exchange: Exchange, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        exchange.outbox.begin()
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    inline.run = run
    async with client.stream("tools/call", CALL, message_id="the call") as stream:
        await began.wait()
        yield stream


@pytest.mark.requirement("legacy/cancelled")
async def test_a_withdrawn_call_gets_no_answer(client: LegacyWire, inline: Inline) -> None:
    async with waiting_tool(client, inline) as stream:
        assert (await client.cancel("the call")).status == 202

        assert await stream.next() is None
    assert isinstance(inline.ended[0], asyncio.CancelledError)


@pytest.mark.requirement("legacy/cancelled")
async def test_a_withdrawn_call_waits_for_no_answer_of_its_client(client: LegacyWire, inline: Inline) -> None:
    asks(inline, {"q": ELICIT})

    async with client.stream("tools/call", CALL, message_id=7) as stream:
        await stream.until("elicitation/create")
        await client.cancel(7)
        assert await stream.next() is None

    async def has_ended() -> bool:
        return bool(inline.ended)

    await eventually(has_ended, what="the tool has ended")
    assert isinstance(inline.ended[0], asyncio.CancelledError)


@pytest.mark.requirement("legacy/cancelled-races", "legacy/initialize-not-cancelled")
@pytest.mark.parametrize("params", [None, {}, {"requestId": None}, {"requestId": 99}, {"requestId": True}, {"x": 1}])
async def test_a_cancellation_of_what_is_not_there_does_no_harm(client: LegacyWire, params: dict[str, Any]) -> None:
    assert (await client.notify("notifications/cancelled", params)).status == 202
    assert (await client.call("ping")).result == {}


@pytest.mark.requirement("legacy/cancelled-races")
async def test_ids_of_another_type_or_session_withdraw_nothing(
    client: LegacyWire, replicas: tuple[Wire, Wire], inline: Inline
) -> None:
    asks(inline, {"q": ELICIT})
    another = await LegacyWire.connected(replicas[0])

    async with client.stream("tools/call", CALL, message_id=7) as stream:
        asked = await stream.until("elicitation/create")
        await client.cancel("7")
        await another.cancel(7)
        await client.respond(asked["id"], ACCEPT)
        answer = await stream.answer()

    assert answer.result["content"][0]["text"] == "done"


@pytest.mark.requirement("legacy/disconnect")
async def test_a_client_that_goes_away_has_cancelled_nothing(client: LegacyWire, inline: Inline) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def run(exchange: Exchange, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        exchange.outbox.begin()
        began.set()
        await go_on.wait()
        return {"content": []}

    inline.run = run
    async with client.stream("tools/call", CALL):
        await began.wait()
    await client.call("ping")
    go_on.set()

    async def has_ended() -> bool:
        return bool(inline.ended)

    await eventually(has_ended, what="the tool has ended")
    assert inline.ended == [None]


async def test_log_messages_come_from_the_level_that_was_asked_for(client: LegacyWire, inline: Inline) -> None:
    async def run(exchange: Exchange, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        for level in ("debug", "info", "error"):
            await exchange.log(level, {"level": level}, logger="tool")
        return {"content": []}

    inline.run = run
    told = []
    for level in (None, "debug", "critical"):
        if level is not None:
            await client.call("logging/setLevel", {"level": level})
        answer = await client.call("tools/call", CALL)
        told.append([each["level"] for each in answer.told("notifications/message")])

    assert told == [["info", "error"], ["debug", "info", "error"], []]


@pytest.mark.requirement("legacy/progress-tokens", "legacy/progress-increases", "legacy/progress-stops")
@pytest.mark.parametrize("token", ["a", "7", 7, 2**60])
async def test_progress_comes_under_the_clients_token_and_rises(
    client: LegacyWire, inline: Inline, token: str | int
) -> None:
    async def run(exchange: Exchange, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        for value in (1, 1, 0.5, 2):
            exchange.progress.report(value, total=2)
            await exchange.outbox.sent("progress")
        return {"content": []}

    inline.run = run
    answer = await client.call("tools/call", {**CALL, "_meta": {"progressToken": token}})

    told = answer.told("notifications/progress")
    assert [each["progress"] for each in told] == [1, 2]
    assert [each["progressToken"] for each in told] == [token, token]


async def test_a_result_has_nothing_of_the_newer_wire(client: LegacyWire, inline: Inline) -> None:
    async def run(_exchange: Exchange, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"content": [], "resultType": "complete"}

    inline.run = run

    assert (await client.call("tools/call", CALL)).result == {"content": []}
