"""Many readers share one read, and none is given what was read before it asked."""

import asyncio

import pytest

from mcptasks_server.cluster.coalesce import Coalescing


class Slow:
    """A read that answers its number once it is let through."""

    def __init__(self) -> None:
        self.count = 0
        self.began = asyncio.Event()
        self.gate = asyncio.Event()

    async def __call__(self, _key: str) -> int:
        self.count += 1
        number = self.count
        self.began.set()
        await self.gate.wait()
        return number


async def test_readers_that_come_during_a_read_share_the_next_one() -> None:
    read = Slow()
    reads = Coalescing(read)
    first = asyncio.create_task(reads.get("a"))
    await read.began.wait()

    later = [asyncio.create_task(reads.get("a")) for _ in range(20)]
    await asyncio.sleep(0)
    read.gate.set()

    assert await first == 1
    assert await asyncio.gather(*later) == [2] * 20
    assert read.count == 2


async def test_keys_do_not_wait_for_each_other() -> None:
    read = Slow()
    reads = Coalescing(read)
    stuck = asyncio.create_task(reads.get("a"))
    await read.began.wait()
    read.gate.set()

    assert await reads.get("b") == 2
    assert await stuck == 1


async def test_a_read_that_fails_fails_for_its_own_reader_alone() -> None:
    failures = iter([ValueError("first"), None])

    async def read(_key: str) -> str:
        await asyncio.sleep(0)
        failure = next(failures)
        if failure:
            raise failure
        return "answer"

    reads = Coalescing(read)
    first, second = await asyncio.gather(reads.get("a"), reads.get("a"), return_exceptions=True)

    assert isinstance(first, ValueError)
    assert second == "answer"


async def test_a_reader_that_gives_up_leaves_the_others_their_read() -> None:
    read = Slow()
    reads = Coalescing(read)
    first = asyncio.create_task(reads.get("a"))
    await read.began.wait()
    second = asyncio.create_task(reads.get("a"))
    await asyncio.sleep(0)

    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    read.gate.set()

    assert await second == 2
    assert reads._lines == {}
