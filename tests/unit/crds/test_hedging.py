"""What only asks is asked again while nothing comes back, and what came first counts."""

import asyncio
from collections.abc import Sequence

import pytest

from mcptasks_crds.hedging import hedged
from mcptasks_devcluster.eventually import eventually


class Asked:
    """What was sent, what came back, and what was let go of."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.answers: list[asyncio.Future[str]] = [loop.create_future() for _ in range(3)]
        self.sent: list[int] = []
        self.dropped: list[str] = []
        self.given_up: list[int] = []

    async def send(self, number: int) -> str:
        self.sent.append(number)
        try:
            return await asyncio.shield(self.answers[number])
        except asyncio.CancelledError:
            self.given_up.append(number)
            raise

    async def ask(self, *silences: float) -> str:
        return await hedged(self.send, silences=silences, drop=self.dropped.append)

    async def until_sent(self, times: int) -> None:
        async def is_sent() -> bool:
            return len(self.sent) >= times

        await eventually(is_sent, what="it is sent again")


async def test_an_answer_in_time_is_asked_for_once() -> None:
    asked = Asked()
    asked.answers[0].set_result("here")

    assert await asked.ask(60, 60) == "here"
    assert (asked.sent, asked.given_up, asked.dropped) == ([0], [], [])


@pytest.mark.parametrize(("answering", "given_up"), [(0, [1, 2]), (1, [0, 2]), (2, [0, 1])])
async def test_while_nothing_comes_back_it_is_asked_again_and_the_first_answer_counts(
    answering: int, given_up: Sequence[int]
) -> None:
    asked = Asked()
    answer = asyncio.create_task(asked.ask(0, 0))
    await asked.until_sent(3)
    asked.answers[answering].set_result("here")

    assert await answer == "here"
    assert (asked.sent, sorted(asked.given_up), asked.dropped) == ([0, 1, 2], list(given_up), [])


async def test_after_the_last_time_it_is_waited_for() -> None:
    asked = Asked()
    answer = asyncio.create_task(asked.ask(0))
    await asked.until_sent(2)
    await asyncio.sleep(0)

    assert (answer.done(), asked.sent) == (False, [0, 1])
    asked.answers[1].set_result("late")
    assert await answer == "late"


async def test_of_two_answers_at_once_one_counts_and_the_other_is_let_go_of() -> None:
    asked = Asked()
    answer = asyncio.create_task(asked.ask(0))
    await asked.until_sent(2)
    asked.answers[0].set_result("one")
    asked.answers[1].set_result("two")

    counted = await answer
    assert {counted, *asked.dropped} == {"one", "two"}
    assert len(asked.dropped) == 1


async def test_a_failure_is_an_answer() -> None:
    asked = Asked()
    answer = asyncio.create_task(asked.ask(0))
    await asked.until_sent(2)
    asked.answers[0].set_exception(ConnectionError("broken"))

    with pytest.raises(ConnectionError, match="broken"):
        await answer
    assert asked.given_up == [1]


async def test_who_waits_no_more_lets_go_of_all_that_was_asked() -> None:
    asked = Asked()
    answer = asyncio.create_task(asked.ask(0, 0))
    await asked.until_sent(3)
    answer.cancel()

    with pytest.raises(asyncio.CancelledError):
        await answer
    assert sorted(asked.given_up) == [0, 1, 2]
