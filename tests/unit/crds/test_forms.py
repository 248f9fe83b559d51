"""Forms: what MCP's clients can show is taken, all else is named, and an answer is held against its form."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds.forms import action_of, check_form_schema, violation_of_answer

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
WORDS = ("type", "properties", "required", "$schema", "$ref", "enum", "enumNames", "oneOf", "items", "anyOf", "default")
BOUNDS = ("title", "minLength", "maxLength", "minimum", "maximum", "format", "pattern", "additionalProperties")
KEYWORDS = st.sampled_from((*WORDS, *BOUNDS))
SCHEMAS = st.dictionaries(
    KEYWORDS,
    JSON_VALUES | st.sampled_from(["object", "string", "array", "number", ["string"], ["a", "b"]]),
    max_size=5,
)


def form(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


FIELDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "title": "T", "description": "D", "minLength": 1, "maxLength": 3, "default": "ab"},
    "email": {"type": "string", "format": "email"},
    "date": {"type": "string", "format": "date", "default": "2026-12-01"},
    "number": {"type": "number", "minimum": 0, "maximum": 1.5, "default": 1},
    "integer": {"type": "integer", "minimum": -3, "default": 30},
    "flag": {"type": "boolean", "default": True},
    "choice": {"type": "string", "enum": ["a", "b"], "default": "b"},
    "named choice": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "titled choice": {"type": "string", "oneOf": [{"const": "a", "title": "A"}], "default": "a"},
    "choices": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "default": ["a"]},
    "titled choices": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "maxItems": 1},
}


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_every_kind_of_field_that_mcp_has_is_taken(field: dict[str, Any]) -> None:
    assert check_form_schema(form(x=field) | {"required": ["x"]}) is None


def test_a_form_may_be_empty_and_name_its_dialect() -> None:
    assert check_form_schema({"$schema": "https://json-schema.org/draft/2020-12/schema", **form()}) is None


@pytest.mark.parametrize(
    ("schema", "pointer", "says"),
    [
        ({"type": "string", "properties": {}}, "/type", "object"),
        ({"$schema": "http://example.invalid/x", **form()}, "", "example.invalid"),
        ({"type": "object"}, "/properties", "required"),
        (form(x={"type": "object", "properties": {}}), "/properties/x/type", "is not one of"),
        (form(x={}), "/properties/x/type", "required"),
        (form(x=True), "/properties/x", "object"),
        (form(x={"type": ["string", "null"]}), "/properties/x/type", "is not one of"),
        (form(x={"type": "string", "pattern": "^a$"}), "/properties/x", "pattern"),
        (form(x={"type": "string", "format": "ipv4"}), "/properties/x/format", "is not one of"),
        (form(x={"type": "string", "enum": []}), "/properties/x/enum", "less than 1"),
        (form(x={"type": "string", "enum": [1]}), "/properties/x/enum/0", "string"),
        (form(x={"type": "string", "enum": ["a"], "oneOf": []}), "/properties/x", "enum"),
        (form(x={"type": "string", "enum": ["a"], "enumNames": []}), "/properties/x/enumNames", "one name for each"),
        (form(x={"type": "string", "oneOf": [{"const": "a"}]}), "/properties/x/oneOf/0/title", "required"),
        (form(x={"type": "array"}), "/properties/x/items", "required"),
        (form(x={"type": "array", "items": {"type": "string"}}), "/properties/x/items/enum", "required"),
        (form(x={"type": "boolean", "enum": [True]}), "/properties/x", "enum"),
        (form(x={"type": "number", "multipleOf": 2}), "/properties/x", "multipleOf"),
        (form(x={"type": "integer", "minimum": 3, "maximum": 2}), "/properties/x/minimum", "more than maximum"),
        (form(x={"type": "integer", "default": "3"}), "/properties/x/default", "integer"),
        (form(x={"type": "string", "enum": ["a"], "default": "b"}), "/properties/x/default", "is not one of"),
        (
            form(x={"type": "array", "items": {"type": "string", "enum": ["a"]}, "default": ["b"]}),
            "/properties/x/default/0",
            "is not one of",
        ),
        (form() | {"required": ["y"]}, "/required", "y is not one of the properties"),
        (form() | {"additionalProperties": False}, "", "additionalProperties"),
        (form(**{"a/b": {"type": "null"}}), "/properties/a~1b/type", "is not one of"),
    ],
)
def test_what_a_client_could_not_show_is_named(schema: dict[str, Any], pointer: str, says: str) -> None:
    found = check_form_schema(schema)
    assert found is not None
    assert found.pointer == pointer
    assert says in found.message


@given(SCHEMAS)
def test_every_schema_is_judged(schema: dict[str, Any]) -> None:
    found = check_form_schema(schema)
    if found is None:
        text = json.dumps(schema)
        assert violation_of_answer(text, '{"action": "decline"}') is None
        assert "own form" not in (violation_of_answer(text, '{"action": "accept", "content": {}}') or "")


@given(st.dictionaries(st.text(max_size=5), SCHEMAS, max_size=3))
def test_every_field_is_judged(fields: dict[str, Any]) -> None:
    check_form_schema(form(**fields))


FORM = json.dumps(
    form(sure={"type": "boolean"}, note={"type": "string", "maxLength": 3}, when={"type": "string", "format": "date"})
    | {"required": ["sure"]}
)


@pytest.mark.parametrize(
    "answer",
    [
        '{"action":"accept","content":{"sure":true}}',
        '{"action":"accept","content":{"sure":false,"note":"abc","when":"2026-12-01","more":["a"]}}',
        '{"action":"decline"}',
        '{"action":"cancel","content":null}',
        '{"action":"decline","content":{"sure":3},"_meta":{"a":{}}}',
    ],
)
def test_an_answer_that_conforms_or_refuses_is_taken(answer: str) -> None:
    assert violation_of_answer(FORM, answer) is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("nonsense", "the answer is not a JSON object"),
        ("[]", "the answer is not a JSON object"),
        ('{"action":"accept","action":"decline"}', "occurs twice"),
        ("{}", "/action: is required"),
        ('{"action":"yes"}', "/action: "),
        ('{"action":"accept","content":[]}', "/content: "),
        ('{"action":"accept"}', "/content/sure: is required"),
        ('{"action":"accept","content":{}}', "/content/sure: is required"),
        ('{"action":"accept","content":{"sure":"true"}}', "/content/sure: "),
        ('{"action":"accept","content":{"sure":true,"note":"abcd"}}', "/content/note: "),
        ('{"action":"accept","content":{"sure":true,"when":"tomorrow"}}', "/content/when: "),
        ('{"action":"accept","content":{"sure":true,"more":{"deep":1}}}', "/content/more: "),
        ('{"action":"accept","content":{"sure":true,"more":[1]}}', "/content/more/0: "),
        (r'{"action":"accept","content":{"sure":true,"note":"\ud800"}}', "half of a surrogate pair"),
        (r'{"action":"decline","\udc00":1}', "half of a surrogate pair"),
        ('{"action":"accept","content":{"sure":' + "[" * 100_000 + "]" * 100_000 + "}}", "nested too deeply"),
    ],
)
def test_an_answer_that_breaks_its_form_is_told_where(answer: str, says: str) -> None:
    found = violation_of_answer(FORM, answer)
    assert found is not None
    assert says in found


@pytest.mark.parametrize("schema", ["", "3", '"x"', "[]", '{"type": 3}', '{"$ref": "http://example.invalid/x"}'])
def test_a_form_that_cannot_be_read_is_said_to_be_so(schema: str) -> None:
    found = violation_of_answer(schema, '{"action":"accept","content":{}}')
    assert found is not None
    assert "the question's own form cannot be read" in found


@given(JSON_VALUES)
def test_every_answer_is_judged(answer: Any) -> None:
    text = json.dumps(answer)
    assert (violation_of_answer(FORM, text) is None) <= (action_of(text) in ("accept", "decline", "cancel"))


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_what_an_answer_does_is_its_action(action: str) -> None:
    assert action_of(json.dumps({"action": action})) == action


@pytest.mark.parametrize("answer", ["", "3", "[]", "{}", '{"action":"accepted"}', '{"action":["accept"]}'])
def test_what_is_no_answer_does_nothing(answer: str) -> None:
    assert action_of(answer) is None
