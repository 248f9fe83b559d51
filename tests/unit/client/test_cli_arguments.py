"""Arguments as they are typed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks.cli.arguments import arguments_from
from mcptasks.errors import ArgumentsError


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("name=Ada", {"name": "Ada"}),
        ("name=", {"name": ""}),
        ("n=3", {"n": "3"}),
        ("n:=3", {"n": 3}),
        ("a=b=c", {"a": "b=c"}),
        ("a=:=", {"a": ":="}),
        ("list:=[1, null]", {"list": [1, None]}),
        ('text:="x"', {"text": "x"}),
        ("; rm -rf=$(DB)", {"; rm -rf": "$(DB)"}),
    ],
)
def test_an_assignment_is_text_or_json_as_it_says(assignment: str, expected: dict[str, Any]) -> None:
    assert json.loads(arguments_from([assignment])) == expected


@given(st.text(st.characters(exclude_characters="=:"), min_size=1), st.text())
def test_any_text_can_be_given(name: str, value: str) -> None:
    assert json.loads(arguments_from([f"{name}={value}"])) == {name: value}


@pytest.mark.parametrize("value", ["12345678901234567890123", "1.0", "1E+2", '{"a" :null}'])
def test_json_is_passed_on_as_it_is_written(value: str) -> None:
    assert arguments_from([f"n:={value}"]) == f'{{"n": {value}}}'


def test_a_document_is_passed_on_as_it_is_written() -> None:
    document = '{ "n":12345678901234567890123, "f":1.0 }\n'

    assert arguments_from([], document=document) == document


def test_assignments_add_to_a_document_and_win() -> None:
    assert json.loads(arguments_from(["a=x", "c:=3"], document='{"a": 1, "b": 2}')) == {"a": "x", "b": 2, "c": 3}


def test_nothing_is_an_empty_object() -> None:
    assert arguments_from([]) == "{}"


@pytest.mark.parametrize(
    ("assignments", "document", "message"),
    [
        (["name"], None, "neither name=text nor name:=json"),
        (["=x"], None, "neither"),
        ([":=3"], None, "neither"),
        (["n:=abc"], None, "write n=abc for a string"),
        (["n:="], None, "not JSON"),
        (["n:=NaN"], None, "not JSON"),
        (["n:=1}, {"], None, "not JSON"),
        (['n:=1, "m": 2'], None, "not JSON"),
        ([], "[1]", "not a JSON object"),
        ([], "{", "not JSON"),
    ],
)
def test_what_is_wrong_is_named(assignments: list[str], document: str | None, message: str) -> None:
    with pytest.raises(ArgumentsError, match=message):
        arguments_from(assignments, document=document)
