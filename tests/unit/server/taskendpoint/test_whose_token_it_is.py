"""Who may speak for a task: the pod that it runs in, by a token of its own, and nobody else."""

import asyncio
import base64
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest

from mcptasks_crds.kube import RetryableError
from mcptasks_crds.names import new_task_id
from mcptasks_server.errors import UnavailableError
from mcptasks_server.taskendpoint.problems import ForeignPodProblem, LaterProblem, Problem, UnknownPodProblem
from mcptasks_server.taskendpoint.tokens import (
    FETCH_AGAIN_SECONDS,
    FETCH_SECONDS,
    KEYS_PATH,
    RENEW_SECONDS,
    PodTokens,
)
from mcptasks_server.testing.pods import (
    NAMESPACE,
    POD_UID,
    InMemoryReports,
    Issuer,
    LivingPods,
    PodClient,
    bound,
    running,
)

MakePod = Callable[..., PodClient]
TASK = new_task_id()
LONG_AGO = datetime.now(UTC) - timedelta(hours=2)


class Clock:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        """What it shows."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A monotonic clock."""
    return Clock()


class Silence:
    """An API server that takes requests and never answers, until the wait for it is given up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.asked = 0

    async def request(self, *_: Any, **__: Any) -> bytes:
        """Take all the time that there is."""
        self.asked += 1
        await asyncio.sleep(0)  # meanwhile everybody else comes too
        self._clock.now += FETCH_SECONDS
        raise RetryableError("silent")


@pytest.fixture
def tokens(issuer: Issuer, clock: Clock) -> PodTokens:
    """What checks tokens."""
    return PodTokens(kube=issuer, namespace=NAMESPACE, monotonic=clock)


async def test_a_good_token_is_its_pods(tokens: PodTokens, issuer: Issuer) -> None:
    assert (await tokens.pod_of(issuer.token(TASK), task=TASK)).pod_uid == POD_UID


NOT_OURS: dict[str, dict[str, Any]] = {
    "expired": {"exp": LONG_AGO},
    "of another issuer": {"iss": "https://elsewhere.example"},
    "for another audience": {"aud": ["https://kubernetes.default.svc"]},
    "for no audience": {"aud": None},
    "that never expires": {"exp": None},
    "that expires at a truth": {"exp": True},
    "of another namespace": {"kubernetes.io": bound(POD_UID, namespace="other")},
    "bound to nothing": {"kubernetes.io": {"namespace": NAMESPACE}},
    "bound to no uid": {"kubernetes.io": {"namespace": NAMESPACE, "pod": {"name": "pod"}}},
    "without Kubernetes' claims": {"kubernetes.io": None},
    "with odd claims": {"kubernetes.io": ["x"], "aud": {"a": 1}},
}


@pytest.mark.parametrize("changes", NOT_OURS.values(), ids=NOT_OURS)
async def test_a_token_is_refused_that_is(changes: dict[str, Any], tokens: PodTokens, issuer: Issuer) -> None:
    with pytest.raises(UnknownPodProblem):
        await tokens.pod_of(issuer.token(TASK, **changes), task=TASK)


async def test_a_token_of_another_task_is_told_apart_from_none(tokens: PodTokens, issuer: Issuer) -> None:
    with pytest.raises(ForeignPodProblem):
        await tokens.pod_of(issuer.token(new_task_id()), task=TASK)


async def test_a_token_that_was_good_is_not_when_its_time_is_over(issuer: Issuer) -> None:
    shown = Clock()
    shown.now = time.time()
    tokens = PodTokens(kube=issuer, namespace=NAMESPACE, clock=shown)
    token = issuer.token(TASK)
    assert (await tokens.pod_of(token, task=TASK)).pod_uid == POD_UID
    shown.now += 2 * 3600

    with pytest.raises(UnknownPodProblem):
        await tokens.pod_of(token, task=TASK)


async def test_a_token_that_nobody_signed_is_refused(tokens: PodTokens, issuer: Issuer) -> None:
    good = issuer.token(TASK)
    head, claims, _ = good.split(".")
    forged = Issuer()
    without = jwt.encode({"aud": "x"}, "", algorithm="none")
    by_public_key = jwt.encode(
        jwt.decode(good, options={"verify_signature": False}), "k" * 32, headers={"kid": "first"}
    )
    changed = base64.urlsafe_b64encode(json.dumps({"iss": issuer.issuer}).encode()).decode().rstrip("=")
    junk = ["x", "a.b.c", f"{head}.{claims}.", f"{head}.{changed}.{good.rpartition('.')[2]}", "é" * 10, "a" * 100_000]

    for token in (forged.token(TASK), without, by_public_key, *junk):
        with pytest.raises(UnknownPodProblem):
            await tokens.pod_of(token, task=TASK)


async def test_the_keys_are_asked_for_once(tokens: PodTokens, issuer: Issuer) -> None:
    for _ in range(5):
        await tokens.pod_of(issuer.token(TASK), task=TASK)

    assert issuer.asked.count(KEYS_PATH) == 1


async def test_a_key_that_is_not_known_is_looked_for_but_not_each_time(
    tokens: PodTokens, issuer: Issuer, clock: Clock
) -> None:
    await tokens.pod_of(issuer.token(TASK), task=TASK)
    issuer.add_key("second")
    with pytest.raises(UnknownPodProblem):  # it was asked a moment ago
        await tokens.pod_of(issuer.token(TASK), task=TASK)
    clock.now += FETCH_AGAIN_SECONDS

    assert (await tokens.pod_of(issuer.token(TASK), task=TASK)).pod_uid == POD_UID
    foreign = Issuer()
    foreign.add_key("foreign")
    for _ in range(10):
        with pytest.raises(UnknownPodProblem):
            await tokens.pod_of(foreign.token(TASK), task=TASK)
    assert issuer.asked.count(KEYS_PATH) == 2


async def test_a_key_that_was_withdrawn_is_forgotten(tokens: PodTokens, issuer: Issuer, clock: Clock) -> None:
    old = issuer.token(TASK)
    await tokens.pod_of(old, task=TASK)
    issuer.add_key("second")
    del issuer.keys["first"]
    clock.now += RENEW_SECONDS

    with pytest.raises(UnknownPodProblem):
        await tokens.pod_of(old, task=TASK)


async def test_without_keys_a_pod_is_asked_to_try_again_and_known_ones_go_on_being_good(
    tokens: PodTokens, issuer: Issuer, clock: Clock
) -> None:
    issuer.failure = RetryableError("away")
    with pytest.raises(LaterProblem):
        await tokens.pod_of(issuer.token(TASK), task=TASK)
    issuer.failure = None
    clock.now += 1
    await tokens.pod_of(issuer.token(TASK), task=TASK)
    issuer.failure = RetryableError("away")
    clock.now += RENEW_SECONDS

    assert (await tokens.pod_of(issuer.token(TASK), task=TASK)).pod_uid == POD_UID


async def test_of_many_pods_one_waits_for_an_api_server_that_is_silent(
    tokens: PodTokens, issuer: Issuer, clock: Clock
) -> None:
    tokens.kube = first = Silence(clock)
    told = await asyncio.gather(
        *(tokens.pod_of(issuer.token(TASK), task=TASK) for _ in range(20)), return_exceptions=True
    )
    assert ({type(each) for each in told}, first.asked) == ({LaterProblem}, 1)

    tokens.kube = issuer
    clock.now += FETCH_AGAIN_SECONDS
    await tokens.pod_of(issuer.token(TASK), task=TASK)
    tokens.kube = later = Silence(clock)
    clock.now += RENEW_SECONDS

    pods = await asyncio.gather(*(tokens.pod_of(issuer.token(TASK), task=TASK) for _ in range(20)))

    assert ({pod.pod_uid for pod in pods}, later.asked) == ({POD_UID}, 1)


@pytest.mark.parametrize("header", [None, "", "Basic eA==", "Bearer", "Bearer  "])
async def test_without_a_token_nothing_is_told(header: str | None, pod_of: MakePod, task_id: str) -> None:
    nobody = pod_of(task_id, token="")

    said = await nobody.send("GET", "", headers={} if header is None else {"Authorization": header})

    assert said.status == 401
    assert said.headers["WWW-Authenticate"] == 'Bearer realm="mcptasks"'
    assert said.body["status"] == 401


async def test_a_pod_cannot_speak_for_another_task(
    store: InMemoryReports, issuer: Issuer, pod_of: MakePod, task_id: str
) -> None:
    liar = pod_of(task_id, token=issuer.token(store.add()))

    said = [await liar.get(), await liar.put("/progress", {"progress": 1}), await liar.put("/result", {"content": []})]

    assert {each.status for each in said} == {403}
    assert store.writes == []


async def test_a_pod_that_is_not_the_current_one_is_refused(
    store: InMemoryReports, issuer: Issuer, pod_of: MakePod, task_id: str
) -> None:
    old = pod_of(task_id)
    assert (await old.get()).status == 200
    store.change(task_id, status=running("pod-2"))

    said = [await old.get(), await old.put("/progress", {"progress": 1}), await old.put("/result", {"content": []})]

    assert {each.status for each in said} == {403}
    current = pod_of(task_id, token=issuer.token(task_id, pod_uid="pod-2"))
    assert (await current.put("/result", {"content": []})).status == 204


@pytest.mark.parametrize("recorded", ["pod-1", None], ids=["the one before", "none since the one before"])
async def test_the_next_attempts_pod_is_asked_to_try_again_until_it_is_recorded(
    *, recorded: str | None, store: InMemoryReports, issuer: Issuer, pods: LivingPods, pod_of: MakePod, task_id: str
) -> None:
    store.change(task_id, status={"job": {"podUID": recorded}})
    old, new = pod_of(task_id), pod_of(task_id, token=issuer.token(task_id, pod_uid="pod-2"))
    pods.alive.add("pod-2")

    early = [await new.get(), await new.put("/progress", {"progress": 1}), await new.put("/result", {"content": []})]
    store.change(task_id, status=running("pod-2"))
    refused = await old.put("/result", {"content": []})
    taken = await new.put("/result", {"content": []})

    assert [(each.status, each.headers["Retry-After"]) for each in early] == [(503, "1")] * 3
    assert (refused.status, taken.status) == (403, 204)
    assert len(store.writes) == 1


async def test_between_two_attempts_an_old_pod_is_refused_and_not_looked_at_again(
    store: InMemoryReports, pods: LivingPods, pod: PodClient, task_id: str
) -> None:
    store.change(task_id, status={"job": {"podUID": None}})

    said = [await pod.put("/progress", {"progress": 1}) for _ in range(3)]

    assert [each.status for each in said] == [403, 403, 403]
    assert pods.looked_at == [POD_UID]


async def test_while_pods_cannot_be_looked_at_none_is_turned_away_for_good(
    store: InMemoryReports, issuer: Issuer, pods: LivingPods, pod_of: MakePod, task_id: str
) -> None:
    new = pod_of(task_id, token=issuer.token(task_id, pod_uid="pod-2"))
    pods.failure = UnavailableError("away")
    early = await new.put("/result", {"content": []})
    pods.failure = None
    pods.alive.add("pod-2")
    later = await new.put("/result", {"content": []})
    store.change(task_id, status=running("pod-2"))

    assert (early.status, early.headers["Retry-After"], later.status) == (503, "1", 503)
    assert (await new.put("/result", {"content": []})).status == 204


async def test_once_its_task_is_over_no_pod_is_new(
    store: InMemoryReports, issuer: Issuer, pods: LivingPods, pod_of: MakePod, task_id: str
) -> None:
    pods.alive.add("pod-2")
    store.change(task_id, status={"phase": "Failed"})

    assert (await pod_of(task_id, token=issuer.token(task_id, pod_uid="pod-2")).get()).status == 403
    assert pods.looked_at == []


async def test_a_pod_that_was_replaced_just_before_its_write_is_refused(
    store: InMemoryReports, pod: PodClient, task_id: str
) -> None:
    def replace(_: str) -> None:
        store.before_write = lambda _: None
        store.change(task_id, status=running("pod-2"))

    store.before_write = replace

    assert (await pod.put("/result", {"content": []})).status == 403
    assert store.writes == []


def test_problems_say_what_rfc_9457_asks_for() -> None:
    assert Problem("why", field="f").body() == {
        "type": "about:blank",
        "title": "Internal Server Error",
        "status": 500,
        "detail": "why",
        "field": "f",
    }
