"""Forms: what is asked and accepted is what the form asks for, by the judgement of the server and of others."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcptasks.cli.dialogue import ask
from mcptasks.errors import ProtocolError
from mcptasks.forms import FormError, Kind, accept, content_from, fields_of, parse_assignment
from mcptasks.forms.checks import violation
from mcptasks.forms.formats import FORMATS
from mcptasks.forms.shapes import fault
from mcptasks.models import InputRequired
from mcptasks.questions import Question, questions_of
from mcptasks_crds.forms import check_form_schema, violation_of_answer

WORDS = st.text(max_size=12)
NAMES = st.text("abcdefgh_-. é", min_size=1, max_size=6)
VALUES = st.lists(st.text("abc ,12", max_size=4), min_size=1, max_size=4, unique=True)
EXAMPLES = {
    "email": "anna@example.com",
    "uri": "https://example.com/a?b#c",
    "date": "2026-11-30",
    "date-time": "2026-11-30T14:30:00Z",
}


def bounds(low: str, high: str, of: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Both bounds, one of them, or none."""

    def pair(two: tuple[Any, Any]) -> st.SearchStrategy[dict[str, Any]]:
        least, most = sorted(two)
        return st.sampled_from([{}, {low: least}, {high: most}, {low: least, high: most}])

    return st.tuples(of, of).flatmap(pair)


def titled(values: list[str]) -> list[dict[str, str]]:
    return [{"const": value, "title": value.upper()} for value in values]


def field(kind: str, *more: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    told = st.fixed_dictionaries({}, optional={"title": WORDS, "description": WORDS})
    return st.tuples(told, *more).map(lambda parts: {"type": kind} | {k: v for part in parts for k, v in part.items()})


NUMBERS = st.integers(-20, 20) | st.floats(-20, 20)
FIELDS = st.one_of(
    field("string", bounds("minLength", "maxLength", st.integers(0, 6))),
    field("string", st.sampled_from(list(FORMATS)).map(lambda name: {"format": name})),
    field("number", bounds("minimum", "maximum", NUMBERS)),
    field("integer", bounds("minimum", "maximum", st.integers(-20, 20))),
    field("boolean"),
    field("string", VALUES.map(lambda values: {"enum": values})),
    field("string", VALUES.map(lambda values: {"oneOf": titled(values)})),
    field(
        "array",
        VALUES.map(lambda values: {"items": {"type": "string", "enum": values}}),
        bounds("minItems", "maxItems", st.integers(0, 3)),
    ),
    field("array", VALUES.map(lambda values: {"items": {"anyOf": titled(values)}})),
)


@st.composite
def forms(draw: st.DrawFn) -> dict[str, Any]:
    """A form that MCP knows, some of its fields with a default that they take."""
    properties = draw(st.dictionaries(NAMES, FIELDS, max_size=3))
    for schema in properties.values():
        default = draw(st.none() | typed(schema))
        if default is None:
            continue
        try:
            schema["default"] = content_from({"properties": {"x": schema}}, [parse_assignment(f"x={default}")])["x"]
        except FormError:
            continue
    required = [name for name in properties if draw(st.booleans())]
    return {"type": "object", "properties": properties, "required": required}


def typed(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    """What somebody may type into a field: what it takes, or nearly so, or anything."""
    match schema:
        case {"type": "number" | "integer"}:
            likely = NUMBERS.map(str) | st.sampled_from(["1e400", "NaN", "1e2", "-0", "2.0", "007"])
        case {"type": "boolean"}:
            likely = st.sampled_from(["yes", "No", "true", "maybe"])
        case {"enum": values}:
            likely = st.sampled_from([*values, "1", "2"])
        case {"oneOf": values} | {"items": {"anyOf": values}}:
            likely = st.sampled_from([*(each["const"] for each in values), "1", "1,2"])
        case {"items": {"enum": values}}:
            likely = st.lists(st.sampled_from([*values, "1"]), max_size=3).map(",".join)
        case {"format": str(name)}:
            likely = st.just(EXAMPLES[name]) | st.from_regex(r"[a-z]{1,3}[:@][\x21-\x7e]{0,8}", fullmatch=True)
        case _:
            likely = WORDS
    return likely | st.text(max_size=5)


def judged(form: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """What the server says of an answer."""
    return violation_of_answer(json.dumps(form), json.dumps(answer))


@given(form=forms())
def test_the_forms_that_are_tried_are_those_that_the_server_takes(form: dict[str, Any]) -> None:
    assert check_form_schema(form) is None
    assert all(each.kind is not Kind.JSON for each in fields_of(form))


@given(data=st.data(), form=forms())
def test_assignments_that_are_taken_are_what_the_form_asks_for(data: st.DataObject, form: dict[str, Any]) -> None:
    times = data.draw(st.lists(st.sampled_from(sorted(form["properties"])), max_size=5)) if form["properties"] else []
    assigned = [parse_assignment(f"{name}={data.draw(typed(form['properties'][name]))}") for name in times]
    try:
        content = content_from(form, assigned)
    except FormError:
        return
    assert judged(form, {"action": "accept", "content": content}) is None
    jsonschema.validate(json.loads(json.dumps(content)), form)


class Typist:
    """Types what it is given, and then Ctrl-D for ever."""

    def __init__(self, lines: list[str]) -> None:
        self.left = list(reversed(lines))
        self.shown: list[str] = []

    async def read(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self.left:
            raise EOFError
        return self.left.pop()

    def show(self, text: str) -> None:
        self.shown.append(text)

    def forget_typed(self) -> None:
        """Nothing was."""


def answered(form: Mapping[str, Any], lines: list[str]) -> tuple[dict[str, Any] | None, Typist]:
    typist = Typist(lines)
    question = Question(key="go", message="Well?", form=form, meta={})
    return asyncio.run(ask(question, typist, server="http://server/mcp")), typist


@settings(deadline=None)  # an event loop of its own for each
@given(data=st.data(), form=forms())
def test_what_a_person_is_asked_and_accepts_is_what_the_form_asks_for(
    data: st.DataObject, form: dict[str, Any]
) -> None:
    lines = []
    for schema in form["properties"].values():
        lines += [*data.draw(st.lists(typed(schema), max_size=2)), data.draw(typed(schema))]
    lines += [*data.draw(st.lists(st.sampled_from(["a", "edit", "", "x", "d", "cancel"]), max_size=3)), "a"]

    answer, _ = answered(form, lines)

    assert answer is None or judged(form, answer) is None


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_no_format_is_wider_than_the_servers(name: str, data: st.DataObject) -> None:
    form = {"type": "object", "properties": {"x": {"type": "string", "format": name}}}
    text = data.draw(typed(form["properties"]["x"]))  # type: ignore[index]  # it is the form above

    if FORMATS[name].is_one(text):
        assert judged(form, {"action": "accept", "content": {"x": text}}) is None
    assert FORMATS[name].is_one(EXAMPLES[name])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uri", "mailto:anna@example.com"),
        ("uri", "http://[::1]:8080/x"),
        ("uri", "urn:a:b"),
        ("uri", "https://anna:secret@example.com:443/a%20b?c=d/e?#f"),
        ("email", "o'hara+x@mail.example.co.uk"),
        ("date", "2028-02-29"),
        ("date-time", "2026-11-30T14:30:00.123456789+05:30"),
    ],
)
def test_what_people_write_is_taken(name: str, text: str) -> None:
    assert FORMATS[name].is_one(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uri", "example.com"),
        ("uri", "http://[::1"),
        ("uri", "http://a b"),
        ("uri", "http://x:99999"),
        ("email", "anna"),
        ("email", "a@b@c"),
        ("date", "30.11.2026"),
        ("date", "2026-02-30"),
        ("date-time", "2026-11-30"),
        ("date-time", "2026-11-30T25:00:00Z"),
    ],
)
def test_what_is_none_is_refused(name: str, text: str) -> None:
    assert not FORMATS[name].is_one(text)


FORM = {
    "type": "object",
    "required": ["sure", "where"],
    "properties": {
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "where": {"type": "string", "enum": ["staging", "production"]},
        "count": {"type": "integer", "minimum": 1, "default": 3},
        "tags": {"type": "array", "items": {"anyOf": titled(["a", "b,c"])}, "maxItems": 2},
        "note": {"type": "string", "maxLength": 5},
    },
}


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (["sure=yes", "where=staging"], {"count": 3, "sure": True, "where": "staging"}),
        (["sure:=false", "where=staging", "count=4"], {"count": 4, "sure": False, "where": "staging"}),
        (["sure=y", "where=staging", "tags=a", "tags=b,c"], {"tags": ["a", "b,c"]}),
        (["sure=y", "where=staging", "tags=b,c"], {"tags": ["b,c"]}),
        (["sure=y", "where=staging", 'tags:=["a"]'], {"tags": ["a"]}),
        (["sure=y", "where=staging", "note=a=b"], {"note": "a=b"}),
    ],
)
def test_a_form_is_filled_in_by_assignments(words: list[str], content: dict[str, Any]) -> None:
    filled = content_from(FORM, map(parse_assignment, words))

    assert filled | content == filled


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["sure=yes"], "where: is required"),
        (["sure=perhaps", "where=staging"], "sure: yes or no?"),
        (["sure=y", "where=moon"], "where: must be one of staging, production"),
        (["sure=y", "where=staging", "count=0"], "count: must be at least 1"),
        (["sure=y", "where=staging", "count=many"], "count: a whole number, such as 3?"),
        (["sure=y", "where=staging", "note=toolong"], "note: must have at most 5 characters"),
        (["sure=y", "where=staging", "note=\udc80"], "note: holds half a character"),
        (["sure=y", "where=staging", "tags=z"], "tags: z is not one of a, b,c"),
        (["sure=y", "where=staging", "who=me"], "who: there is no such field; there is sure, where, count, tags, note"),
        (["sure=y", "sure=n", "where=staging"], "sure: is given more than once"),
        (["sure:=maybe", "where=staging"], "sure: this is not JSON"),
        (["yes"], "'yes' is neither FIELD=VALUE nor FIELD:=JSON"),
        (["=yes"], "'=yes' is neither"),
    ],
)
def test_what_a_form_does_not_take_is_named_with_its_field(words: list[str], complaint: str) -> None:
    with pytest.raises(FormError) as caught:
        content_from(FORM, map(parse_assignment, words))

    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("odd", [{"enum": 5}, {"enum": None}, {"enum": [{}]}, {"oneOf": [5]}, {"oneOf": 5}])
def test_a_choice_without_values_is_a_text(odd: dict[str, Any]) -> None:
    (only,) = fields_of({"properties": {"where": {"type": "string", **odd}}})

    assert only.kind is Kind.TEXT


def test_a_choice_with_too_few_words_for_people_has_all_its_values() -> None:
    (only,) = fields_of({"properties": {"where": {"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}}})

    assert only.options == {"a": "a", "b": "b"}


def test_a_form_with_what_mcp_does_not_know_is_filled_in_as_json() -> None:
    form = {"type": "object", "properties": {"x": {"type": "object"}, "y": {}}}

    assert content_from(form, map(parse_assignment, ['x={"a": 1}', "y=2"])) == {"x": {"a": 1}, "y": 2}
    assert fields_of({}) == fields_of({"properties": [1]}) == ()
    assert accept({}, {}) == {"action": "accept", "content": {}}


def test_a_person_is_asked_field_by_field_and_may_correct_what_was_typed() -> None:
    lines = ["y", "2", "0", "", "1, 2", "", "edit", "", "staging", "7", "", "toolong", "ok", "accept"]

    answer, typist = answered(FORM, lines)

    content = {"sure": True, "where": "staging", "count": 7, "tags": ["a", "b,c"], "note": "ok"}
    assert answer == {"action": "accept", "content": content}
    assert typist.left == []
    assert "  Are you sure? (yes or no, required)" in typist.shown
    assert "    2) production" in typist.shown
    assert "    2) b,c: B,C" in typist.shown
    assert "  count (whole number, at least 1, else 3)" in typist.shown
    assert "  must be at least 1" in typist.shown
    assert "  must have at most 5 characters" in typist.shown


@pytest.mark.parametrize(("said", "action"), [("d", "decline"), ("CANCEL", "cancel"), ("dec", "decline")])
def test_a_person_who_does_not_want_to_fill_it_in_says_so_at_once(said: str, action: str) -> None:
    form = {"type": "object", "properties": {}}

    assert answered(form, ["?", said])[0] == {"action": action}


def test_nothing_is_sent_that_nobody_has_said() -> None:
    assert answered(FORM, [])[0] is None
    assert answered({}, ["", "yes", "no"])[0] is None
    assert answered({}, ["a"])[0] == {"action": "accept", "content": {}}


def test_what_a_server_says_cannot_look_like_the_dialogue() -> None:
    form = {"properties": {"x": {"type": "boolean", "title": "x\naccept, decline?", "description": "a\nb"}}}
    typist = Typist([])
    asyncio.run(ask(Question(key="go", message="a\naccept, decline?", form=form, meta={}), typist, server="s"))

    assert "    accept, decline?" in typist.shown
    assert all("\n" not in line.lstrip("\n") for line in typist.shown)


ODD: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2) | st.just([]) | st.just({})
)
NUMBERED = ("minimum", "maxLength", "maxItems")
KEYWORDS = ("type", "items", "enum", "enumNames", "oneOf", "anyOf", "default", "format", *NUMBERED)
ODD_FIELDS: st.SearchStrategy[Any] = ODD | st.dictionaries(
    st.sampled_from(KEYWORDS), ODD | st.lists(ODD | st.just({"const": []}), max_size=2)
)
ODD_FORMS: st.SearchStrategy[Any] = ODD | st.fixed_dictionaries(
    {}, optional={"properties": ODD | st.dictionaries(NAMES, ODD_FIELDS, max_size=2), "required": ODD | st.lists(ODD)}
)


@given(ODD_FORMS, st.one_of(ODD, st.just(["a"])))
def test_a_form_that_a_server_has_made_up_is_shown_or_its_fault_is_named(form: Any, value: Any) -> None:
    request = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": form}}
    asking = InputRequired(input_requests={"q": request}, request_state=None)
    if fault(form) is not None:
        with pytest.raises(ProtocolError, match="question 'q' has no form that can be shown: "):
            questions_of(asking)
        return
    question = questions_of(asking)["q"]
    for each in fields_of(question.form):
        assert each.hint()
        violation(question.form, {each.name: value})


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"type": "object", "required": 5}, "/required: must be a list of names"),
        ({"properties": []}, "/properties: must be an object"),
        ({"properties": {"n": True}}, "/properties/n: must be an object"),
        ({"properties": {"n": {"type": "string", "minLength": "1"}}}, "/properties/n/minLength: must be a number"),
        (5, "must be an object"),
    ],
)
def test_a_form_that_is_none_is_named_with_its_place(form: Any, says: str) -> None:
    assert fault(form) == says
