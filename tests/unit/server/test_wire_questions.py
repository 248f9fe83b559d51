"""Questions in results, and retries that bring anything but what was asked for (multi round-trip requests)."""

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Final

import aiohttp
import pytest

from mcptasks_server.exchange import Exchange, InputRequest, Result
from mcptasks_server.signing import Signer
from mcptasks_server.testing.desk import DONE, CallersByHeader, Desk
from mcptasks_server.testing.wire import Answer, Wire

FORM: Final = {
    "mode": "form",
    "message": "Who?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer"}},
        "required": ["name"],
    },
}
SAMPLE: Final = {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 5}
ELICITATION: Final = InputRequest(method="elicitation/create", params=FORM)
ABLE: Final[dict[str, Any]] = {"elicitation": {}, "sampling": {}, "roots": {}}
ANNA: Final = {"action": "accept", "content": {"name": "Anna"}}
CALL: Final = {"name": "greet", "arguments": {"a": 1, "b": [1.0, "x"]}}


@pytest.fixture
def desk() -> Desk:
    """Two callers, whose tool asks for a name."""
    desk = Desk(callers=CallersByHeader("anna", "bert"))
    desk.work = asks_a_name
    return desk


@pytest.fixture
async def replicas(desk: Desk) -> AsyncIterator[tuple[Wire, Wire]]:
    """Two replicas with the same keys, as anna sees them."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        urls = [await stack.enter_async_context(desk.serving()) for _ in range(2)]
        first, second = (Wire(session, url).as_caller("anna-token") for url in urls)
        yield first, second


@pytest.fixture
def wire(replicas: tuple[Wire, Wire]) -> Wire:
    """One of them."""
    return replicas[0]


async def asks_a_name(exchange: Exchange) -> Result:
    answers = await exchange.ask({"who": ELICITATION})
    return {**DONE, "content": [{"type": "text", "text": json.dumps(answers["who"])}]}


async def call(wire: Wire, *, of: str = "tools/call", params: Mapping[str, Any] = CALL, **more: Any) -> Answer:
    return await wire.call(of, {**params, **more}, capabilities=ABLE)


async def asked(wire: Wire, **more: Any) -> dict[str, Any]:
    result = (await call(wire, **more)).result
    assert result["resultType"] == "input_required", result
    return result


@pytest.mark.requirement("mrtr/asks-by-result", "mrtr/never-empty", "mrtr/keys", "cache/not-on-input-required")
async def test_a_call_that_asks_is_answered_by_its_questions_and_then_by_its_result(wire: Wire) -> None:
    first = await asked(wire)
    second = await call(wire, inputResponses={"who": ANNA}, requestState=first["requestState"])

    assert first["inputRequests"] == {"who": {"method": "elicitation/create", "params": FORM}}
    assert second.result["resultType"] == "complete"
    assert json.loads(second.result["content"][0]["text"]) == ANNA


@pytest.mark.requirement("base/any-connection", "mrtr/state-verified")
async def test_a_retry_may_come_to_any_replica_any_number_of_times(replicas: tuple[Wire, Wire]) -> None:
    here, there = replicas
    state = (await asked(here))["requestState"]

    for wire in (there, here, there):
        answer = await call(wire, inputResponses={"who": ANNA}, requestState=state)

        assert answer.result["resultType"] == "complete"


def changed(state: str) -> list[str]:
    """Ways to change a signed text."""
    body, _, signature = state.rpartition(".")
    padded = body + "=" * (-len(body) % 4)
    other = base64.urlsafe_b64encode(b'{"caller":"bert"}').decode().rstrip("=")
    return [
        *(state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :] for at in range(0, len(state), 17)),
        state + "-TAMPERED",
        state[:-1],
        state[1:],
        state.upper(),
        f"{other}.{signature}",
        f"{padded}.{signature}=",
        body,
        "." + signature,
        body + ".",
        "",
        ".",
        "null",
        "{}",
        "x" * 100_000,
        "ä\U0001f600\u0000",
        state + state,
    ]


@pytest.mark.requirement("mrtr/state-verified")
async def test_a_state_that_was_changed_is_an_error_and_nothing_runs(wire: Wire, desk: Desk) -> None:
    state = (await asked(wire))["requestState"]
    desk.ended.clear()

    for wrong in changed(state):
        answer = await call(wire, inputResponses={"who": ANNA}, requestState=wrong)

        assert answer.error == (200, -32602), wrong
        assert "requestState" in answer.message
    assert desk.ended == []


@pytest.mark.requirement("mrtr/state-verified")
async def test_a_state_is_one_text_and_no_other_that_decodes_to_the_same(wire: Wire) -> None:
    state = (await asked(wire))["requestState"]

    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".replace(state[-1], ""):
        answer = await call(wire, inputResponses={"who": ANNA}, requestState=state[:-1] + last)

        assert answer.error == (200, -32602), last


@pytest.mark.requirement("mrtr/state-verified", "mrtr/validated")
@pytest.mark.parametrize("state", [7, [], {}, True, 1.5])
async def test_a_state_that_is_no_text_is_an_error(wire: Wire, desk: Desk, state: Any) -> None:
    answer = await call(wire, inputResponses={"who": ANNA}, requestState=state)

    assert answer.error == (200, -32602)
    assert desk.ended == []


@pytest.mark.requirement("mrtr/state-verified")
async def test_a_state_of_other_keys_is_an_error(wire: Wire) -> None:
    elsewhere = Desk(callers=CallersByHeader("anna"), signer=Signer.ephemeral())
    elsewhere.work = asks_a_name
    async with elsewhere.serving() as url, aiohttp.ClientSession() as session:
        state = (await asked(Wire(session, url).as_caller("anna-token")))["requestState"]

    assert (await call(wire, inputResponses={"who": ANNA}, requestState=state)).error == (200, -32602)


@pytest.mark.requirement("mrtr/state-caller", "elicitation/bound")
async def test_a_state_of_another_caller_is_an_error_that_does_not_tell_it_from_a_forged_one(wire: Wire) -> None:
    state = (await asked(wire))["requestState"]
    bert = wire.as_caller("bert-token")

    foreign = await call(bert, inputResponses={"who": ANNA}, requestState=state)
    forged = await call(bert, inputResponses={"who": ANNA}, requestState=state + "x")

    assert foreign.error == (200, -32602)
    assert foreign.message == forged.message


@pytest.mark.requirement("mrtr/state-expiry")
async def test_a_state_whose_time_is_over_is_an_error_that_says_so(wire: Wire, desk: Desk) -> None:
    state = (await asked(wire))["requestState"]
    desk.now += timedelta(days=1)

    answer = await call(wire, inputResponses={"who": ANNA}, requestState=state)

    assert answer.error == (200, -32602)
    assert "time is over" in answer.message


@pytest.mark.requirement("mrtr/state-request")
@pytest.mark.parametrize(
    "params",
    [
        {**CALL, "name": "other"},
        {**CALL, "arguments": {"a": 2, "b": [1.0, "x"]}},
        {**CALL, "arguments": {"a": 1}},
        {"name": "greet"},
        {**CALL, "arguments": {"a": 1, "b": [1.0, "x"], "c": None}},
    ],
)
async def test_a_state_of_another_call_is_an_error(wire: Wire, desk: Desk, params: dict[str, Any]) -> None:
    state = (await asked(wire))["requestState"]
    desk.ended.clear()

    answer = await call(wire, params=params, inputResponses={"who": ANNA}, requestState=state)

    assert answer.error == (200, -32602)
    assert "another request" in answer.message
    assert desk.ended == []


@pytest.mark.requirement("mrtr/state-request")
async def test_a_state_of_another_method_is_an_error(wire: Wire) -> None:
    prompt = {"name": "greet"}
    state = (await asked(wire, params=prompt))["requestState"]

    answer = await call(wire, of="prompts/get", params=prompt, inputResponses={"who": ANNA}, requestState=state)

    assert answer.error == (200, -32602)


@pytest.mark.requirement("ours/retry-safe")
async def test_the_same_call_in_other_letters_is_the_same_call(wire: Wire) -> None:
    state = (await asked(wire))["requestState"]
    other = {"arguments": dict(reversed(CALL["arguments"].items())), "name": "greet"}  # type: ignore[attr-defined]

    answer = await call(wire, params=other, inputResponses={"who": ANNA}, requestState=state)

    assert answer.result["resultType"] == "complete"


@pytest.mark.requirement("mrtr/validated")
@pytest.mark.parametrize("responses", [None, [], "who", 7, True, ""])
async def test_answers_that_are_no_object_are_an_error(wire: Wire, responses: Any) -> None:
    answer = await call(wire, inputResponses=responses)

    assert answer.error == (200, -32602)
    assert "inputResponses" in answer.message


@pytest.mark.requirement("mrtr/asks-again")
async def test_no_answers_at_all_are_asked_for_again(wire: Wire) -> None:
    state = (await asked(wire))["requestState"]

    again = await asked(wire, inputResponses={}, requestState=state)

    assert set(again["inputRequests"]) == {"who"}


@pytest.mark.requirement("mrtr/asks-again", "elicitation/answers-validated")
@pytest.mark.parametrize(
    "response",
    [
        None,
        12345,
        "Anna",
        [],
        {},
        {"action": "maybe"},
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"name": 7}},
        {"action": "accept", "content": {"name": ""}},
        {"action": "accept", "content": {"name": "Anna", "age": 1.5}},
        {"action": "accept", "content": {"name": ["Anna"]}},
        {"method": "elicitation/create"},
    ],
)
async def test_an_answer_of_the_wrong_shape_is_asked_again(wire: Wire, response: Any) -> None:
    state = (await asked(wire))["requestState"]

    again = await asked(wire, inputResponses={"who": response}, requestState=state)

    assert set(again["inputRequests"]) == {"who"}


@pytest.mark.requirement("elicitation/declined")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_no_is_an_answer(wire: Wire, action: str) -> None:
    state = (await asked(wire))["requestState"]

    answer = await call(wire, inputResponses={"who": {"action": action}}, requestState=state)

    assert json.loads(answer.result["content"][0]["text"]) == {"action": action}


@pytest.mark.requirement("mrtr/unknown-keys")
async def test_answers_to_what_was_not_asked_are_passed_over(wire: Wire) -> None:
    state = (await asked(wire))["requestState"]
    more = {"who": ANNA, "unknown": 7, "": None, "x" * 1000: {"action": "accept", "content": {"name": "Eve"}}}

    answer = await call(wire, inputResponses=more, requestState=state)

    assert json.loads(answer.result["content"][0]["text"]) == ANNA


@pytest.mark.requirement("mrtr/asks-again")
async def test_of_several_questions_those_without_an_answer_are_asked_again_and_the_others_kept(
    wire: Wire, desk: Desk
) -> None:
    async def three(exchange: Exchange) -> Result:
        requests = dict.fromkeys(("one", "two", "three"), ELICITATION)
        return {**DONE, "structuredContent": dict(await exchange.ask(requests))}

    desk.work = three
    state = (await asked(wire))["requestState"]
    left = []
    for key in ("two", "three"):
        again = await asked(wire, inputResponses={key: ANNA}, requestState=state)
        state = again["requestState"]
        left.append(set(again["inputRequests"]))
    done = await call(wire, inputResponses={"one": {"action": "decline"}}, requestState=state)

    assert left == [{"one", "three"}, {"one"}]
    assert done.result["structuredContent"] == {"one": {"action": "decline"}, "two": ANNA, "three": ANNA}


@pytest.mark.requirement("mrtr/state-verified")
async def test_an_answer_cannot_be_changed_by_a_later_round_that_was_not_asked_for_it(wire: Wire, desk: Desk) -> None:
    async def in_turn(exchange: Exchange) -> Result:
        first = await exchange.ask({"one": ELICITATION})
        second = await exchange.ask({"two": ELICITATION})
        return {**DONE, "structuredContent": {**first, **second}}

    desk.work = in_turn
    state = (await asked(wire))["requestState"]
    state = (await asked(wire, inputResponses={"one": ANNA}, requestState=state))["requestState"]
    eve = {"action": "accept", "content": {"name": "Eve"}}

    done = await call(wire, inputResponses={"one": eve, "two": ANNA}, requestState=state)

    assert done.result["structuredContent"] == {"one": ANNA, "two": ANNA}


@pytest.mark.requirement("mrtr/declared-only", "elicitation/modes", "base/undeclared-capability")
@pytest.mark.parametrize(
    ("request_", "capabilities", "is_asked"),
    [
        (ELICITATION, {"elicitation": {}}, True),
        (ELICITATION, {"elicitation": {"form": {}}}, True),
        (ELICITATION, {"elicitation": {"url": {}}}, False),
        (ELICITATION, {"elicitation": None}, False),
        (ELICITATION, {"elicitation": []}, False),
        (ELICITATION, {"sampling": {}, "roots": {}}, False),
        (ELICITATION, {}, False),
        (InputRequest(method="sampling/createMessage", params=SAMPLE), {"sampling": {}}, True),
        (InputRequest(method="sampling/createMessage", params=SAMPLE), {"elicitation": {}}, False),
        (InputRequest(method="roots/list"), {"roots": {}}, True),
        (InputRequest(method="roots/list"), {"elicitation": {}}, False),
    ],
)
async def test_only_what_the_client_declared_in_this_very_request_is_asked(
    wire: Wire, desk: Desk, request_: InputRequest, capabilities: dict[str, Any], is_asked: bool
) -> None:
    async def work(exchange: Exchange) -> Result:
        await exchange.ask({"q": request_})
        return DONE

    desk.work = work
    await wire.call("tools/call", CALL, capabilities=ABLE)  # what it declared before counts for nothing

    answer = await wire.call("tools/call", CALL, capabilities=capabilities)

    if is_asked:
        assert answer.result["inputRequests"]["q"]["method"] == request_.method
    else:
        assert answer.error == (400, -32021)


@pytest.mark.requirement("mrtr/kinds")
async def test_elicitation_sampling_and_roots_may_be_asked_for_together(wire: Wire, desk: Desk) -> None:
    async def work(exchange: Exchange) -> Result:
        requests = {
            "form": ELICITATION,
            "model": InputRequest(method="sampling/createMessage", params=SAMPLE),
            "roots": InputRequest(method="roots/list"),
        }
        return {**DONE, "structuredContent": dict(await exchange.ask(requests))}

    desk.work = work
    state = (await asked(wire))["requestState"]
    said = {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"}
    right = {"form": ANNA, "model": said, "roots": {"roots": [{"uri": "file:///x"}]}}
    wrong = {"model": {"role": "nobody"}, "roots": {"roots": [{"uri": 7}]}}

    again = await asked(wire, inputResponses={**right, **wrong}, requestState=state)
    done = await call(wire, inputResponses=right, requestState=again["requestState"])

    assert set(again["inputRequests"]) == {"model", "roots"}
    assert done.result["structuredContent"] == right


@pytest.mark.requirement("mrtr/only-here")
async def test_a_method_whose_result_cannot_ask_never_asks(wire: Wire, desk: Desk) -> None:
    answer = await wire.call("tools/list", {}, capabilities=ABLE)
    with_state = await wire.call("tools/list", {"requestState": "x", "inputResponses": []}, capabilities=ABLE)

    assert answer.error[1] == with_state.error[1] == -32603
    assert desk.ended == ["RpcError", "RpcError"]


@pytest.mark.requirement("mrtr/no-assumptions")
async def test_clients_that_never_come_back_hold_nothing(wire: Wire, desk: Desk) -> None:
    await asyncio.gather(*(asked(wire) for _ in range(50)))

    assert desk.running == 0
    assert desk.open_streams == 0


@pytest.mark.requirement("ours/retry-safe")
async def test_every_state_that_is_given_differs_and_is_safe_in_any_text(wire: Wire, desk: Desk) -> None:
    states = []
    for _ in range(3):
        states.append((await asked(wire))["requestState"])
        desk.now += timedelta(seconds=1)

    assert len(set(states)) == 3
    assert all(character.isalnum() or character in "-_." for character in itertools.chain(*states))
