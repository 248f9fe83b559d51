"""An answer at one replica, reads at another whose watch comes late: nobody is asked again, and nothing goes back."""

import asyncio
from dataclasses import dataclass
from typing import Final

import pytest

from mcptasks_crds.kube import Kube
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.projection import detailed_task
from mcptasks_server.testing.contract import ACCEPT, Hand, new_task, over, questions
from mcptasks_server.testing.replicas import StartReplica
from mcptasks_server.wire.ext_tasks import InputRequiredTask

pytestmark = [pytest.mark.apiserver, pytest.mark.slow, pytest.mark.timeout(300)]

WATCH_DELAY_SECONDS: Final = 0.2
TASKS: Final = 1000
AT_ONCE: Final = 50


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a replica shows of a task."""

    status: str
    asked: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Story:
    """One task: answered at one replica, read at the other."""

    near: Backend
    late: Backend
    hand: Hand

    async def shown(self, task_id: str) -> Shown:
        """What `tasks/get` at the late replica brings."""
        task = detailed_task(await self.late.services.tasks.get(task_id, caller=ANONYMOUS))
        asked = task.input_requests if isinstance(task, InputRequiredTask) else {}
        return Shown(status=task.status, asked=frozenset(asked))

    async def read_until(self, task_id: str, last: Shown) -> list[Shown]:
        """Read on and on until this is shown; everything that was shown before it, without repetitions."""
        seen: list[Shown] = []

        async def is_shown() -> bool:
            shown = await self.shown(task_id)
            if not seen or seen[-1] != shown:
                seen.append(shown)
            return shown == last

        await eventually(is_shown, what=f"the late replica shows {last}", timeout_seconds=60)
        return seen

    async def told(self, *, seen_before: bool) -> list[Shown]:
        """Let it happen; gives what the late replica showed from the first answer on."""
        tasks = self.near.services.tasks
        task_id = (await tasks.create(new_task(), caller=ANONYMOUS)).metadata.name
        await self.hand(task_id, questions("one", "two"))
        if seen_before:
            await self.read_until(task_id, BOTH)
        await self.near_shows_questions(task_id)
        await tasks.answer(task_id, {"one": ACCEPT}, caller=ANONYMOUS)
        seen = [await self.shown(task_id)]
        await tasks.answer(task_id, {"two": ACCEPT}, caller=ANONYMOUS)
        seen.append(await self.shown(task_id))
        await self.hand(task_id, {"phase": Phase.RUNNING})
        await self.hand(task_id, over())
        return seen + await self.read_until(task_id, OVER)

    async def near_shows_questions(self, task_id: str) -> None:
        """A question can be answered where it is known."""

        async def is_asked() -> bool:
            task = detailed_task(await self.near.services.tasks.get(task_id, caller=ANONYMOUS))
            return isinstance(task, InputRequiredTask) and len(task.input_requests) == 2

        await eventually(is_asked, what="the near replica asks", timeout_seconds=60)


BOTH: Final = Shown(status="input_required", asked=frozenset({"one", "two"}))
SECOND: Final = Shown(status="input_required", asked=frozenset({"two"}))
NONE: Final = Shown(status="working", asked=frozenset())
OVER: Final = Shown(status="completed", asked=frozenset())


@pytest.fixture
async def story(start_replica: StartReplica, proxy: FaultProxy, proxied: Kube, hand: Hand) -> Story:
    """Two replicas, one of which learns of each change 200 ms after it."""
    proxy.watch_delay_seconds = WATCH_DELAY_SECONDS
    near, late = await start_replica(), await start_replica(proxied)
    return Story(near=near, late=late, hand=hand)


async def test_no_answered_question_is_asked_again_and_no_status_goes_back(story: Story) -> None:
    room = asyncio.Semaphore(AT_ONCE)

    async def tell(number: int) -> list[Shown]:
        async with room:
            # Every other task's questions are answered before the late replica has ever shown them.
            return await story.told(seen_before=number % 2 == 0)

    stories = await asyncio.gather(*(tell(number) for number in range(TASKS)))

    order = {SECOND: 1, NONE: 2, OVER: 3}
    for seen in stories:
        places = [order.get(shown, 0) for shown in seen]
        assert 0 not in places, f"a question that was answered is asked again: {seen}"
        assert places == sorted(places), f"a status goes back: {seen}"
