"""Values against schemas: where they break them, and never at the price of the process."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.alternatives import alternatives
from mcptasks_crds.schemas import Schema, SchemaError

KIB = 1024
EXPRESSION: dict[str, Any] = {
    "$defs": {
        "expression": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {each: {"type": "array", "items": {"$ref": "#/$defs/expression"}}},
                    "required": [each],
                }
                for each in ("and", "or")
            ]
        }
    },
    "$ref": "#/$defs/expression",
}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"and": [value]}
    return value


@pytest.mark.parametrize(
    ("schema", "value", "pointer"),
    [
        pytest.param(EXPRESSION, nested(11), "", id="a recursive choice, eleven deep"),
        pytest.param(
            {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, [0] * 130_000, "/0", id="130,000 wrong items"
        ),
        pytest.param(
            {"propertyNames": {"maxLength": 3}},
            {f"key{number}": 0 for number in range(20_000)},
            "",
            id="20,000 wrong names",
        ),
        pytest.param({"items": {"format": "email"}}, ["x"] * 60_000, "/0", id="60,000 wrong formats"),
        pytest.param({"properties": {"a/b": {"items": {"type": "string"}}}}, {"a/b": ["x", 1]}, "/a~1b/1", id="deep"),
    ],
)
def test_the_first_violation_is_told_whatever_the_number_of_others(schema: Any, value: Any, pointer: str) -> None:
    violation = Schema(schema).violation(value)

    assert violation is not None
    assert violation.pointer == pointer
    assert violation.message


@pytest.mark.requirement("base/schema-cost")
def test_a_schema_that_wants_one_value_looked_at_in_too_many_ways_is_refused() -> None:
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(17)}

    with pytest.raises(SchemaError, match="more than 10,000 alternatives"):
        Schema({"$defs": doubling | {"d17": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/d0"}}})


def test_a_choice_of_thousands_is_a_schema_like_any_other() -> None:
    assert Schema({"anyOf": [{"const": number} for number in range(5_000)]}).violation(4_999) is None


@given(st.integers(1, 8), st.integers(1, 4))
def test_alternatives_are_counted_as_they_multiply(depth: int, width: int) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"anyOf": [schema] * width}

    assert alternatives(schema) == sum(width**level for level in range(depth + 1))


@pytest.mark.requirement("base/schema-valid", "base/no-remote-ref")
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {"n": {"type": "int"}}}, "/properties/n/type: "),
        ({"properties": {"n": {"pattern": "("}}}, "/properties/n/pattern: "),
        ({"$ref": "http://example.com/schema"}, "references to other documents are not followed"),
    ],
)
def test_a_schema_that_is_none_says_where(schema: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words.replace("(", r"\(")):
        Schema(schema)


def test_half_a_surrogate_pair_counts_as_one_character() -> None:
    assert Schema({"maxLength": 1}).violation("\ud800") is None


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"type": "number"}, math.inf, "(the whole): is a number beyond 1.7e308, which cannot be checked"),
        ({"items": {"type": "integer"}}, [1, -math.inf], "/1: is a number beyond 1.7e308, which cannot be checked"),
        (
            {"properties": {"": {"properties": {"n": {"type": "number"}}}}},
            {"": {"n": "x"}},
            '/n: "x" is not of type "number"',
        ),
        ({"properties": {"n": {"type": "number"}}}, {"n": None}, '/n: null is not of type "number"'),
    ],
)
def test_a_number_that_is_too_large_to_be_read_is_not_called_null(schema: Any, value: Any, says: str) -> None:
    assert str(Schema(schema).violation(value)) == says


def test_a_secret_number_is_not_described() -> None:
    violation = Schema({"properties": {"n": {"type": "number"}}}, secrets=["n"]).violation({"n": math.inf})

    assert str(violation) == "/n: breaks `type` of its schema"
