"""Which URIs a template matches."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.toolpack.uri_templates import uri_template


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        ("docs://{id}", "docs://1", {"id": "1"}),
        ("docs://{id}", "docs://a%2Fb%20%C3%A9", {"id": "a/b é"}),
        ("docs://{id}", "docs://a/b", None),
        ("docs://{id}", "docs://", None),
        ("docs://{id}", "docs://a%2", None),
        ("docs://{id}", "docs://%ff", None),
        ("docs://{id}/x.y", "docs://1/xzy", None),
        ("docs://{+path}/data", "docs://a/b/data", {"path": "a/b"}),
        ("docs://{a}/{b}", "docs://1/2", {"a": "1", "b": "2"}),
        ("docs://fixed", "docs://fixed", {}),
    ],
)
def test_a_template_matches_what_it_would_expand_to(template: str, uri: str, variables: dict[str, str] | None) -> None:
    assert uri_template(template).match(uri) == variables


@given(st.dictionaries(st.sampled_from(["one", "two"]), st.text(min_size=1), min_size=2))
def test_what_a_client_expands_is_read_back(values: dict[str, str]) -> None:
    try:
        uri = "x://{}/{}.txt".format(*(quote(values[name], safe="") for name in ("one", "two")))
    except UnicodeEncodeError:
        return  # half a surrogate pair is in no URI

    assert uri_template("x://{one}/{two}.txt").match(uri) == values


@pytest.mark.parametrize("template", ["x://{?q}", "x://{a,b}", "x://{a", "x://a}", "x://{a}{b}", "x://{a}/{a}", "{}"])
def test_a_template_that_could_not_be_read_back_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"served|twice|side"):
        uri_template(template)
