"""Replicas of the server share nothing but the API server, and no client can tell them apart."""

import asyncio

import pytest

from mcptasks_crds.asking import open_questions
from mcptasks_crds.kube import TASKS, Kube
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import FaultProxy
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.projection import result_text
from mcptasks_server.tasks import TaskNotFoundError
from mcptasks_server.testing.contract import ACCEPT, DECLINE, RESULT, Hand, new_task, over, questions
from mcptasks_server.testing.replicas import StartReplica

pytestmark = pytest.mark.apiserver


@pytest.fixture
async def other(start_replica: StartReplica) -> Backend:
    """A second replica."""
    return await start_replica()


async def create(replica: Backend) -> str:
    return (await replica.services.tasks.create(new_task(), caller=ANONYMOUS)).metadata.name


@pytest.mark.requirement("ext-tasks/create-consistent", "base/explicit-state", "base/any-connection")
async def test_a_task_that_one_replica_made_is_found_by_the_other_at_once(replica: Backend, other: Backend) -> None:
    for _ in range(30):
        task_id = await create(replica)

        assert (await other.services.tasks.get(task_id, caller=ANONYMOUS)).metadata.name == task_id


async def test_a_cancel_at_one_replica_is_seen_by_the_other(replica: Backend, other: Backend) -> None:
    task_id = await create(replica)
    await other.services.tasks.get(task_id, caller=ANONYMOUS)

    await replica.services.tasks.cancel(task_id, caller=ANONYMOUS)

    async def is_seen() -> bool:
        return (await other.services.tasks.get(task_id, caller=ANONYMOUS)).spec.cancel_requested

    await eventually(is_seen, what="the other replica shows the cancel", timeout_seconds=10)


@pytest.mark.requirement("ext-tasks/keys-not-reused")
async def test_a_question_that_was_answered_at_one_replica_is_not_asked_again_by_the_other(
    replica: Backend, other: Backend, hand: Hand
) -> None:
    for _ in range(10):
        task_id = await create(replica)
        await hand(task_id, questions("q"))

        async def is_asked(task_id: str = task_id) -> bool:
            return bool(open_questions(await other.services.tasks.get(task_id, caller=ANONYMOUS)))

        await eventually(is_asked, what="the other replica asks")
        await replica.services.tasks.answer(task_id, {"q": ACCEPT}, caller=ANONYMOUS)

        assert open_questions(await other.services.tasks.get(task_id, caller=ANONYMOUS)) == {}


@pytest.mark.requirement("ext-tasks/update-ignores")
async def test_of_two_answers_at_once_one_stands_and_nothing_else_is_lost(
    replica: Backend, other: Backend, hand: Hand
) -> None:
    for _ in range(10):
        task_id = await create(replica)
        await hand(task_id, questions("shared", "one", "two"))

        await asyncio.gather(
            replica.services.tasks.answer(task_id, {"shared": ACCEPT, "one": ACCEPT}, caller=ANONYMOUS),
            other.services.tasks.answer(task_id, {"shared": DECLINE, "two": DECLINE}, caller=ANONYMOUS),
        )

        answers = (await replica.services.tasks.get(task_id, caller=ANONYMOUS)).spec.answers
        assert set(answers) == {"shared", "one", "two"}
        assert answers["shared"].response in (ACCEPT, DECLINE)
        assert (answers["one"].response, answers["two"].response) == (ACCEPT, DECLINE)


@pytest.mark.requirement("failures/f3-12")
async def test_polls_cost_the_api_server_nothing(
    start_replica: StartReplica, proxied: Kube, proxy: FaultProxy, hand: Hand
) -> None:
    replica = await start_replica(proxied)
    task_id = await create(replica)
    await hand(task_id, {"phase": "Running"})

    async def is_running() -> bool:
        return (await replica.services.tasks.get(task_id, caller=ANONYMOUS)).status.phase is Phase.RUNNING

    await eventually(is_running, what="the replica shows the task running")
    before = len([each for each in proxy.requests if each.path.endswith(task_id)])
    for _ in range(200):
        await replica.services.tasks.get(task_id, caller=ANONYMOUS)

    assert len([each for each in proxy.requests if each.path.endswith(task_id)]) == before


async def test_a_large_result_is_not_kept_but_read_when_it_is_asked_for(
    start_replica: StartReplica, proxied: Kube, proxy: FaultProxy, hand: Hand
) -> None:
    replica = await start_replica(proxied)
    small, large = await create(replica), await create(replica)
    text = '{"content":[{"type":"text","text":"' + "x" * 100_000 + '"}]}'
    await hand(small, over())
    await hand(large, over() | {"result": {"inline": text}})

    async def both_are_over() -> bool:
        tasks = [await replica.services.tasks.get(each, caller=ANONYMOUS) for each in (small, large)]
        return all(task.status.phase is Phase.COMPLETED for task in tasks)

    await eventually(both_are_over, what="both are over")
    proxy.requests.clear()

    assert result_text(await replica.services.tasks.get(small, caller=ANONYMOUS)) == RESULT
    assert result_text(await replica.services.tasks.get(large, caller=ANONYMOUS)) == text
    reads = [each.path for each in proxy.requests if each.method == "GET" and not each.is_watch]
    assert [path.endswith(large) for path in reads if "/mcptasks/" in path] == [True]


async def test_a_task_that_is_deleted_is_not_found_any_more(
    kube: Kube, namespace: str, replica: Backend, other: Backend
) -> None:
    task_id = await create(replica)
    await other.services.tasks.get(task_id, caller=ANONYMOUS)

    await kube.delete(TASKS, namespace, task_id)

    async def is_gone() -> bool:
        try:
            await replica.services.tasks.get(task_id, caller=ANONYMOUS)
        except TaskNotFoundError:
            return True
        return False

    await eventually(is_gone, what="the task is not found", timeout_seconds=10)
