"""A schema as one of two: by judges that clients use, its references go on meaning what they meant."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from mcptasks_server.handles import HANDLE_SCHEMA
from mcptasks_server.unions import either

HANDLE = {"taskId": "mt-" + "a" * 32, "tool": "t", "status": "working"}
TREE = {"value": 1, "children": [{"value": 2, "children": []}]}
BAD_TREE = {"value": 1, "children": [{"value": "two", "children": []}]}


def _tree(reference: str, **more: Any) -> dict[str, Any]:
    """A schema of trees that refers to itself."""
    return {
        "type": "object",
        "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": reference}}},
        "required": ["value", "children"],
        **more,
    }


_NODE = _tree("#/$defs/node")
SCHEMAS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("to its root", _tree("#")),
    ("to a definition", {"type": "object", "$ref": "#/$defs/node", "$defs": {"node": _NODE}}),
    ("to a definition of an older draft", {"$schema": "http://json-schema.org/draft-07/schema#", **_tree("#")}),
    ("with an identity", _tree("https://example.org/tree", **{"$id": "https://example.org/tree"})),
    ("with an identity, to its root", _tree("#", **{"$id": "https://example.org/tree"})),
    (
        "with an identity inside",
        {"type": "object", "$ref": "#/$defs/node", "$defs": {"node": _tree("#", **{"$id": "urn:node"})}},
    ),
    ("to an anchor", _tree("#here", **{"$anchor": "here"})),
    (
        "to a dynamic anchor",
        {**_tree("#"), "$dynamicAnchor": "here"} | {"additionalProperties": {"$dynamicRef": "#here"}},
    ),
    (
        "recursively",
        {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$recursiveRef": "#"}},
            },
            "required": ["value", "children"],
        },
    ),
)


@pytest.mark.parametrize("schema", [schema for _, schema in SCHEMAS], ids=[name for name, _ in SCHEMAS])
def test_what_conforms_to_a_schema_conforms_to_its_union_and_what_breaks_it_does_not(schema: dict[str, Any]) -> None:
    before = json.dumps(schema)
    union = either(schema, HANDLE_SCHEMA)

    python = validator_for(union, default=Draft202012Validator)(union)
    rust = jsonschema_rs.validator_for(union)
    for accepts in (python.is_valid, rust.is_valid):
        assert accepts(TREE)
        assert accepts(HANDLE)
        assert not accepts(BAD_TREE)
        assert not accepts({})
        assert not accepts([])
    assert json.dumps(schema) == before
    assert union["type"] == "object"


def test_values_that_look_like_references_stay_as_they_are() -> None:
    schema = {
        "type": "object",
        "properties": {"$ref": {"const": {"$ref": "#/x"}}, "const": {"$ref": "#/properties/$ref"}},
        "examples": [{"$ref": "#/x"}],
    }

    [moved, _] = either(schema, HANDLE_SCHEMA)["anyOf"]

    assert moved["properties"]["$ref"] == {"const": {"$ref": "#/x"}}
    assert moved["properties"]["const"] == {"$ref": "#/anyOf/0/properties/$ref"}
    assert moved["examples"] == [{"$ref": "#/x"}]


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
_types = st.sampled_from(["object", "array", "string", "integer", "null", "boolean"])
_schemas = st.recursive(
    st.fixed_dictionaries({"type": _types}) | st.fixed_dictionaries({"const": _values}),
    lambda inner: (
        st.fixed_dictionaries({"properties": st.dictionaries(st.text(max_size=3), inner, max_size=3)})
        | st.fixed_dictionaries({"items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"$defs": st.fixed_dictionaries({"d": inner}), "$ref": st.just("#/$defs/d")})
    ),
    max_leaves=8,
)


@given(_schemas, st.dictionaries(st.text(max_size=3), _values, max_size=3))
def test_a_value_conforms_to_a_union_exactly_if_it_conforms_to_one_of_the_two(
    inner: dict[str, Any], value: dict[str, Any]
) -> None:
    schema = {"type": "object", "$defs": {"d": {"type": "integer"}}, "properties": {"a": inner}, "allOf": [inner]}
    never: dict[str, Any] = {"not": {}}

    assert jsonschema_rs.is_valid(either(schema, never), value) == jsonschema_rs.is_valid(schema, value)
