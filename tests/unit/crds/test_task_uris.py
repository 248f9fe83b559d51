"""The URIs of tasks' resources: written and read in one way, and in no other one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.names import TaskPart, is_object_name, is_own_uri, new_task_id, parse_task_uri, task_uri

TASK = "mt-" + "a" * 32
IDS = st.from_regex(r"\Amt-[a-z2-7]{26,52}\Z")


@given(IDS, st.sampled_from(TaskPart))
def test_a_uri_is_read_as_it_is_written(task: str, part: TaskPart) -> None:
    assert parse_task_uri(task_uri(task, part)) == (task, part)
    assert is_own_uri(task_uri(task, part))


@given(st.text(max_size=12), st.text(max_size=12), st.integers(0, 46))
def test_whatever_is_put_into_one_it_names_another_task_or_none(before: str, inside: str, place: int) -> None:
    uri = task_uri(TASK, TaskPart.LOG)
    changed = before + uri[:place] + inside + uri[place:]

    found = parse_task_uri(changed)

    assert found is None or task_uri(*found) == changed


@pytest.mark.parametrize(
    "uri",
    [
        f"mcptask://{TASK}/log\n",
        f"\nmcptask://{TASK}/log",
        f"mcptask://{TASK}/log\x00",
        f"mcptask://mcptask://{TASK}/log",
        f"{TASK}/log",
        f"mcptask://{TASK}/LOG",
        f"mcptask://{TASK}/",
        "",
    ],
)
def test_what_only_looks_like_one_is_none(uri: str) -> None:
    assert parse_task_uri(uri) is None


@pytest.mark.parametrize(("uri", "own"), [("McpTask:x", True), ("mcptask", True), ("mcptasks://x", False), ("", False)])
def test_the_scheme_is_known_in_any_case(uri: str, own: bool) -> None:
    assert is_own_uri(uri) is own


@pytest.mark.parametrize(
    "name", ["a", "mt-a-x2b4c", "a.b-c.d", pytest.param(new_task_id() + "-abcde", id="a new one's"), "a" * 253]
)
def test_an_objects_name_is_one(name: str) -> None:
    assert is_object_name(name)


@pytest.mark.parametrize("name", ["", "..", "a/b", "../x", "a%2fb", "A", "-a", "a-", "a..b", "a\n", "a?b", "a" * 254])
def test_what_would_lead_elsewhere_in_a_path_is_no_objects_name(name: str) -> None:
    assert not is_object_name(name)
