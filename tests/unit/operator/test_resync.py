"""Everything listed anew: what no watch told is found out."""

import asyncio
from typing import Any

import pytest

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS, TOOLS, RetryableError
from mcptasks_operator.drift import Drift
from mcptasks_operator.handlers import Intake
from mcptasks_operator.keys import Key
from mcptasks_operator.metrics import Metrics
from mcptasks_operator.resync import Resync
from mcptasks_operator.store import Store
from mcptasks_operator.testing.cluster import Call, FakeCluster, Fault

NAMESPACE = "ns"
OURS = {names.MANAGED_BY_LABEL: names.MANAGED_BY, names.TASK_LABEL: "mt-a"}


class Bench:
    """A resync and what stands around it."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.store = Store()
        self.drift = Drift(lambda: 0.0)
        self.queued: list[Key] = []
        self.intake = Intake(store=self.store, drift=self.drift, metrics=Metrics(), enqueue=self.queued.append)
        self.resync = Resync(
            cluster=self.cluster,
            namespace=NAMESPACE,
            store=self.store,
            drift=self.drift,
            enqueue=self.queued.append,
            clock=lambda: 0.0,
            catch_up_seconds=0.0,
        )

    def put(self, kind: Any, name: str, **metadata: Any) -> Json:
        return self.cluster.put(kind, NAMESPACE, {"metadata": {"name": name} | metadata})

    def watch(self, kind: Any, document: Json, type_: str | None = None) -> None:
        self.intake.take(kind, type_, document)


async def test_all_tasks_and_tools_are_looked_at() -> None:
    b = Bench()
    b.watch(TASKS, b.put(TASKS, "mt-a"))
    b.watch(TOOLS, b.put(TOOLS, "echo"))
    b.queued.clear()

    await b.resync.once()

    assert set(b.queued) == {Key("task", "mt-a"), Key("tool", "echo")}


async def test_what_the_watch_did_not_bring_is_read() -> None:
    b = Bench()
    b.put(TASKS, "mt-a")

    await b.resync.once()

    assert b.store.get(TASKS, "mt-a") is not None
    assert Key("task", "mt-a") in b.queued
    assert b.drift.owed == 1  # reading it is not the watch's merit


async def test_nothing_is_read_where_the_watch_is_up_to_date() -> None:
    b = Bench()
    b.watch(TASKS, b.put(TASKS, "mt-a"))

    await b.resync.once()

    assert {call.verb for call in b.cluster.calls} == {"list"}


async def test_a_deletion_that_nobody_told_of_is_found_and_its_task_looked_at() -> None:
    b = Bench()
    pod = b.put(PODS, "p", labels=OURS)
    b.watch(PODS, pod)
    await b.cluster.delete(PODS, NAMESPACE, "p")
    b.queued.clear()

    await b.resync.once()

    assert b.store.get(PODS, "p") is None
    assert b.queued == [Key("task", "mt-a")]


async def test_what_was_made_after_the_listing_is_not_taken_for_gone() -> None:
    b = Bench()
    made = b.put(JOBS, "mt-a", labels=OURS)
    await b.cluster.delete(JOBS, NAMESPACE, "mt-a")
    b.store.put(JOBS, made | {"metadata": made["metadata"] | {"resourceVersion": "999999"}})

    await b.resync.once()

    assert b.store.get(JOBS, "mt-a") is not None


async def test_jobs_and_pods_that_are_not_ours_are_not_listed() -> None:
    b = Bench()
    b.put(JOBS, "backup")
    b.put(PODS, "web")

    await b.resync.once()

    assert b.store.names(JOBS) == b.store.names(PODS) == ()


async def test_long_lists_come_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcptasks_operator.resync.PAGE_SIZE", "2")
    b = Bench()
    for number in range(5):
        b.watch(TASKS, b.put(TASKS, f"mt-{number}"))

    await b.resync.once()

    assert b.cluster.calls.count(Call("list", "mcptasks")) == 3
    assert len(b.store.names(TASKS)) == 5


async def test_an_api_server_that_does_not_answer_is_told_once_and_changes_nothing() -> None:
    b = Bench()
    b.watch(TASKS, b.put(TASKS, "mt-a"))
    b.cluster.faults = [Fault(call=Call("list", "mcptasks"), error=RetryableError("503")) for _ in range(2)]

    assert [await b.resync.attempt() for _ in range(3)] == [False, False, True]
    assert b.store.get(TASKS, "mt-a") is not None
    assert b.resync.succeeded_at == 0.0


async def test_a_debt_does_not_age_while_the_api_server_is_away() -> None:
    b = Bench()
    b.put(TASKS, "mt-a")
    await b.resync.attempt()
    assert b.drift.owed == 1

    b.cluster.faults = [Fault(call=Call("list", "mcptasks"), error=RetryableError("503"))]
    await b.resync.attempt()

    assert b.drift.owed == 0


async def test_a_listing_that_is_wanted_anew_is_one_that_begins_after_the_wish() -> None:
    b = Bench()
    running = asyncio.create_task(b.resync.run(3600.0))
    await b.resync.succeeded.wait()
    before = b.cluster.calls.count(Call("list", "mcptasks"))
    b.put(TASKS, "mt-a")
    b.queued.clear()

    await asyncio.wait_for(b.resync.anew(), timeout=5)
    running.cancel()

    assert b.cluster.calls.count(Call("list", "mcptasks")) == before + 1
    assert set(b.queued) == {Key("task", "mt-a")}


def test_an_event_of_a_watch_is_kept_and_what_it_concerns_is_looked_at() -> None:
    b = Bench()
    b.watch(PODS, b.put(PODS, "p", labels=OURS), "ADDED")

    assert b.queued == [Key("task", "mt-a")]


def test_the_echo_of_our_own_write_wakes_nobody() -> None:
    b = Bench()
    written = b.put(TASKS, "mt-a")
    b.store.put(TASKS, written)

    b.watch(TASKS, written, "MODIFIED")

    assert b.queued == []


def test_an_object_that_ends_is_forgotten_and_what_it_concerned_is_looked_at() -> None:
    b = Bench()
    pod = b.put(PODS, "p", labels=OURS)
    b.watch(PODS, pod, "ADDED")
    b.queued.clear()

    b.watch(PODS, pod | {"metadata": pod["metadata"] | {"resourceVersion": "2000"}}, "DELETED")

    assert b.store.get(PODS, "p") is None
    assert b.queued == [Key("task", "mt-a")]


def test_a_tool_that_comes_or_goes_has_all_tools_looked_at_for_a_name_may_be_free() -> None:
    b = Bench()
    first, second = b.put(TOOLS, "first"), b.put(TOOLS, "second")
    b.watch(TOOLS, first, "ADDED")
    b.watch(TOOLS, second, "ADDED")
    b.queued.clear()

    b.watch(TOOLS, first | {"metadata": first["metadata"] | {"resourceVersion": "2000"}}, "DELETED")

    assert Key("tool", "second") in b.queued


def test_a_pod_without_the_label_of_a_task_concerns_nobody() -> None:
    b = Bench()
    b.watch(PODS, b.put(PODS, "web"), "ADDED")

    assert b.queued == []
