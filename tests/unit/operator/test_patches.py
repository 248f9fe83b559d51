"""Merge patches of the leaves that changed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mcptasks_operator.patches import merge_patch

leaves = st.one_of(st.integers(), st.text(max_size=4), st.booleans(), st.lists(st.integers(), max_size=3))
documents = st.recursive(
    st.dictionaries(st.sampled_from("abc"), leaves, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), st.one_of(leaves, inner), max_size=3),
    max_leaves=8,
)


def applied(document: Any, patch: Any) -> Any:
    """RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = applied(result.get(name), value)
    return result


@given(documents, documents)
def test_the_patch_turns_the_one_into_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert applied(old, merge_patch(old, new)) == new


@given(documents)
def test_nothing_is_written_where_nothing_changed(document: dict[str, Any]) -> None:
    assert merge_patch(document, document) == {}
