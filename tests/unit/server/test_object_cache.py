"""What a replica has written or shown is the least that it shows again."""

from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.cluster.object_cache import TOMBSTONES, Known, ObjectCache


def known(version: int) -> Known[int]:
    return Known(version=version, value=version)


def test_an_older_version_never_replaces_a_newer_one() -> None:
    cache: ObjectCache[int] = ObjectCache()

    taken = [cache.offer("a", known(version)) for version in (5, 3, 5, 7)]

    assert taken == [True, False, False, True]
    assert cache.get("a") == known(7)


def test_what_was_deleted_is_not_brought_back_by_a_slow_answer() -> None:
    cache: ObjectCache[int] = ObjectCache()
    cache.offer("a", known(5))
    cache.remove("a", version=6)

    assert not cache.offer("a", known(5))
    assert cache.get("a") is None
    assert cache.offer("a", known(8))  # made anew under the same name


def test_an_object_that_is_newer_than_a_list_stays() -> None:
    cache: ObjectCache[int] = ObjectCache()
    for name, version in (("gone", 2), ("kept", 3), ("new", 12)):
        cache.offer(name, known(version))

    cache.replace({"kept": known(3), "added": known(9)}, version=10)

    assert sorted(cache) == [3, 9, 12]


def test_a_late_deletion_of_an_older_object_removes_nothing() -> None:
    cache: ObjectCache[int] = ObjectCache()
    cache.offer("a", known(9))

    cache.remove("a", version=5)

    assert cache.get("a") == known(9)


def test_memory_of_the_deleted_is_bounded() -> None:
    cache: ObjectCache[int] = ObjectCache()

    for number in range(TOMBSTONES + 10):
        cache.remove(str(number), version=number)

    assert len(cache._deleted) == TOMBSTONES


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 30), st.sampled_from(["write", "delete", "list"]))),
    st.randoms(use_true_random=False),
)
def test_in_whatever_order_news_arrives_no_object_ever_goes_back(
    history: list[tuple[str, int, str]], order: object
) -> None:
    cache: ObjectCache[int] = ObjectCache()
    for name, version, kind in history:
        before = cache.get(name)
        if kind == "write":
            cache.offer(name, known(version))
        elif kind == "delete":
            cache.remove(name, version=version)
        else:
            cache.replace({name: known(version)}, version=max(version, 1))
        after = cache.get(name)

        if before is not None:
            assert after is None or after.version >= before.version
            if after is None:
                assert version >= before.version
