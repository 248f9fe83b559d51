"""Tasks by their caller and by the request that made them, whatever becomes of the cache."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.names import REQUEST_LABEL
from mcptasks_crds.phases import Phase
from mcptasks_crds.task import TaskStatus
from mcptasks_server.cluster.object_cache import Known, ObjectCache
from mcptasks_server.cluster.seen_task import SeenTask, seen_task
from mcptasks_server.cluster.task_index import TaskIndex


def task(name: str, *, caller: str = "anna", second: int = 0, request: str | None = None) -> SeenTask:
    metadata: dict[str, Any] = {"name": name, "creationTimestamp": f"2026-01-01T00:00:{second:02d}Z"}
    if request is not None:
        metadata["labels"] = {REQUEST_LABEL: request}
    spec = {
        "tool": {"name": "t", "uid": "u", "generation": 1},
        "caller": caller,
        "retentionSeconds": 60,
        "pollIntervalMs": 1000,
    }
    return seen_task({"metadata": metadata, "spec": spec})


def test_a_callers_tasks_are_there_the_newest_first() -> None:
    cache: ObjectCache[SeenTask] = ObjectCache()
    index = TaskIndex(cache)
    for version, (name, caller, second) in enumerate([("b", "anna", 2), ("a", "anna", 1), ("c", "bert", 3)]):
        cache.offer(name, Known(version=version, value=task(name, caller=caller, second=second)))

    assert index.names_of("anna") == ["b", "a"]
    assert index.names_of("bert") == ["c"]
    assert index.names_of("nobody") == []


def test_a_requests_task_is_found_until_it_is_removed() -> None:
    cache: ObjectCache[SeenTask] = ObjectCache()
    index = TaskIndex(cache)
    cache.offer("a", Known(version=1, value=task("a", request="r")))
    before = index.of_request("r")
    cache.remove("a", version=2)

    assert (before, index.of_request("r")) == ("a", None)
    assert index.names_of("anna") == []


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["anna", "bert"]), st.integers(0, 3), st.booleans()),
        max_size=40,
    )
)
def test_the_index_is_what_the_cache_holds(history: list[tuple[str, str, int, bool]]) -> None:
    cache: ObjectCache[SeenTask] = ObjectCache()
    index = TaskIndex(cache)
    for version, (name, caller, second, is_kept) in enumerate(history):
        if is_kept:
            cache.offer(name, Known(version=version, value=task(name, caller=caller, second=second, request=name)))
        else:
            cache.remove(name, version=version)
        held = [seen.task for seen in cache]
        for each in ("anna", "bert"):
            own = [held_task for held_task in held if held_task.spec.caller == each]
            own.sort(key=lambda it: (str(it.metadata.creation_timestamp), it.metadata.name), reverse=True)
            assert index.names_of(each) == [it.metadata.name for it in own]
        assert (len(index), index.live_of("t"), index.live_of("u")) == (len(held), len(held), 0)
        assert {key for key in "abc" if index.of_request(key)} == {it.metadata.name for it in held}


def test_a_tools_tasks_are_counted_until_they_are_over() -> None:
    cache: ObjectCache[SeenTask] = ObjectCache()
    index = TaskIndex(cache)
    ended = task("a").task.model_copy(update={"status": TaskStatus(phase=Phase.CANCELLED)})
    cache.offer("a", Known(version=1, value=task("a")))
    cache.offer("b", Known(version=2, value=task("b")))
    before = index.live_of("t")
    cache.offer("a", Known(version=3, value=SeenTask(task=ended, is_whole=True)))

    assert (before, index.live_of("t"), len(index)) == (2, 1, 2)
