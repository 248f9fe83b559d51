"""Which arguments a tool wants mirrored into headers."""

from typing import Any

import pytest
from multidict import CIMultiDict

from mcptasks_crds.mirrored import mirrored_parameters
from mcptasks_server.errors import HeaderMismatchError
from mcptasks_server.parameters import check_mirrored


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def region(**more: Any) -> dict[str, Any]:
    return {"type": "string", "x-mcp-header": "Region", **more}


def test_nested_properties_are_mirrored_too() -> None:
    found = mirrored_parameters(schema(place=schema(region=region()), flag={"type": "boolean", "x-mcp-header": "Flag"}))

    assert {(each.path, each.header) for each in found} == {
        (("place", "region"), "Mcp-Param-Region"),
        (("flag",), "Mcp-Param-Flag"),
    }


@pytest.mark.requirement(
    "http/mirrored-definition-name", "http/mirrored-definition-type", "http/mirrored-definition-place"
)
@pytest.mark.parametrize(
    "invalid",
    [
        schema(a={"type": "number", "x-mcp-header": "A"}),
        schema(a={"type": "string", "x-mcp-header": ""}),
        schema(a={"type": "string", "x-mcp-header": "two words"}),
        schema(a={"type": "string", "x-mcp-header": "A\r\nB"}),
        schema(a={"type": ["string", "null"], "x-mcp-header": "A"}),
        schema(a={"type": "string", "x-mcp-header": 7}),
        schema(a=region(), b={"type": "string", "x-mcp-header": "REGION"}),
        schema(a=region(), b={"type": "array", "items": {"type": "string", "x-mcp-header": "B"}}),
        {**schema(a=region()), "anyOf": [schema(b={"type": "string", "x-mcp-header": "B"})]},
        {**schema(a=region()), "x-mcp-header": "Root"},
        {**schema(a=region()), "$defs": {"b": {"type": "string", "x-mcp-header": "B"}}},
    ],
)
def test_a_schema_with_an_invalid_annotation_mirrors_nothing_for_clients_drop_its_tool(invalid: dict[str, Any]) -> None:
    assert mirrored_parameters(invalid) == ()


def test_a_property_may_be_called_like_the_annotation_and_data_may_hold_it() -> None:
    found = mirrored_parameters(
        {**schema(**{"x-mcp-header": region()}), "examples": [{"x-mcp-header": 1}], "default": {"x-mcp-header": []}}
    )

    assert [each.path for each in found] == [("x-mcp-header",)]


@pytest.mark.requirement("http/mirrored-must-match", "http/mirrored-integers", "http/sentinel-exact")
@pytest.mark.parametrize(
    ("kind", "value", "sent", "is_same"),
    [
        ("string", "a", "a", True),
        ("string", "a", "A", False),
        ("string", "", "", True),
        ("string", "42", "42.0", False),
        ("integer", 42, "42", True),
        ("integer", 42, "42.00", True),
        ("integer", 42.0, "42", True),
        ("integer", -7, "-7", True),
        ("integer", 9007199254740993, "9007199254740992", False),
        ("integer", 42, "4.2e1", False),
        ("integer", 42, "42.5", False),
        ("integer", 1, "true", False),
        ("boolean", True, "true", True),
        ("boolean", False, "False", False),
        ("boolean", True, "1", False),
    ],
)
def test_a_header_must_say_what_its_argument_says(kind: str, value: object, sent: str, is_same: bool) -> None:
    parameters = mirrored_parameters(schema(a={"type": kind, "x-mcp-header": "A"}))
    headers = CIMultiDict({"mcp-param-a": sent})

    if is_same:
        check_mirrored(headers, parameters=parameters, arguments={"a": value})
    else:
        with pytest.raises(HeaderMismatchError):
            check_mirrored(headers, parameters=parameters, arguments={"a": value})
