"""Every form that a tool can ask for is one that the server takes; the stand-in judges answers as the server does."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks.forms.checks import violation
from mcptasks.job import boolean, choice, choices, integer, number, optional, text
from mcptasks.job.fields import Field, answers_of, form_of
from mcptasks_crds.forms import check_form_schema, violation_of_answer

FIELDS: dict[str, Field[Any]] = {
    "text": text("Name", description="Yours", default="fox", min_length=1, max_length=20),
    "mail": text(format="email"),
    "number": number("Ratio", minimum=0.5, maximum=2, default=1.5),
    "integer": integer("Count", minimum=1, maximum=9, default=3),
    "boolean": boolean("Sure", default=True),
    "choice": choice(["red", "green"], "Colour", default="red"),
    "titled": choice({"r": "Red", "g": "Green"}, default="g"),
    "choices": choices(["a", "b", "c"], min_items=1, max_items=2, default=["a"]),
    "titled choices": choices({"a": "First", "b": "Second"}),
    "optional": optional(text()),
}


@pytest.mark.parametrize("name", FIELDS)
def test_each_kind_of_field_is_one_that_clients_can_show(name: str) -> None:
    assert check_form_schema(form_of({"answer": FIELDS[name]})) is None


def test_a_form_of_all_of_them_is_taken_too() -> None:
    form = form_of({name.replace(" ", "_"): field for name, field in FIELDS.items()})

    assert check_form_schema(form) is None
    assert "optional" not in form["required"]


def test_a_number_comes_back_as_the_fields_type() -> None:
    got = answers_of({"n": integer(), "x": number()}, {"n": 3.0, "x": 2})

    assert [(value, type(value)) for value in got.values()] == [(3, int), (2.0, float)]


def test_what_was_left_out_is_the_default_or_nothing() -> None:
    assert answers_of({"a": optional(integer(default=7)), "b": optional(text())}, {}) == {"a": 7, "b": None}


values = st.one_of(
    st.text(max_size=25),
    st.integers(-3, 12),
    st.floats(-3, 12, allow_nan=False),
    st.booleans(),
    st.lists(st.sampled_from(["a", "b", "c", "x"]), max_size=4),
    st.sampled_from(["red", "green", "r", "g"]),
)


@given(
    name=st.sampled_from([name for name in FIELDS if name != "mail"]),
    content=st.dictionaries(st.just("answer"), values),
)
def test_the_stand_in_takes_an_answer_exactly_where_the_server_does(name: str, content: dict[str, Any]) -> None:
    form = form_of({"answer": FIELDS[name]})
    by_the_server = violation_of_answer(json.dumps(form), json.dumps({"action": "accept", "content": content}))

    assert (violation(form, content) is None) == (by_the_server is None)
