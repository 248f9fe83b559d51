"""Headers that repeat parts of a request, with the reference SDK's reading of the spec as a second opinion."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared import inbound

from mcptasks.headers import encode_value, is_well_annotated, parameter_headers

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT)
def test_any_text_goes_through_a_header_and_back(value: str) -> None:
    encoded = encode_value(value)

    assert encoded.isascii()
    assert "\n" not in encoded
    assert encoded == encoded.strip()
    assert inbound.decode_header_value(encoded) == value


def string(header: Any = "Region", **members: Any) -> dict[str, Any]:
    return {"type": "string", "x-mcp-header": header, **members}


def test_annotated_arguments_become_headers_wherever_they_are() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": string(),
            "where": {"type": "object", "properties": {"shelf": {"type": "integer", "x-mcp-header": "Shelf"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            "plain": {"type": "string"},
        },
    }

    headers = parameter_headers(schema, {"region": "Köln", "where": {"shelf": 7}, "dry": True, "plain": "x"})

    assert headers == {"Mcp-Param-Region": "=?base64?S8O2bG4=?=", "Mcp-Param-Shelf": "7", "Mcp-Param-Dry-Run": "true"}


@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"region": {}}, {"other": 1}])
def test_absent_and_null_arguments_have_no_header(arguments: dict[str, Any]) -> None:
    assert parameter_headers({"properties": {"region": string()}}, arguments) == {}


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        pytest.param({}, True, id="no annotation"),
        pytest.param({"properties": {"a": string()}}, True, id="a string"),
        pytest.param({"properties": {"a": string(header="not a token")}}, False, id="no token"),
        pytest.param({"properties": {"a": string(header=3)}}, False, id="no text"),
        pytest.param({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}, False, id="a number"),
        pytest.param({"properties": {"a": string("X"), "b": string("x")}}, False, id="twice"),
        pytest.param({"properties": {"a": {"items": string()}}}, False, id="in an array"),
        pytest.param({"anyOf": [{"properties": {"a": string()}}]}, False, id="behind anyOf"),
        pytest.param({"$defs": {"a": string()}}, False, id="in a definition"),
        pytest.param({"properties": {"a": {"default": {"x-mcp-header": "A"}}}}, True, id="in data"),
        pytest.param({"properties": {"x-mcp-header": {"type": "string"}}}, True, id="a property of that name"),
    ],
)
def test_tools_whose_annotations_break_the_rules_are_known(schema: dict[str, Any], good: bool) -> None:
    assert is_well_annotated(schema) is good
    assert (inbound.find_invalid_x_mcp_header(schema) is None) is good
