"""What waits for a request's reader: bounded, in order, and of some kinds only the newest."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.outbox import MAX_WAITING, Outbox


def message(number: int) -> dict[str, Any]:
    return {"n": number}


async def drained(outbox: Outbox) -> list[int]:
    outbox.close()
    found: list[int] = []
    while (pieces := await outbox.next()) is not None:
        found.append(json.loads(b"".join(pieces))["n"])
    return found


async def test_a_newer_message_of_a_slot_takes_the_place_of_the_one_that_waits() -> None:
    replaced = Counter[str]()
    outbox = Outbox(on_replaced=lambda: replaced.update("x"))

    for number in (1, 2, 3):
        outbox.replace("a", message(number))
    outbox.replace("b", message(4))
    await outbox.send(message(5))

    assert await drained(outbox) == [3, 4, 5]
    assert outbox.replaced == replaced.total() == 2


async def test_messages_of_their_own_wait_for_room_and_none_is_lost() -> None:
    outbox = Outbox()
    for number in range(MAX_WAITING):
        await outbox.send(message(number))
    waiting = asyncio.create_task(outbox.send(message(MAX_WAITING)))
    await asyncio.sleep(0)
    assert not waiting.done()

    first = await outbox.next()
    await waiting

    assert first == (b'{"n":0}',)
    assert await drained(outbox) == list(range(1, MAX_WAITING + 1))


async def test_what_was_sent_can_be_waited_for() -> None:
    outbox = Outbox()
    outbox.replace("progress", message(1))
    waiting = asyncio.create_task(outbox.sent("progress"))
    await asyncio.sleep(0)
    assert not waiting.done()

    await outbox.next()

    await waiting


async def test_whoever_waits_is_let_go_when_the_reader_has_gone() -> None:
    outbox = Outbox()
    for number in range(MAX_WAITING):
        await outbox.send(message(number))
    outbox.replace("progress", message(99))
    waiting = [asyncio.create_task(outbox.send(message(100))), asyncio.create_task(outbox.sent("progress"))]
    await asyncio.sleep(0)

    outbox.close()

    await asyncio.gather(*waiting)


async def test_nothing_is_taken_after_the_end_and_nothing_begins_then() -> None:
    begun: list[str] = []
    outbox = Outbox(on_begin=lambda: begun.append("begun"))
    outbox.close()

    outbox.replace("a", message(1))
    await outbox.send(message(2))
    outbox.begin()
    outbox.beat()

    assert await outbox.next() is None
    assert begun == []


async def test_a_client_that_hears_nothing_costs_nothing_yet_learns_that_work_began() -> None:
    begun: list[str] = []
    outbox = Outbox(is_heard=False, on_begin=lambda: begun.append("begun"))

    for number in range(MAX_WAITING * 2):
        await outbox.send(message(number))
        outbox.replace("a", message(number))
    assert begun == []
    outbox.begin()
    outbox.begin()

    assert begun == ["begun"]
    assert await drained(outbox) == []


async def test_a_sign_of_life_is_only_given_where_nothing_else_waits() -> None:
    outbox = Outbox()
    outbox.beat()
    outbox.beat()
    outbox.replace("a", message(1))
    outbox.beat()

    assert [await outbox.next(), await outbox.next()] == [(), (b'{"n":1}',)]


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_message_may_come_in_pieces(is_shared: bool) -> None:
    outbox = Outbox()
    outbox.replace("a", (b'{"n":', b"7}") if is_shared else message(7))

    assert await drained(outbox) == [7]


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "own", "take"]), st.integers(0, 999)), max_size=60))
def test_of_each_slot_the_newest_is_sent_last_and_messages_of_their_own_keep_their_order(
    history: list[tuple[str, int]],
) -> None:
    async def run() -> None:
        outbox, taken, own, newest = Outbox(), list[bytes](), list[int](), dict[str, int]()
        for kind, number in history:
            match kind:
                case "take":
                    if outbox._waiting:
                        pieces = await outbox.next()
                        assert pieces is not None
                        taken.append(b"".join(pieces))
                case "own":
                    own.append(number)
                    await outbox.send({"own": number})
                case slot:
                    newest[slot] = number
                    outbox.replace(slot, {slot: number})
        outbox.close()
        while (pieces := await outbox.next()) is not None:
            taken.append(b"".join(pieces))
        messages = [json.loads(each) for each in taken]
        assert [each["own"] for each in messages if "own" in each] == own
        for slot, number in newest.items():
            assert [each[slot] for each in messages if slot in each][-1] == number

    asyncio.run(run())
