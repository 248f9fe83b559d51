"""What was last seen: the newest version of each object, and nothing of what is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds import names
from mcptasks_crds.base import Json
from mcptasks_crds.kube import JOBS, PODS, TASKS
from mcptasks_operator.keys import keys_about, task_key
from mcptasks_operator.store import REMEMBERED_PODS, Store


def thing(name: str = "a", version: object = 1, task: str = "") -> Json:
    labels = {names.TASK_LABEL: task} if task else {}
    return {"metadata": {"name": name, "resourceVersion": str(version), "labels": labels}}


def pod(version: int, *, label: str = "t", job: str = "t") -> Json:
    document = thing("p", version, label)
    document["metadata"]["ownerReferences"] = [{"kind": "Job", "name": job, "uid": "u", "controller": True}]
    return document


def pod_names(store: Store, task: str) -> list[str]:
    return [document["metadata"]["name"] for document in store.pods_of(task)]


@pytest.mark.parametrize("label", ["other", ""])
def test_a_pod_stays_with_its_jobs_task_whatever_its_label_says(label: str) -> None:
    store = Store()
    store.put(PODS, pod(1))
    store.put(PODS, pod(2, label=label))

    assert (pod_names(store, "t"), pod_names(store, "other")) == (["p"], [])
    assert keys_about(PODS, pod(2, label=label)) == (task_key("t"),)

    store.remove(PODS, "p", version="3")

    assert (pod_names(store, "t"), pod_names(store, "other")) == ([], [])


def test_a_pod_without_owner_whose_label_changes_is_forgotten_where_it_was_put() -> None:
    store = Store()
    store.put(PODS, thing("p", 1, task="t"))
    store.put(PODS, thing("p", 2, task="other"))

    assert (pod_names(store, "t"), pod_names(store, "other")) == ([], ["p"])

    store.remove(PODS, "p", version="3")

    assert (pod_names(store, "t"), pod_names(store, "other")) == ([], [])


def test_what_a_listing_shows_is_there_though_a_watch_that_selects_by_label_told_its_end() -> None:
    store = Store()
    store.put(PODS, pod(1))
    store.remove(PODS, "p", version="2")

    assert store.put(PODS, pod(2), as_of="1") is False
    assert store.put(PODS, pod(2), as_of="2") is True
    assert pod_names(store, "t") == ["p"]


def test_an_older_version_never_replaces_a_newer_one() -> None:
    store = Store()

    assert store.put(TASKS, thing(version=10)) is True
    assert store.put(TASKS, thing(version=9)) is False
    assert store.put(TASKS, thing(version=10)) is False

    assert store.get(TASKS, "a") == thing(version=10)


def test_versions_are_numbers_not_text() -> None:
    store = Store()
    store.put(TASKS, thing(version=99))

    assert store.put(TASKS, thing(version=100)) is True


def test_of_versions_that_are_no_numbers_the_later_word_is_taken() -> None:
    store = Store()
    store.put(TASKS, thing(version="b"))

    assert store.put(TASKS, thing(version="a")) is True


def test_what_is_gone_does_not_come_back_with_a_late_word_of_its_life() -> None:
    store = Store()
    store.put(TASKS, thing(version=10))

    assert store.remove(TASKS, "a", version="12") is True
    assert store.put(TASKS, thing(version=11)) is False
    assert store.get(TASKS, "a") is None
    assert store.put(TASKS, thing(version=13)) is True


def test_a_late_word_of_an_end_does_not_remove_the_successor() -> None:
    store = Store()
    store.put(TASKS, thing(version=20))

    assert store.remove(TASKS, "a", version="12") is False
    assert store.get(TASKS, "a") is not None


def test_pods_are_found_by_their_task_and_forgotten_with_their_end() -> None:
    store = Store()
    store.put(PODS, thing("p1", task="t"))
    store.put(PODS, thing("p2", task="t"))
    store.put(PODS, thing("p3", task="other"))
    store.remove(PODS, "p1", version="5")

    assert [pod["metadata"]["name"] for pod in store.pods_of("t")] == ["p2"]
    store.remove(PODS, "p2", version="6")
    assert store.pods_of("t") == ()


def test_kinds_do_not_mix() -> None:
    store = Store()
    store.put(JOBS, thing("a"))

    assert store.get(TASKS, "a") is None


def test_managed_fields_are_not_kept_and_not_taken_from_the_giver() -> None:
    store = Store()
    given_document = thing()
    given_document["metadata"]["managedFields"] = [{"manager": "kubectl"}]

    store.put(TASKS, given_document)

    assert "managedFields" not in (store.get(TASKS, "a") or {})["metadata"]
    assert given_document["metadata"]["managedFields"]


def test_of_a_task_that_is_over_only_what_is_needed_to_remove_it_is_kept() -> None:
    store = Store()
    result = {"inline": "x" * 100_000}
    over = thing() | {
        "spec": {"tool": {"name": "echo"}, "arguments": "{}", "retentionSeconds": 5},
        "status": {"phase": "Completed", "result": result, "logTail": "y", "expiresAt": "z"},
    }
    store.put(TASKS, over)

    kept = store.get(TASKS, "a") or {}
    assert kept["spec"] == {"tool": {"name": "echo"}, "retentionSeconds": 5}
    assert kept["status"] == {"phase": "Completed", "expiresAt": "z"}
    assert over["status"]["result"] == result


@given(st.permutations(range(1, 8)), st.integers(1, 7))
def test_whatever_the_order_of_the_words_the_newest_one_stands(order: list[int], ends_at: int) -> None:
    store = Store()
    for version in order:
        if version == ends_at:
            store.remove(TASKS, "a", version=str(version))
        else:
            store.put(TASKS, thing(version=version))

    assert store.get(TASKS, "a") == (None if ends_at == 7 else thing(version=7))


def test_of_a_task_that_is_over_it_is_kept_that_its_pod_gave_the_result() -> None:
    """By that the pod has its while to end by itself; without it, it would be stopped at the next look."""
    store = Store()
    report = {"result": "x" * 100_000}
    status = {"phase": "Completed", "result": {"from": "report"}, "report": report}
    store.put(TASKS, thing() | {"spec": {"tool": {"name": "echo"}}, "status": status})

    (name,) = store.names(TASKS)
    kept = store.get(TASKS, name)
    assert kept is not None
    assert kept["status"] == {"phase": "Completed", "result": {"from": "report"}}


def test_of_pods_that_are_gone_the_latest_are_remembered_as_they_were_last_seen() -> None:
    store = Store()
    for number in range(REMEMBERED_PODS + 1):
        store.put(PODS, thing(f"p-{number}", 1, "t"))
        store.put(PODS, thing(f"p-{number}", 2, "t"))
        store.remove(PODS, f"p-{number}", version="3")

    assert store.gone_pod("p-0") is None
    assert store.gone_pod("p-1") == thing("p-1", 2, "t")
    assert store.pods_of("t") == ()
