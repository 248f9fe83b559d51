"""Being told of changes: none is missed, none piles up, and nobody is told of what it does not watch."""

import asyncio

from mcptasks_server.watching import Watches


async def test_all_keys_count_as_changed_at_first_if_that_is_wanted() -> None:
    watches = Watches()
    with watches.watch(["a", "b"], initially=True) as eager, watches.watch(["a"], initially=False) as patient:
        assert await eager.next() == {"a", "b"}
        waiting = asyncio.create_task(patient.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        watches.tell("b")
        watches.tell("a")

        assert await waiting == {"a"}
        assert await eager.next() == {"a", "b"}


async def test_changes_before_somebody_looks_are_told_as_one() -> None:
    watches = Watches()
    with watches.watch(["a", "b", "c"], initially=False) as watch:
        for key in ("a", "b", "a", "nobody's"):
            watches.tell(key)

        assert await watch.next() == {"a", "b"}


async def test_what_nobody_watches_any_more_is_forgotten() -> None:
    watches = Watches()
    with watches.watch(["a"], initially=False), watches.watch(["a", "b"], initially=False):
        assert len(watches) == 2
    watches.tell("a")

    assert len(watches) == 0
    assert watches.next_key() is None


async def test_all_watched_keys_have_their_turn() -> None:
    watches = Watches()
    with watches.watch(["a", "b", "c"], initially=False):
        turns = [watches.next_key() for _ in range(6)]

    assert sorted(turns[:3], key=str) == ["a", "b", "c"]
    assert turns[:3] == turns[3:]
