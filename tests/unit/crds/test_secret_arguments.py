"""Arguments that are secrets: found wherever the schema says so, and quoted by nothing that is said of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.arguments import argument_variables, arguments_secret_data, variable_names
from mcptasks_crds.secretarguments import argument_schema, secret_properties

MARKER = "hunter2-zq"


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("property_schema", "is_secret"),
    [
        pytest.param({"writeOnly": True}, True, id="marked itself"),
        pytest.param({"properties": {"password": {"writeOnly": True}}}, True, id="a member of it is marked"),
        pytest.param({"items": {"anyOf": [{}, {"writeOnly": True}]}}, True, id="one of its elements may be marked"),
        pytest.param({"$ref": "#/$defs/secret"}, True, id="what it refers to is marked"),
        pytest.param({"$ref": "#/$defs/list"}, True, id="what it refers to in the end is marked"),
        pytest.param({"properties": {"default": {"writeOnly": True}}}, True, id="a member with a word's name is"),
        pytest.param({"writeOnly": False}, False, id="marked as none"),
        pytest.param({"properties": {"writeOnly": True}}, False, id="a member is called so"),
        pytest.param({"default": {"writeOnly": True}}, False, id="the word is in a value"),
        pytest.param({"$ref": "#/$defs/plain"}, False, id="what it refers to is plain"),
        pytest.param({"$ref": "#/nowhere/at/all"}, False, id="what it refers to is not there"),
        pytest.param({"$ref": "#token"}, True, id="it refers by an anchor, which may be anywhere"),
        pytest.param({"$dynamicRef": "#token"}, True, id="it refers by a dynamic anchor"),
        pytest.param({"$ref": "https://example.com/secret"}, True, id="it refers by an id, which may be anywhere"),
        pytest.param({"allOf": [{"type": "string"}, {"writeOnly": True}]}, True, id="marked in one of allOf"),
        pytest.param({"if": {}, "then": {"not": {"writeOnly": True}}}, True, id="marked somewhere in conditions"),
        pytest.param({"patternProperties": {"^x": {"writeOnly": True}}}, True, id="members by a pattern are marked"),
        pytest.param({"allOf": [{"$ref": "#/$defs/plain"}, {"type": "string"}]}, False, id="none of allOf is marked"),
        pytest.param(True, False, id="a schema that is true"),
    ],
)
def test_a_secret_never_gets_into_the_environment(property_schema: Any, is_secret: bool) -> None:
    definitions = {
        "secret": {"writeOnly": True},
        "plain": {"items": {"$ref": "#/$defs/plain"}},
        "list": {"items": {"anyOf": [{"$ref": "#/$defs/list"}, {"$ref": "#/$defs/secret"}]}},
    }
    input_schema = schema(token=property_schema, x={}) | {"$defs": definitions}

    variables = argument_variables(input_schema, '{"token": "s3cret", "x": 1}')

    assert variables == {"ARG_X": "1"} | ({} if is_secret else {"ARG_TOKEN": "s3cret"})
    assert secret_properties(input_schema) == (("token",) if is_secret else ())
    assert ("token" in variable_names(input_schema)) is not is_secret


def test_where_a_part_is_a_document_of_its_own_its_pointers_may_lead_anywhere() -> None:
    inner = {"$id": "urn:inner", "$ref": "#/$defs/a", "$defs": {"a": {"writeOnly": True}}}
    input_schema = schema(token={"$ref": "#/$defs/inner"}, x={}) | {"$defs": {"inner": inner, "a": {}}}

    assert secret_properties(input_schema) == ("token",)


SECRET = {"writeOnly": True}
BROKEN = [
    pytest.param(schema(p=SECRET | {"maxLength": 3}), {"p": MARKER}, "/p: breaks `maxLength`", id="too long"),
    pytest.param(schema(p=SECRET | {"enum": ["a"]}), {"p": MARKER}, "/p: breaks `enum`", id="not among the values"),
    pytest.param(schema(p=SECRET | {"type": "object"}), {"p": MARKER}, "/p: breaks `type`", id="another type"),
    pytest.param(schema(p=SECRET | {"pattern": "^a"}), {"p": MARKER}, "/p: breaks `pattern`", id="a pattern"),
    pytest.param(schema(p=SECRET | {"format": "email"}), {"p": MARKER}, "/p: breaks `format`", id="a format"),
    pytest.param(schema(p=SECRET | {"const": 1}), {"p": MARKER}, "/p: breaks `const`", id="a constant"),
    pytest.param(
        schema(p=SECRET | {"additionalProperties": False}), {"p": {MARKER: 1}}, "/p: breaks", id="a name inside of it"
    ),
    pytest.param(
        schema(p={"additionalProperties": {"type": "integer", "writeOnly": True}}),
        {"p": {MARKER: "x"}},
        "/p: breaks `type`",
        id="a place inside of it",
    ),
    pytest.param(
        schema(p={"properties": {"q": SECRET | {"maxLength": 3}}}), {"p": {"q": MARKER}}, "/p: breaks", id="a member"
    ),
    pytest.param(
        schema(p=SECRET) | {"anyOf": [{"required": ["q"]}]}, {"p": MARKER}, "(the whole): the value", id="the whole"
    ),
    pytest.param(
        schema(p=SECRET) | {"not": {}},
        {"p": MARKER},
        "(the whole): {} is not allowed for the value",
        id="the whole is refused",
    ),
    pytest.param(schema(p=SECRET) | {"required": ["q"]}, {"p": MARKER}, "/q: is required", id="missing"),
    pytest.param(
        schema(p=SECRET) | {"if": {"required": ["p"]}, "then": {"properties": {"p": {"maxLength": 2}}}},
        {"p": MARKER},
        "/p: breaks `maxLength`",
        id="on a condition",
    ),
    pytest.param(
        schema(p=SECRET, n={"maximum": 3}), {"p": MARKER, "n": 7}, "/n: the value is greater", id="another argument"
    ),
]


@pytest.mark.parametrize(("input_schema", "arguments", "said"), BROKEN)
def test_what_is_said_of_wrong_arguments_quotes_no_secret(
    input_schema: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    violation = argument_schema(input_schema).violation(arguments)

    assert MARKER not in str(violation)
    assert str(violation).startswith(said)


def test_where_there_is_no_secret_the_value_is_shown_for_that_helps() -> None:
    assert str(argument_schema(schema(n={"maximum": 3})).violation({"n": 7})).startswith("/n: 7 is greater")


@given(
    secret=st.recursive(
        st.just(MARKER) | st.integers() | st.booleans(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just(MARKER), inner, max_size=2),
        max_leaves=5,
    ),
    rule=st.sampled_from(
        [
            {"type": "null"},
            {"maxLength": 1},
            {"items": {"type": "null"}, "type": ["array", "object"], "additionalProperties": {"const": None}},
            {"propertyNames": {"maxLength": 1}, "contains": {"const": 0}, "minProperties": 1},
            {"oneOf": [{"type": "integer"}, {"minimum": 3}], "uniqueItems": True, "dependentRequired": {MARKER: ["x"]}},
        ]
    ),
    whole=st.sampled_from([{}, {"additionalProperties": False}, {"maxProperties": 0}, {"required": ["x"]}]),
)
def test_no_rule_tells_a_secret(secret: Any, rule: dict[str, Any], whole: dict[str, Any]) -> None:
    """`dependentRequired` names what the schema itself names, which is no secret."""
    input_schema = schema(p=SECRET | rule) | whole

    violation = argument_schema(input_schema).violation({"p": secret})

    assert violation is None or MARKER not in str(violation)


def test_in_the_secret_object_a_secret_stands_in_the_whole_text_alone() -> None:
    text = json.dumps({"p": MARKER, "n": 1})

    data = arguments_secret_data(schema(p=SECRET, n={}), text)

    assert data == {"arguments.json": text, "ARG_N": "1"}
