"""What happens between the watches: what they miss, when they break, and what the probes say of it."""

import asyncio
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest

from mcptasks_chaos.credentials import Credentials
from mcptasks_crds import names
from mcptasks_crds.kube import JOBS, PODS, TASKS, Kind
from mcptasks_crds.phases import Phase
from mcptasks_devcluster.eventually import eventually
from mcptasks_devcluster.proxy import Fault
from mcptasks_operator.leadership import Alone
from mcptasks_operator.service import Operator
from mcptasks_operator.testing.world import World

pytestmark = pytest.mark.apiserver


async def ask(operator: Operator, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{operator.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


@pytest.mark.requirement("failures/f1-09")
async def test_deletions_that_no_watch_told_of_are_found_by_listing(world: World) -> None:
    async with world.operator(resync_seconds=1.0) as operator:
        await world.tool()
        task, other = await world.call(), await world.call()
        for each in (task, other):
            await world.kubelet.run(each)
            await world.status(each, Phase.RUNNING)
        ghost = dict(operator.store.get(PODS, await world.kubelet.pod_of(task)) or {})
        ghost["metadata"] = ghost["metadata"] | {"name": "ghost"}

        # As if a watch had brought it, and never its end.
        operator.store.put(PODS, ghost)
        await eventually(partial(_has_forgotten, operator, "ghost"), what="the ghost is forgotten")

    assert (await world.status(task, Phase.RUNNING))["phase"] == "Running"


async def _has_forgotten(operator: Operator, pod: str) -> bool:
    return operator.store.get(PODS, pod) is None


@pytest.mark.requirement("failures/f1-22")
async def test_the_cache_holds_nothing_of_what_is_gone(world: World) -> None:
    async with world.operator() as operator:
        await world.tool()
        task = await world.call(retentionSeconds=1)
        await world.kubelet.finish(task, message="done")
        await world.gone(TASKS, task)
        await world.gone(JOBS, names.job_name(task))
        for kind in (TASKS, JOBS, PODS):
            await eventually(partial(_is_empty, operator, kind), what=f"no {kind.plural} are kept")


async def _is_empty(operator: Operator, kind: Kind) -> bool:
    return operator.store.names(kind) == ()


@pytest.mark.requirement("failures/f1-07")
async def test_a_task_made_while_the_connection_was_broken_runs_once_it_is_back(world: World) -> None:
    async with world.operator(resync_seconds=1.0) as operator:
        await world.tool()
        world.proxy.cut()
        task = await world.call()
        await eventually(partial(_answers, operator, "/readyz", HTTPStatus.SERVICE_UNAVAILABLE), what="not ready")
        alive, _ = await ask(operator, "/livez")

        world.proxy.mend()
        await world.job(task)
        await world.kubelet.finish(task, message="done")
        status = await world.status(task)
        await eventually(partial(_answers, operator, "/readyz", HTTPStatus.OK), what="ready again")

    assert alive == HTTPStatus.OK
    assert status["phase"] == "Completed"


async def _answers(operator: Operator, path: str, status: HTTPStatus) -> bool:
    return (await ask(operator, path))[0] == status


@pytest.mark.requirement("failures/f1-08")
async def test_a_watch_that_died_without_a_word_is_made_up_for_by_listing_and_then_fails_the_probe(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcptasks_operator.drift.DEAD_AFTER_SECONDS", 6.0)
    async with world.operator(resync_seconds=1.0) as operator:
        await world.tool()
        world.proxy.muted = "/(mcptasks|jobs|pods)$"
        task = await world.call()
        await world.job(task)
        first, _ = await ask(operator, "/livez")
        await world.kubelet.finish(task, message="done")
        status = await world.status(task)
        await eventually(partial(_answers, operator, "/livez", HTTPStatus.SERVICE_UNAVAILABLE), what="not alive")

    assert first == HTTPStatus.OK
    assert status["phase"] == "Completed"


@pytest.mark.parametrize("status", [HTTPStatus.GONE, HTTPStatus.FORBIDDEN])
async def test_watches_that_are_refused_are_begun_anew_in_the_same_process(world: World, status: HTTPStatus) -> None:
    """kopf fails as a whole where one watch is refused, 410 as an HTTP status included, and may never end then."""
    async with world.operator(resync_seconds=600.0) as operator:
        await world.tool()
        refusal = world.proxy.add(Fault(method="GET", path="/mcptasks$", of_watches=True, status=status))
        world.proxy.cut_watches()
        await refusal.reached.wait()

        task = await world.call()
        await world.job(task)
        await world.kubelet.finish(task, message="done")
        ended = await world.status(task)
        alive, _ = await ask(operator, "/livez")

    assert (ended["phase"], alive) == ("Completed", HTTPStatus.OK)


async def test_watches_whose_version_is_too_old_go_on_from_a_new_list(world: World) -> None:
    async with world.operator(resync_seconds=600.0):
        await world.tool()
        world.proxy.expire_watches()
        before = len(world.proxy.requests)

        task = await world.call()
        await world.job(task)
        await world.kubelet.finish(task, message="done")
        ended = await world.status(task)

    lists = [each for each in world.proxy.requests[before:] if each.path.endswith("/mcptasks") and not each.is_watch]
    assert ended["phase"] == "Completed"
    assert 1 <= len(lists) <= 3


async def test_connections_that_died_without_a_word_are_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half open: what was there brings nothing and says nothing, and new connections are good."""
    monkeypatch.setattr("mcptasks_operator.drift.LATE_AFTER_SECONDS", 2.0)
    monkeypatch.setattr("mcptasks_operator.startup.SETTLED_SECONDS", 1.0)
    monkeypatch.setattr("mcptasks_operator.resync.RETRY_SECONDS", 1.0)
    monkeypatch.setattr("mcptasks_crds.kube.REQUEST_TIMEOUT_SECONDS", 2.0)
    async with world.operator(resync_seconds=5.0):
        await world.tool()
        watches = sum(each.is_watch for each in world.proxy.requests)
        world.proxy.silence()
        task = await world.call()
        world.proxy.mend()

        await world.job(task)
        await world.kubelet.finish(task, message="done")
        ended = await world.status(task)
        await eventually(partial(_watches, world, watches + 4), what="there are new watches")

    assert ended["phase"] == "Completed"


async def _watches(world: World, at_least: int) -> bool:
    return sum(each.is_watch for each in world.proxy.requests) >= at_least


@pytest.mark.requirement("failures/f1-21")
async def test_an_operator_whose_token_is_taken_away_goes_on_with_the_new_one(world: World, tmp_path: Path) -> None:
    credentials = Credentials(proxy=world.proxy, file=tmp_path / "token")
    credentials.rotate()
    rotating = replace(world, kubeconfig=credentials.write_kubeconfig(tmp_path / "rotating"))
    async with rotating.operator(resync_seconds=600.0):
        await world.tool()
        credentials.rotate()
        world.proxy.cut_watches()

        tasks = await asyncio.gather(*(world.call() for _ in range(5)))
        await asyncio.gather(*(world.job(task) for task in tasks))
        await asyncio.gather(*(world.kubelet.finish(task, message="done") for task in tasks))
        ends = await asyncio.gather(*(world.status(task) for task in tasks))

    assert {end["phase"] for end in ends} == {"Completed"}


async def test_metrics_tell_of_tasks_ends_and_requests(world: World) -> None:
    async with world.operator() as operator:
        await world.tool()
        task = await world.call()
        await world.kubelet.finish(task, message="done")
        await world.status(task)
        await eventually(partial(_counts_completed, operator), what="the task is counted")
        status, text = await ask(operator, "/metrics")

    assert status == HTTPStatus.OK
    for name in (
        "tasks_ended_total",
        "queue_depth",
        "reconcile_seconds_bucket",
        "watch_lag_seconds",
        "api_requests_total",
    ):
        assert f"mcptasks_operator_{name}" in text
    assert task not in text


async def _counts_completed(operator: Operator) -> bool:
    _, text = await ask(operator, "/metrics")
    return 'mcptasks_operator_tasks{phase="Completed"} 1.0' in text


async def test_two_operators_that_both_believe_to_be_the_one_make_one_job(world: World) -> None:
    async with world.operator(leadership=Alone()), world.operator(leadership=Alone()):
        await world.tool()
        tasks = await asyncio.gather(*(world.call() for _ in range(5)))
        jobs = await asyncio.gather(*(world.job(task) for task in tasks))
        await asyncio.gather(*(world.kubelet.finish(task, message="done") for task in tasks))
        ends = await asyncio.gather(*(world.status(task) for task in tasks))

    assert {end["phase"] for end in ends} == {"Completed"}
    assert [end["job"]["uid"] for end in ends] == [job["metadata"]["uid"] for job in jobs]
