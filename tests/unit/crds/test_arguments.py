"""A call's arguments as environment variables."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds import limits, names
from mcptasks_crds.arguments import (
    ARGUMENTS_KEY,
    MAX_VALUE_BYTES,
    MAX_VARIABLES_BYTES,
    argument_variables,
    arguments_secret_data,
    properties_without_variable,
    variable_names,
)
from mcptasks_crds.jsontext import JsonTextError

SECRET_BYTES = 1024 * 1024
"""Kubernetes' limit of all values of a Secret."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
property_names = st.text(st.characters(codec="utf-8"), max_size=12) | st.from_regex(r"[a-zA-Z_-]{1,6}", fullmatch=True)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("written", "variable"),
    [
        pytest.param('"plain"', "plain", id="a string stands without quotes"),
        pytest.param(r'"a\nb\"c\u00e9"', 'a\nb"c\u00e9', id="escapes of a string are undone"),
        pytest.param(r'"\ud83d\ude00"', "\N{GRINNING FACE}", id="a surrogate pair is one character"),
        pytest.param('""', "", id="an empty string is empty"),
        pytest.param('"null"', "null", id="a string that looks like JSON stays a string"),
        pytest.param("1.0", "1.0", id="1.0 stays 1.0"),
        pytest.param("1e3", "1e3", id="an exponent stays"),
        pytest.param("-0", "-0", id="a negative zero stays"),
        pytest.param("123456789012345678901234567890", "123456789012345678901234567890", id="no digit is lost"),
        pytest.param("true", "true", id="a boolean is JSON's word"),
        pytest.param("null", "null", id="null is JSON's word, not the default"),
        pytest.param('{"b" : 1.0,\n"a":[ ]}', '{"b" : 1.0,\n"a":[ ]}', id="an object is the text that was written"),
        pytest.param(r'["\u0000"]', r'["\u0000"]', id="an escaped NUL inside an array stays an escape"),
        pytest.param(r'["\ud800"]', r'["\ud800"]', id="an escaped half of a pair inside an array stays an escape"),
        pytest.param('"$(DB) $$ `id`; id"', "$(DB) $$ `id`; id", id="nothing is escaped for anyone"),
    ],
)
def test_a_value_becomes_the_text_that_the_caller_meant(written: str, variable: str) -> None:
    given = f'{{"x": {written}}}'

    assert argument_variables(schema(x={"default": "other"}), given) == {"ARG_X": variable}


@pytest.mark.parametrize(
    ("property_schema", "variable"),
    [
        pytest.param({"default": "main"}, "main", id="a string"),
        pytest.param({"default": 3}, "3", id="a number"),
        pytest.param({"default": False}, "false", id="a boolean"),
        pytest.param({"default": None}, "null", id="null"),
        pytest.param({"default": ["\u00e9"]}, '["\u00e9"]', id="an array"),
        pytest.param({"type": "string"}, "", id="none"),
        pytest.param(True, "", id="a schema that is true"),
    ],
)
def test_an_omitted_property_has_its_default_or_is_empty(property_schema: Any, variable: str) -> None:
    assert argument_variables(schema(x=property_schema), "{}") == {"ARG_X": variable}


def test_arguments_that_the_schema_does_not_name_have_no_variable() -> None:
    assert argument_variables(schema(x={}), '{"y": 1}') == {"ARG_X": ""}


@pytest.mark.parametrize("input_schema", [{}, {"properties": None}, {"properties": []}, {"properties": {}}])
def test_a_schema_without_properties_has_no_variables(input_schema: dict[str, Any]) -> None:
    assert argument_variables(input_schema, '{"x": 1}') == {}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("a\0b", "NUL", id="a NUL"),
        pytest.param("\ud800", "surrogate", id="half of a surrogate pair"),
        pytest.param("x" * (MAX_VALUE_BYTES + 1), "32 KiB", id="a value over 32 KiB"),
        pytest.param("\u00e9" * (MAX_VALUE_BYTES // 2 + 1), "32 KiB", id="a value over 32 KiB in bytes alone"),
    ],
)
def test_what_no_environment_can_hold_is_only_in_the_file(value: str, why: str) -> None:
    arguments = json.dumps({"x": value, "y": "z"})

    assert argument_variables(schema(x={}, y={}), arguments) == {"ARG_Y": "z"}
    assert why in properties_without_variable(schema(x={}, y={}), arguments)["x"]
    assert properties_without_variable(schema(x={}, y={})) == {}
    assert properties_without_variable(schema(x={"default": value})).keys() == {"x"}


def test_the_longest_value_has_a_variable() -> None:
    longest = "x" * MAX_VALUE_BYTES

    assert argument_variables(schema(x={}), json.dumps({"x": longest})) == {"ARG_X": longest}


@pytest.mark.parametrize(
    ("properties", "without"),
    [
        pytest.param(("foo-bar", "foo_bar", "x"), {"foo-bar", "foo_bar"}, id="two names that become one"),
        pytest.param(("foo", "FOO", "x"), {"foo", "FOO"}, id="two names that differ in case alone"),
        pytest.param(("", "x"), {""}, id="an empty name"),
        pytest.param(("\u65e5\u672c", "x"), {"\u65e5\u672c"}, id="a name without a letter of ASCII"),
        pytest.param(("n" * 250, "x"), {"n" * 250}, id="a name longer than a Secret's key may be"),
    ],
)
def test_a_property_whose_name_makes_no_variable_is_only_in_the_file(
    properties: tuple[str, ...], without: set[str]
) -> None:
    input_schema = schema(**{name: {"default": "d"} for name in properties})

    assert argument_variables(input_schema, "{}") == {"ARG_X": "d"}
    assert properties_without_variable(input_schema).keys() == without
    assert variable_names(input_schema) == {"x": "ARG_X"}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "1", '"x"', "{", '{"x": 1} {}', '{"x": NaN}', '{"x": 1, "x": 2}', '{"x": 1' + "0" * 5000 + "}"],
)
def test_arguments_that_are_no_json_object_are_refused(text: str) -> None:
    with pytest.raises(JsonTextError):
        argument_variables(schema(x={}), text)


def test_a_secret_holds_the_whole_text_and_each_variable() -> None:
    text = '{"n" : 1.0, "s": "\\u0041"}'

    assert arguments_secret_data(schema(n={}, s={}), text) == {ARGUMENTS_KEY: text, "ARG_N": "1.0", "ARG_S": "A"}


def test_the_largest_arguments_fit_a_secret_with_all_their_variables() -> None:
    properties = {f"p{index}": {"default": "\u00e9" * (MAX_VALUE_BYTES // 2)} for index in range(100)}
    filler = 'x" ' * (limits.ARGUMENTS_BYTES // 4)
    text = json.dumps({"p0": filler[: limits.ARGUMENTS_BYTES - 40_000]})

    data = arguments_secret_data(schema(**properties), text)

    assert len(data) > 5
    assert sum(len(name) + len(value.encode()) for name, value in data.items()) < SECRET_BYTES


def test_the_variables_of_many_defaults_stay_within_their_bound() -> None:
    input_schema = schema(**{f"p{index}": {"default": "x" * MAX_VALUE_BYTES} for index in range(20)})

    variables = argument_variables(input_schema, "{}")

    assert sum(len(name) + len(value) for name, value in variables.items()) <= MAX_VARIABLES_BYTES
    assert len(variables) == MAX_VARIABLES_BYTES // MAX_VALUE_BYTES - 1
    assert len(properties_without_variable(input_schema)) == 20 - len(variables)


@given(st.dictionaries(property_names, json_values, max_size=8), st.booleans())
def test_each_property_has_its_value_as_a_variable_or_a_reason(values: dict[str, Any], ascii_only: bool) -> None:
    input_schema = schema(**{name: {} for name in values})
    text = json.dumps(values, ensure_ascii=ascii_only)

    variables = argument_variables(input_schema, text)
    reasons = properties_without_variable(input_schema, text)

    expected = {
        names.argument_variable(name): value if isinstance(value, str) else json.dumps(value, ensure_ascii=ascii_only)
        for name, value in values.items()
        if name not in reasons
    }
    assert variables == expected
    assert all("\0" not in value and value.encode() is not None for value in variables.values())
    assert variables.keys() <= set(variable_names(input_schema).values())


@given(st.sets(st.text("aA1_-.\u00e9", max_size=3), max_size=6))
def test_properties_have_a_variable_exactly_where_its_name_is_theirs_alone(properties: set[str]) -> None:
    input_schema = schema(**{name: {"default": name} for name in properties})

    variables = argument_variables(input_schema, "{}")

    named = {name: names.argument_variable(name) for name in properties}
    assert variables == {
        variable: name
        for name, variable in named.items()
        if list(named.values()).count(variable) == 1 and variable.strip("_") != "ARG"
    }
