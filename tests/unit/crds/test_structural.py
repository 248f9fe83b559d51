"""What pydantic writes and a CustomResourceDefinition cannot hold, turned into what means the same."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from mcptasks_crds.base import Resource, Timestamp, enforced
from mcptasks_crds.structural import StructuralError, structural_schema


class Colour(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Inner(Resource):
    """A part."""

    text: str = "plain"


class Model(Resource):
    """A model of
    two lines."""

    word: str
    """What it says."""
    maybe: int | None = None
    colour: Colour | None = None
    above: Annotated[float, Field(gt=1)] = 2.0
    below: Annotated[int, Field(lt=10)] | None = None
    constant: Literal["only"] | None = None
    at: Timestamp | None = None
    inner: Inner | None = None
    """Its own part."""
    made: Inner = Field(default_factory=lambda: Inner(text="made"))
    empty: Mapping[str, str] = Field(default_factory=dict)
    free: Mapping[str, Any] | None = None
    many: tuple[Inner, ...] = ()
    short: Annotated[str, enforced(maxLength=3)] | None = None


@pytest.fixture
def properties() -> dict[str, Any]:
    found: dict[str, Any] = structural_schema(Model, defaults=True)["properties"]
    return found


def test_an_optional_field_may_be_absent_and_never_null(properties: dict[str, Any]) -> None:
    assert properties["maybe"] == {"type": "integer", "format": "int64"}
    assert structural_schema(Model, defaults=True)["required"] == ["word"]


def test_an_optional_enumeration_keeps_its_values(properties: dict[str, Any]) -> None:
    assert properties["colour"] == {"type": "string", "enum": ["Red", "Blue"]}


def test_an_exclusive_bound_becomes_a_bound_with_a_flag(properties: dict[str, Any]) -> None:
    assert properties["above"] == {"type": "number", "minimum": 1.0, "exclusiveMinimum": True, "default": 2.0}
    assert properties["below"] == {"type": "integer", "format": "int64", "maximum": 10, "exclusiveMaximum": True}


def test_a_constant_becomes_an_enumeration_of_one(properties: dict[str, Any]) -> None:
    assert properties["constant"] == {"type": "string", "enum": ["only"]}


def test_a_reference_stands_where_it_points_and_the_fields_own_words_win(properties: dict[str, Any]) -> None:
    assert properties["inner"] == {
        "type": "object",
        "description": "Its own part.",
        "properties": {"text": {"type": "string", "default": "plain"}},
    }


def test_a_factorys_default_is_written_unless_it_is_empty(properties: dict[str, Any]) -> None:
    assert properties["made"]["default"] == {"text": "made"}
    assert "default" not in properties["empty"]
    assert "default" not in properties["many"]


def test_a_map_of_anything_keeps_unknown_fields(properties: dict[str, Any]) -> None:
    assert properties["free"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert properties["empty"] == {"type": "object", "additionalProperties": {"type": "string"}}


def test_a_moment_is_a_bounded_date_time(properties: dict[str, Any]) -> None:
    assert properties["at"] == {"type": "string", "format": "date-time", "maxLength": 40}


def test_what_the_api_server_alone_enforces_is_in_the_schema_and_not_in_the_model(properties: dict[str, Any]) -> None:
    assert properties["short"] == {"type": "string", "maxLength": 3}
    assert Model(word="", short="longer").short == "longer"


def test_without_defaults_nothing_is_filled_in() -> None:
    assert "default" not in str(structural_schema(Model, defaults=False))


def test_descriptions_are_one_line() -> None:
    assert structural_schema(Model, defaults=False)["description"] == "A model of two lines."


class Union(Resource):
    either: Inner | Model


class Recursive(Resource):
    child: Recursive | None = None


class Unknown(Resource):
    value: Any


class Fixed(Resource):
    pair: tuple[int, str]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (Union, r"Union\.either: anyOf"),
        (Recursive, "contains itself"),
        (Unknown, r"Unknown\.value: any value"),
        (Fixed, r"Fixed\.pair: prefixItems"),
    ],
)
def test_what_has_no_structural_form_is_refused_with_its_place(model: type[Resource], says: str) -> None:
    with pytest.raises(StructuralError, match=says):
        structural_schema(model, defaults=True)
