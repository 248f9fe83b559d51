"""Looking for the tasks of requests: few lists, however many are sought."""

import asyncio
import re

import pytest

from mcptasks_server.cluster.request_lookups import MOST_AT_ONCE, RequestLookups
from mcptasks_server.errors import UnavailableError


class Lists:
    """An API server that is asked for lists, one at a time."""

    def __init__(self) -> None:
        self.asked: list[set[str]] = []
        self.go_on = asyncio.Event()
        self.fails = 0
        self._is_listing = False

    async def fetch(self, selector: str) -> None:
        assert not self._is_listing, "two lists at once"
        self._is_listing = True
        found = re.fullmatch(r"mcptasks\.dev/request in \((.+)\)", selector)
        assert found is not None
        self.asked.append(set(found[1].split(",")))
        await self.go_on.wait()
        self._is_listing = False
        if self.fails:
            self.fails -= 1
            raise UnavailableError("away")


@pytest.fixture
def lists() -> Lists:
    return Lists()


async def test_all_that_are_sought_during_a_list_share_the_next_one(lists: Lists) -> None:
    lookups = RequestLookups(lists.fetch)
    first = asyncio.create_task(lookups.look_for("a"))
    await asyncio.sleep(0)
    others = [asyncio.create_task(lookups.look_for(key)) for key in "bcdb"]
    await asyncio.sleep(0)
    lists.go_on.set()
    await asyncio.gather(first, *others)

    assert lists.asked == [{"a"}, {"b", "c", "d"}]


async def test_more_than_fit_a_url_are_sought_by_lists_one_after_another(lists: Lists) -> None:
    lookups = RequestLookups(lists.fetch)
    keys = [f"k{number}" for number in range(2 * MOST_AT_ONCE + 1)]
    seeking = [asyncio.create_task(lookups.look_for(key)) for key in keys]
    await asyncio.sleep(0)
    lists.go_on.set()
    await asyncio.gather(*seeking)

    assert set().union(*lists.asked) == set(keys)
    assert max(map(len, lists.asked)) <= MOST_AT_ONCE
    assert len(lists.asked) <= 4


async def test_what_a_list_that_failed_was_to_find_is_sought_by_the_next_one(lists: Lists) -> None:
    lookups, lists.fails = RequestLookups(lists.fetch), 1
    seeking = [asyncio.create_task(lookups.look_for(key)) for key in "ab"]
    await asyncio.sleep(0)
    lists.go_on.set()
    outcomes = await asyncio.gather(*seeking, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [UnavailableError, type(None)]
    assert "b" in lists.asked[-1]


async def test_whoever_gives_up_leaves_the_others_their_answer(lists: Lists) -> None:
    lookups = RequestLookups(lists.fetch)
    seeking = [asyncio.create_task(lookups.look_for(key)) for key in "ab"]
    await asyncio.sleep(0)
    seeking[0].cancel()
    lists.go_on.set()
    lists._is_listing = False
    await asyncio.gather(*seeking, return_exceptions=True)

    assert not seeking[1].cancelled()
    assert "b" in lists.asked[-1]
