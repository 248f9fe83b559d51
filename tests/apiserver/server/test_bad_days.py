"""What a bad day of the network, or of the API server, may do: delay, never lose, never double, never half-make."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import SECRETS, TASKS, GoneError, Kind, Kube
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import Fault, FaultProxy
from mcptasks_server.caller import ANONYMOUS
from mcptasks_server.cluster.backend import Backend
from mcptasks_server.errors import RefusedError, UnavailableError
from mcptasks_server.metrics import Metrics
from mcptasks_server.testing.contract import Hand, new_task, over
from mcptasks_server.testing.replicas import StartReplica

pytestmark = pytest.mark.apiserver

TASKS_PATH = r"/mcptasks$"
SECRETS_PATH = r"/secrets$"
LARGE = '{"text": "' + "x" * 20_000 + '"}'


@pytest.fixture
async def replica(start_replica: StartReplica, proxied: Kube) -> Backend:
    """A replica behind the proxy."""
    return await start_replica(proxied)


async def names_of(kube: Kube, kind: Kind, namespace: str) -> list[str]:
    items = (await kube.list(kind, namespace))["items"]
    return [item["metadata"]["name"] for item in items if item["metadata"]["name"].startswith("mt-")]


async def phase_of(replica: Backend, task_id: str) -> Phase | None:
    return (await replica.services.tasks.get(task_id, caller=ANONYMOUS)).status.phase


async def until_shown(replica: Backend, task_id: str, phase: Phase, *, seconds: float = 15) -> None:
    async def is_shown() -> bool:
        try:
            return await phase_of(replica, task_id) is phase
        except UnavailableError:
            return False

    await eventually(is_shown, what=f"the replica shows {phase}", timeout_seconds=seconds)


async def until_ready(replica: Backend, *, seconds: float) -> None:
    async def is_ready() -> bool:
        return replica.what_is_missing() == ""

    await eventually(is_ready, what="the replica is ready", timeout_seconds=seconds)


@pytest.mark.parametrize(
    "fault",
    [
        {"lose_answer": True},
        {"lose_answer": True, "times": 3},
        {"status": 503},
        {"status": 500, "times": 2},
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"status": 409},
    ],
    ids=["lost-once", "lost-three-times", "503", "500-twice", "429", "409 for a quota that others change"],
)
@pytest.mark.requirement("failures/f2-27")
async def test_a_create_that_went_wrong_makes_exactly_one_task_all_the_same(
    kube: Kube, namespace: str, replica: Backend, proxy: FaultProxy, fault: dict[str, Any]
) -> None:
    made: list[str] = []
    for arguments in ("{}", LARGE):
        met = proxy.add(Fault(method="POST", path=TASKS_PATH, **fault))

        created = await replica.services.tasks.create(new_task(arguments=arguments), caller=ANONYMOUS)

        made.append(created.metadata.name)
        assert met.times == 0
        assert sorted(await names_of(kube, TASKS, namespace)) == sorted(made)
    assert await names_of(kube, SECRETS, namespace) == [f"{made[1]}-arguments"]


async def test_a_secret_whose_answer_was_lost_is_there_once(
    kube: Kube, namespace: str, replica: Backend, proxy: FaultProxy
) -> None:
    met = proxy.add(Fault(method="POST", path=SECRETS_PATH, lose_answer=True, times=2))

    created = await replica.services.tasks.create(new_task(arguments=LARGE), caller=ANONYMOUS)

    assert met.times == 0
    assert await names_of(kube, TASKS, namespace) == [created.metadata.name]
    assert await names_of(kube, SECRETS, namespace) == [f"{created.metadata.name}-arguments"]


async def test_a_task_whose_secret_is_refused_is_taken_back(
    kube: Kube, namespace: str, replica: Backend, proxy: FaultProxy
) -> None:
    proxy.add(Fault(method="POST", path=SECRETS_PATH, status=403))

    with pytest.raises(RefusedError):
        await replica.services.tasks.create(new_task(arguments=LARGE), caller=ANONYMOUS)

    async def is_taken_back() -> bool:
        return not await names_of(kube, TASKS, namespace)

    await eventually(is_taken_back, what="the task is deleted", timeout_seconds=10)


async def test_a_task_that_is_refused_is_said_to_be_and_not_tried_again(
    kube: Kube, namespace: str, replica: Backend, proxy: FaultProxy
) -> None:
    proxy.add(Fault(method="POST", path=TASKS_PATH, status=403))

    with pytest.raises(RefusedError):
        await replica.services.tasks.create(new_task(), caller=ANONYMOUS)

    assert await names_of(kube, TASKS, namespace) == []


async def test_a_task_whose_client_has_gone_before_it_had_its_id_is_taken_back(
    kube: Kube, namespace: str, replica: Backend, proxy: FaultProxy
) -> None:
    held = proxy.add(Fault(method="POST", path=TASKS_PATH, hold_answer=True))
    creating = asyncio.create_task(replica.services.tasks.create(new_task(), caller=ANONYMOUS))
    await held.reached.wait()
    assert len(await names_of(kube, TASKS, namespace)) == 1

    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating

    async def is_taken_back() -> bool:
        return not await names_of(kube, TASKS, namespace)

    await eventually(is_taken_back, what="the task is deleted", timeout_seconds=10)


@pytest.mark.requirement("failures/f3-30")
async def test_a_create_while_the_api_server_is_away_fails_in_words_within_ten_seconds_and_leaves_nothing(
    kube: Kube, namespace: str, replica: Backend, proxy: FaultProxy
) -> None:
    lost = proxy.add(Fault(method="POST", path=TASKS_PATH, lose_answer=True))
    creating = asyncio.create_task(replica.services.tasks.create(new_task(), caller=ANONYMOUS))
    await lost.reached.wait()
    proxy.cut()

    async with asyncio.timeout(10):
        with pytest.raises(UnavailableError, match="cannot be reached"):
            await creating
    proxy.mend()

    async def is_taken_back() -> bool:
        return not await names_of(kube, TASKS, namespace)

    await eventually(is_taken_back, what="the task is deleted")


async def test_a_cut_watch_catches_up_by_itself(
    namespace: str, replica: Backend, proxy: FaultProxy, hand: Hand
) -> None:
    task_id = (await replica.services.tasks.create(new_task(), caller=ANONYMOUS)).metadata.name
    await phase_of(replica, task_id)

    proxy.cut()
    await hand(task_id, {"phase": "Running"})
    proxy.mend()

    await until_shown(replica, task_id, Phase.RUNNING)


async def test_while_the_api_server_is_away_only_what_is_over_is_shown(
    replica: Backend, proxy: FaultProxy, hand: Hand
) -> None:
    store = replica.services.tasks
    living, ended = [(await store.create(new_task(), caller=ANONYMOUS)).metadata.name for _ in range(2)]
    await hand(ended, over())
    await until_shown(replica, ended, Phase.COMPLETED)

    proxy.cut()

    async def is_refused() -> bool:
        # The watch breaks a moment after the cut; what it had shown until then was so.
        try:
            await phase_of(replica, living)
        except UnavailableError:
            return True
        return False

    await eventually(is_refused, what="a living task is not shown", timeout_seconds=12)
    assert await phase_of(replica, ended) is Phase.COMPLETED
    proxy.mend()
    await until_shown(replica, ended, Phase.COMPLETED)


@pytest.mark.requirement("failures/f3-30")
async def test_a_replica_that_cannot_reach_the_api_server_is_not_ready_but_alive_and_comes_back(
    replica: Backend, proxy: FaultProxy
) -> None:
    async def is_not_ready() -> bool:
        return replica.what_is_missing() == "the API server does not answer"

    proxy.cut()
    await eventually(is_not_ready, what="it is not ready", timeout_seconds=15)
    assert replica.what_is_broken() == ""

    proxy.mend()
    await until_ready(replica, seconds=10)


async def test_a_replica_that_starts_while_its_connection_is_half_open_serves_soon_after_it_is_not(
    proxied: Kube, proxy: FaultProxy, namespace: str
) -> None:
    """What it asked first is lost without a word: it is not waited for until the requests' own time is over."""
    impatient = Kube(proxied._api, silences=(0.2, 0.4))
    proxy.silence()
    backend = Backend(impatient, namespace=namespace, metrics=Metrics())
    async with impatient, backend.running():

        async def has_asked() -> bool:
            return proxy.swallowed >= 2

        await eventually(has_asked, what="it has asked, and was not heard")
        proxy.mend()
        await until_ready(backend, seconds=15)


async def test_what_writes_is_not_sent_twice_because_nothing_comes_back(
    proxied: Kube, proxy: FaultProxy, namespace: str
) -> None:
    impatient = Kube(proxied._api, silences=(0.0, 0.0))
    proxy.silence()
    async with impatient:
        reading = asyncio.create_task(impatient.list(TASKS, namespace))
        writing = asyncio.create_task(impatient.create(TASKS, namespace, {"metadata": {"generateName": "mt-"}}))

        async def has_asked() -> bool:
            return proxy.swallowed >= 4

        await eventually(has_asked, what="the read is sent three times, and the write once")
        proxy.mend()
        assert len((await impatient.list(SECRETS, namespace))["items"]) == 0
        for each in (reading, writing):
            each.cancel()
        await asyncio.wait((reading, writing))
    assert proxy.swallowed == 4


class DeafKube(Kube):
    """A connection whose watches fall silent on demand, without breaking."""

    is_deaf = False
    opened = 0

    async def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        timeout_seconds: float,
        on_open: Callable[[], None] = lambda: None,
        **query: str,
    ) -> AsyncGenerator[Json, None]:
        self.opened += 1
        was_deaf = self.is_deaf
        async for event in super().watch(kind, namespace, timeout_seconds=timeout_seconds, on_open=on_open, **query):
            if self.is_deaf and not was_deaf:
                await asyncio.Event().wait()
            yield event


async def test_a_watch_that_has_fallen_silent_is_found_out_and_opened_anew(
    kube: Kube, start_replica: StartReplica, hand: Hand
) -> None:
    deaf = DeafKube(kube._api)
    replica = await start_replica(deaf)
    store = replica.services.tasks
    task_id = (await store.create(new_task(), caller=ANONYMOUS)).metadata.name
    opened = deaf.opened

    deaf.is_deaf = True
    await hand(task_id, {"phase": "Running"})
    await store.create(new_task(), caller=ANONYMOUS)  # its event is due, and does not come

    await until_shown(replica, task_id, Phase.RUNNING, seconds=10)

    async def is_opened_anew() -> bool:
        await phase_of(replica, task_id)
        return deaf.opened > opened

    await eventually(is_opened_anew, what="the watch is opened anew", timeout_seconds=10)


async def test_a_silent_watch_is_found_out_by_polls_alone(kube: Kube, start_replica: StartReplica, hand: Hand) -> None:
    deaf = DeafKube(kube._api)
    replica = await start_replica(deaf)
    task_id = (await replica.services.tasks.create(new_task(), caller=ANONYMOUS)).metadata.name

    deaf.is_deaf = True
    await hand(task_id, {"phase": "Running"})

    await until_shown(replica, task_id, Phase.RUNNING, seconds=10)


class ForgetfulKube(Kube):
    """An API server that says that a watch's version is too old, as the answer or within the stream."""

    in_stream = False
    refusals = 0

    async def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        timeout_seconds: float,
        on_open: Callable[[], None] = lambda: None,
        **query: str,
    ) -> AsyncGenerator[Json, None]:
        if self.refusals and not self.in_stream:
            self.refusals -= 1
            raise GoneError("too old resource version", status=410)
        async for event in super().watch(kind, namespace, timeout_seconds=timeout_seconds, on_open=on_open, **query):
            if self.refusals and kind is TASKS:
                self.refusals -= 1
                raise GoneError("too old resource version", status=410)
            yield event


@pytest.mark.parametrize("in_stream", [False, True])
@pytest.mark.requirement("failures/f1-09")
async def test_a_version_that_is_too_old_is_answered_with_a_new_list(
    kube: Kube, start_replica: StartReplica, hand: Hand, in_stream: bool
) -> None:
    forgetful = ForgetfulKube(kube._api)
    forgetful.in_stream = in_stream
    if not in_stream:
        forgetful.refusals = 2
    replica = await start_replica(forgetful)
    task_id = (await replica.services.tasks.create(new_task(), caller=ANONYMOUS)).metadata.name
    if in_stream:
        forgetful.refusals = 1

    await hand(task_id, {"phase": "Running"})
    await until_shown(replica, task_id, Phase.RUNNING)
    await hand(task_id, over())
    await until_shown(replica, task_id, Phase.COMPLETED)

    assert forgetful.refusals == 0
