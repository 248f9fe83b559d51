"""Arguments as a program's own types."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from mcptasks.job import ArgumentsError
from mcptasks.job.arguments import arguments_for, as_model, convert, read_arguments


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: float
    y: float = 0.0


@dataclass(frozen=True)
class Plan:
    epochs: int
    dry_run: bool = False
    rates: list[float] = field(default_factory=list)
    points: Mapping[str, Point] = field(default_factory=dict)
    mode: Literal["fast", "slow"] = "fast"
    colour: Colour | None = None


class Model(BaseModel):
    epochs: int
    password: str = ""


def test_a_dataclass_is_filled_in() -> None:
    plan = as_model(
        {"epochs": 3.0, "dry-run": True, "rates": [1], "points": {"a": {"x": 2}}, "colour": "red", "other": 1}, Plan
    )

    assert plan == Plan(epochs=3, dry_run=True, rates=[1.0], points={"a": Point(x=2.0)}, colour=Colour.RED)
    assert type(plan.epochs) is int
    assert type(plan.rates[0]) is float


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "/epochs: is required"),
        ({"epochs": "3"}, "/epochs: must be a whole number"),
        ({"epochs": True}, "/epochs: must be a whole number"),
        ({"epochs": 1.5}, "/epochs: must be a whole number"),
        ({"epochs": 1e400}, "/epochs: must be a whole number"),
        ({"epochs": 1, "rates": [1, "x"]}, "/rates/1: must be a number"),
        ({"epochs": 1, "rates": [10**400]}, "/rates/0: must be a number"),
        ({"epochs": 1, "rates": 1}, "/rates: must be an array"),
        ({"epochs": 1, "points": {"a": {}}}, "/points/a/x: is required"),
        ({"epochs": 1, "points": {"a": 1}}, "/points/a: must be an object"),
        ({"epochs": 1, "mode": "quick"}, '/mode: must be one of "fast", "slow"'),
        ({"epochs": 1, "colour": 1}, '/colour: must be one of "red", or must be null'),
        ({"epochs": 1, "dry-run": 1}, "/dry-run: must be true or false"),
    ],
)
def test_what_does_not_fit_is_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentsError) as raised:
        as_model(arguments, Plan)

    assert str(raised.value) == words


def test_a_pydantic_model_reads_itself_and_its_errors_show_no_values() -> None:
    assert as_model({"epochs": 2}, Model) == Model(epochs=2)
    with pytest.raises(ArgumentsError, match=r"/password: .*string") as raised:
        as_model({"epochs": 2, "password": [90210]}, Model)
    assert "90210" not in str(raised.value)


def test_a_class_that_is_neither_is_the_programs_own_mistake() -> None:
    with pytest.raises(TypeError):
        as_model({}, int)


def whole_mapping(arguments: dict[str, Any]) -> None: ...
def whole_dataclass(plan: Plan) -> None: ...
def whole_model(model: Model) -> None: ...
def by_name(epochs: int, dry_run: bool = False) -> None: ...
def one_by_name(epochs: int) -> None: ...
def without_hints(epochs, **others) -> None: ...  # type: ignore[no-untyped-def]
def with_a_sequence(epochs: Sequence[int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "given_arguments", "expected"),
    [
        (whole_mapping, {"a": 1}, {"arguments": {"a": 1}}),
        (whole_dataclass, {"epochs": 1}, {"plan": Plan(epochs=1)}),
        (whole_model, {"epochs": 1}, {"model": Model(epochs=1)}),
        (by_name, {"epochs": 2, "dry-run": True, "more": 1}, {"epochs": 2, "dry_run": True}),
        (one_by_name, {"epochs": 2}, {"epochs": 2}),
        (without_hints, {"epochs": "x", "more": 1}, {"epochs": "x", "more": 1}),
        (with_a_sequence, {"epochs": [1.0]}, {"epochs": [1]}),
    ],
)
def test_a_function_gets_its_arguments_by_its_parameters(
    function: Callable[..., None], given_arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = arguments_for(function, given_arguments)

    assert {name: found[name] for name in expected} == expected


def test_a_parameter_without_argument_and_default_is_named() -> None:
    with pytest.raises(ArgumentsError, match="/epochs: is required"):
        arguments_for(by_name, {})


@pytest.mark.parametrize("text", ["", "[]", "null", "[" * 100_000, '{"a":'])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(ArgumentsError):
        read_arguments(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)
)
hints = st.sampled_from(
    [int, float, str, bool, None, int | None, list[int], dict[str, int], Any, Literal[1, "a"], Colour]
)


@given(value=json_values, hint=hints)
def test_a_value_is_converted_or_refused_by_name(value: Any, hint: Any) -> None:
    said = ""
    try:
        convert(value, hint, at="/a")
    except ArgumentsError as error:
        said = str(error)
    assert said == "" or said.startswith("/a")
