"""Kubernetes' Events about Jobs and pods: what is kept of them, whose task that is about, and how they are followed."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mcptasks_crds.base import Json
from mcptasks_crds.kube import EVENTS, PODS, Kind, RejectedError, RetryableError
from mcptasks_operator import eventbook
from mcptasks_operator.eventbook import EventBook, event_seen
from mcptasks_operator.eventwatch import LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS, SELECTORS, EventWatch
from mcptasks_operator.keys import Key, task_key
from mcptasks_operator.store import Store

TASK = "mt-aaaaaaaaaaaaaaaaaaaaaaaaaa"
POD = f"{TASK}-x7x2z"
SECOND = "2026-11-30T12:00:00Z"
LATER = "2026-11-30T12:00:05Z"


def event(kind: str = "Job", name: str = TASK, *, reason: str = "FailedCreate", note: str = "no", **more: Any) -> Json:
    """An Event as the API server shows one that was written in the older way."""
    return {
        "metadata": {"name": "x", "creationTimestamp": SECOND},
        "regarding": {"kind": kind, "name": name, "uid": f"{name}-uid"},
        "reason": reason,
        "note": note,
        "deprecatedLastTimestamp": SECOND,
        **more,
    }


@pytest.mark.parametrize(
    "dated",
    [
        {"deprecatedLastTimestamp": LATER, "deprecatedFirstTimestamp": SECOND},
        {"deprecatedLastTimestamp": None, "eventTime": LATER},
        {"deprecatedLastTimestamp": None, "eventTime": SECOND, "series": {"count": 3, "lastObservedTime": LATER}},
        {"deprecatedLastTimestamp": None, "metadata": {"name": "x", "creationTimestamp": LATER}},
    ],
)
def test_an_event_is_of_when_it_was_last_so_however_it_was_written(dated: Json) -> None:
    assert event_seen(event(**dated)).at == datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC)


def test_the_latest_event_of_each_reason_is_kept() -> None:
    book = EventBook()

    assert book.put(event(note="first"))
    assert book.put(event(reason="Other", note="second"))
    assert book.put(event(note="third", deprecatedLastTimestamp=LATER))
    assert not book.put(event(note="third", deprecatedLastTimestamp=LATER))

    assert [each.message for each in book.about(f"{TASK}-uid", None)] == ["second", "third"]


@pytest.mark.parametrize(
    "document",
    [event("Node"), event(name="somebody-elses"), {"metadata": {}}, event() | {"regarding": {"kind": "Job"}}],
)
def test_what_is_about_nothing_of_ours_is_not_kept(document: Json) -> None:
    assert not EventBook().put(document)


def test_what_is_gone_is_forgotten_and_of_the_rest_no_more_is_kept_than_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(eventbook, "KEPT", 2)
    book = EventBook()
    for name in ("mt-a", "mt-b", "mt-a", "mt-c"):
        book.put(event(name=name, note=name, deprecatedLastTimestamp=LATER if name == "mt-c" else SECOND))

    assert [bool(book.about(f"mt-{each}-uid")) for each in "abc"] == [True, False, True]

    book.forget("mt-a-uid")
    assert book.about("mt-a-uid") == ()


class Watched:
    """Gives out these batches of changes, one a watch; an error is raised. Then it is silent."""

    def __init__(self, *batches: list[Json] | Exception) -> None:
        self.batches = list(batches)
        self.asked: list[dict[str, str]] = []
        self.done = asyncio.Event()

    async def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        timeout_seconds: float,
        on_open: Callable[[], None] = lambda: None,
        **query: str,
    ) -> AsyncGenerator[Json, None]:
        assert (kind, namespace) == (EVENTS, "ns")
        self.asked.append(query)
        if not self.batches:
            self.done.set()
            await asyncio.Event().wait()
        batch = self.batches.pop(0)
        if isinstance(batch, Exception):
            raise batch
        for change in batch:
            yield change


async def followed(watched: Watched, store: Store | None = None) -> tuple[EventBook, list[Key], list[float]]:
    """What came of all that is given out: the book, the keys to look at, and the pauses between watches."""
    book, keys, pauses = EventBook(), list[Key](), list[float]()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    watch = EventWatch(
        kube=watched, namespace="ns", book=book, store=store or Store(), enqueue=keys.append, pause=pause
    )
    following = asyncio.create_task(watch.follow(SELECTORS[0]))
    async with asyncio.timeout(5):
        await watched.done.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return book, keys, pauses


def added(document: Json) -> Json:
    return {"type": "ADDED", "object": document}


async def test_the_task_of_a_job_or_of_a_pod_that_is_known_is_looked_at() -> None:
    store = Store()
    owner = {"kind": "Job", "name": TASK, "uid": "job-uid", "controller": True}
    store.put(PODS, {"metadata": {"name": POD, "uid": "p", "resourceVersion": "1", "ownerReferences": [owner]}})
    changes = [added(event()), added(event("Pod", POD, reason="FailedMount")), added(event("Pod", f"{TASK}-unknown"))]

    book, keys, _ = await followed(Watched(changes), store)

    assert keys == [task_key(TASK), task_key(TASK)]
    assert book.about(f"{TASK}-unknown-uid")


async def test_an_event_that_ages_out_is_no_news() -> None:
    _, keys, _ = await followed(Watched([added(event()), {"type": "DELETED", "object": event()}, added(event())]))

    assert keys == [task_key(TASK)]


async def test_a_watch_that_ends_or_fails_is_begun_anew_with_growing_pauses_told_once_an_episode(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused, cut = RejectedError("forbidden", status=403), RetryableError("cut off")
    watched = Watched([added(event())], *[refused] * 8, [], cut)

    _, keys, pauses = await followed(watched)

    assert pauses[:3] == [LEAST_PAUSE_SECONDS, LEAST_PAUSE_SECONDS, 2 * LEAST_PAUSE_SECONDS]
    assert max(pauses) == MOST_PAUSE_SECONDS
    assert pauses[-2:] == [LEAST_PAUSE_SECONDS, LEAST_PAUSE_SECONDS]
    assert keys == [task_key(TASK)]
    assert all(query["fieldSelector"] == SELECTORS[0] for query in watched.asked)
