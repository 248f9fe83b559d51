"""A call that is sent again under its idempotency key is one call."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.names import is_task_id
from mcptasks_server.caller import Caller
from mcptasks_server.idempotency import identities
from mcptasks_server.signing import Signer
from mcptasks_server.testing import InMemoryTaskStore
from mcptasks_server.testing.contract import over
from mcptasks_server.testing.wire import Wire

FIELD: Final = "mcptasks.dev/idempotency-key"
KEY: Final = {FIELD: "one"}
OLD, NEW = b"o" * 32, b"n" * 32
WHO: Final = Caller(name="ann")


def _identity(signer: Signer, **changes: Any) -> Any:
    call: dict[str, Any] = {"caller": WHO, "tool": "add", "key": "k", "arguments": "{}", **changes}
    return identities(signer, **call)[0]


def test_a_name_is_a_task_id_and_depends_on_caller_tool_and_key() -> None:
    signer = Signer([NEW])
    found = [
        _identity(signer).name,
        _identity(signer, key="l").name,
        _identity(signer, tool="sub").name,
        _identity(signer, caller=Caller(name="bob")).name,
        _identity(Signer([OLD])).name,
    ]

    assert all(map(is_task_id, found))
    assert len(set(found)) == len(found)
    assert _identity(signer).name == found[0]


def test_equal_arguments_of_two_calls_have_nothing_in_common_that_anybody_could_see() -> None:
    """Else a secret could be guessed by calls of one's own."""
    signer = Signer([NEW])
    call = {"arguments": '{"pin": "0000"}'}
    calls = [_identity(signer, **call), _identity(signer, key="l", **call), _identity(signer, tool="sub", **call)]

    assert len({each.arguments_digest for each in calls}) == len(calls)


def test_what_an_older_key_made_is_looked_for_too() -> None:
    made = _identity(Signer([OLD]))
    rotated = identities(Signer([NEW, OLD]), caller=WHO, tool="add", key="k", arguments="{}")

    assert rotated[1] == made


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=4))
def test_spaces_and_the_order_of_arguments_do_not_matter(arguments: Mapping[str, Any]) -> None:

    signer = Signer([NEW])
    spaced = json.dumps(dict(reversed(list(arguments.items()))), indent=3)

    assert _identity(signer, arguments=json.dumps(arguments)) == _identity(signer, arguments=spaced)


@pytest.mark.requirement("failures/f3-13")
async def test_the_same_key_gives_the_same_task(wire: Wire, store: InMemoryTaskStore) -> None:
    params = {"name": "held", "arguments": {"n": 1}}
    ids = {(await wire.call("tools/call", params, meta=KEY)).result["taskId"] for _ in range(3)}

    assert len(ids) == 1
    assert len(store.created) == 1


async def test_another_key_or_tool_or_none_gives_another_task(wire: Wire, store: InMemoryTaskStore) -> None:
    for name, meta in (("held", KEY), ("held", {FIELD: "two"}), ("required", KEY), ("held", {}), ("held", {})):
        await wire.call("tools/call", {"name": name}, meta=meta)

    assert len(store.objects) == 5


async def test_other_arguments_under_the_same_key_are_refused(wire: Wire, store: InMemoryTaskStore) -> None:
    await wire.call("tools/call", {"name": "held", "arguments": {"n": 1}}, meta=KEY)

    answer = await wire.call("tools/call", {"name": "held", "arguments": {"n": 2}}, meta=KEY)

    assert answer.error[1] == -32602
    assert FIELD in answer.message
    assert len(store.created) == 1


@pytest.mark.parametrize("key", ["", "x" * 257, 7, True, [], {}])
async def test_a_key_of_another_shape_is_refused(wire: Wire, store: InMemoryTaskStore, key: Any) -> None:
    answer = await wire.call("tools/call", {"name": "held"}, meta={FIELD: key})

    assert answer.error[1] == -32602
    assert FIELD in answer.message
    assert store.objects == {}


async def test_a_task_that_is_over_gives_its_result_to_the_same_call(wire: Wire, store: InMemoryTaskStore) -> None:
    task_id = (await wire.call("tools/call", {"name": "held"}, meta=KEY)).result["taskId"]
    await store.write_status(task_id, over())

    handle = (await wire.call("tools/call", {"name": "held"}, meta=KEY)).result
    plain = (await wire.call("tools/call", {"name": "held"}, meta=KEY, capabilities={})).result

    assert (handle["taskId"], handle["status"]) == (task_id, "completed")
    assert plain["content"] == [{"type": "text", "text": "1.0"}]
    assert len(store.created) == 1


async def test_of_two_calls_at_once_one_creates_the_task(wire: Wire, store: InMemoryTaskStore) -> None:
    store.gate.clear()
    calls = [asyncio.create_task(wire.call("tools/call", {"name": "held"}, meta=KEY)) for _ in range(5)]
    await store.arrived.wait()
    store.gate.set()
    ids = {answer.result["taskId"] for answer in await asyncio.gather(*calls)}

    assert len(ids) == 1
    assert len(store.created) == 1


async def test_a_question_before_the_task_is_not_asked_again_once_the_task_is_there(
    wire: Wire, store: InMemoryTaskStore
) -> None:
    forms: dict[str, Any] = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    yes = {"action": "accept", "content": {"sure": True}}
    asked = (await wire.call("tools/call", {"name": "asksfirst"}, meta=KEY, capabilities=forms)).result
    retry = {"inputResponses": {"first": yes}, "requestState": asked["requestState"]}
    made = (await wire.call("tools/call", {"name": "asksfirst", **retry}, meta=KEY, capabilities=forms)).result

    again = (await wire.call("tools/call", {"name": "asksfirst"}, meta=KEY, capabilities=forms)).result

    assert again["taskId"] == made["taskId"]
    assert len(store.created) == 1
