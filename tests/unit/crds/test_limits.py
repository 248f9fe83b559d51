"""Sizes: how a text is counted, how it is cut, and that the largest task still fits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds import limits
from mcptasks_crds.limits import clip, keep_head, keep_tail, stored_bytes
from mcptasks_crds.manifest import custom_resource_definitions

SHORT_ESCAPES = {'"', "\\", "\b", "\f", "\n", "\r", "\t"}
AWKWARD = st.sampled_from(
    ['"', "\\", "<", ">", "&", "\0", "\x1f", "\x7f", "\b", "\n", "\u2028", "\u2029", "é", "€", "😀"]
)
TEXTS = st.text(st.one_of(st.characters(codec="utf-8"), AWKWARD), max_size=200)


def go_string(text: str) -> bytes:
    """The text as Go's encoding/json (1.22 and later) writes it into an object, without its quotes."""
    written = bytearray()
    for character in text:
        if character in SHORT_ESCAPES:
            written += b"\\" + {"\b": b"b", "\f": b"f", "\n": b"n", "\r": b"r", "\t": b"t"}.get(
                character, character.encode()
            )
        elif character < " " or character in "<>&\u2028\u2029":
            written += b"\\u%04x" % ord(character)
        else:
            written += character.encode()
    return bytes(written)


@given(TEXTS)
def test_a_text_takes_what_go_writes_of_it(text: str) -> None:
    assert stored_bytes(text) == len(go_string(text))


def test_no_character_takes_more_than_the_worst_case() -> None:
    sizes = {stored_bytes(chr(point)) for point in range(0x110000) if not 0xD800 <= point < 0xE000}
    assert sizes == {1, 2, 3, 4, limits.WORST_STORED_BYTES_PER_CHARACTER}


def test_a_lone_surrogate_counts_as_the_character_that_replaces_it() -> None:
    assert stored_bytes("\ud800") == stored_bytes("\ufffd")


@given(TEXTS, st.integers(min_value=0, max_value=300))
def test_the_kept_beginning_is_the_longest_that_fits(text: str, limit: int) -> None:
    kept = keep_head(text, limit)
    assert text.startswith(kept)
    assert stored_bytes(kept) <= limit
    assert kept == text or stored_bytes(text[: len(kept) + 1]) > limit


@given(TEXTS, st.integers(min_value=0, max_value=300))
def test_the_kept_end_is_the_longest_that_fits(text: str, limit: int) -> None:
    kept = keep_tail(text, limit)
    assert text.endswith(kept)
    assert stored_bytes(kept) <= limit
    assert kept == text or stored_bytes(text[len(text) - len(kept) - 1 :]) > limit


@given(TEXTS, st.integers(min_value=3, max_value=300))
def test_a_clipped_text_fits_and_says_that_it_was_cut(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert stored_bytes(clipped) <= limit
    assert clipped == text if stored_bytes(text) <= limit else clipped.endswith("…")


@given(TEXTS, st.integers(min_value=0, max_value=300))
def test_what_fits_in_stored_bytes_fits_as_max_length_too(text: str, limit: int) -> None:
    assert len(keep_head(text, limit)) <= limit
    assert len(keep_tail(text, limit)) <= limit


# The sum. What a CEL rule bounds as a whole is taken as that bound; every other text as six bytes for each character.

COUNTED_BY_RULE = {
    "status.result.inline": limits.RESULT_STORED_BYTES,
    "status.report.result": limits.RESULT_STORED_BYTES,
    "status.report.content": 0,  # it counts with the result, whichever of the two that is
    "status.report.resultFrom.violation": limits.VIOLATION_STORED_BYTES,
    "status.report.tooLarge.head": limits.REFUSED_END_STORED_BYTES,
    "status.report.tooLarge.tail": limits.REFUSED_END_STORED_BYTES,
    "status.logTail": limits.LOG_TAIL_STORED_BYTES,
}
COUNTED_TOGETHER = {
    "spec.answers": limits.ANSWERS_STORED_BYTES,
    "spec.questions": limits.TOOL_QUESTIONS_STORED_BYTES,
    "status.report.questions": limits.QUESTIONS_STORED_BYTES,
    "status.answers": limits.ANSWERS_SEEN_STORED_BYTES,
}
NEVER_BOTH = (("spec.argumentsFrom", "spec.arguments"), ("status.result.inline", "status.report.result"))
KEY = 64


def worst_object(schema: dict[str, Any], path: str, *, texts: bool = True) -> int:
    members = [
        len(f'"{name}":,') + worst(inner, f"{path}.{name}".lstrip("."), texts=texts)
        for name, inner in schema["properties"].items()
        if f"{path}.{name}" not in {smaller for smaller, _ in NEVER_BOTH}
    ]
    return len("{}") + sum(members)


def worst_map(schema: dict[str, Any], path: str) -> int:
    entry = len('"":,') + KEY + worst(schema["additionalProperties"], f"{path}.*", texts=path not in COUNTED_TOGETHER)
    entries: int = schema["maxProperties"]
    return COUNTED_TOGETHER.get(path, 0) + entries * entry


def worst_text(schema: dict[str, Any], path: str, *, texts: bool) -> int:
    if "enum" in schema:
        return max(stored_bytes(value) for value in schema["enum"])
    assert "maxLength" in schema, f"{path} has no maxLength"
    characters: int = schema["maxLength"] if texts or "format" in schema else 0
    if schema.get("format") == "date-time" or schema.get("pattern", "").startswith("^[0-9a-f]{"):
        return characters  # which the API server checks: none of them is written as more than itself
    return COUNTED_BY_RULE.get(path, characters * limits.WORST_STORED_BYTES_PER_CHARACTER)


def worst(schema: dict[str, Any], path: str, *, texts: bool = True) -> int:
    """The most that a value of the schema takes as stored; an unbounded one fails the test."""
    match schema["type"]:
        case "object" if "additionalProperties" in schema:
            return worst_map(schema, path)
        case "object":
            return worst_object(schema, path, texts=texts)
        case "string":
            return 2 + worst_text(schema, path, texts=texts)
        case "array":
            entry = len(",") + worst(schema["items"], f"{path}[]", texts=texts)
            return len("[]") + int(schema["maxItems"]) * entry
        case "integer" | "number":
            return len("-1.7976931348623157e+308")
        case "boolean":
            return len("false")
        case other:
            pytest.fail(f"{path}: {other} is not counted")


@pytest.mark.requirement("failures/f2-16")
def test_the_worst_case_of_all_maxima_stays_below_one_mebibyte() -> None:
    schema = custom_resource_definitions()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    parts = {name: worst(schema["properties"][name], name) for name in ("spec", "status")}
    total = sum(parts.values()) + limits.METADATA_STORED_BYTES
    assert total < limits.OBJECT_STORED_BYTES
    # And there is room for the 256 KiB of annotations that Kubernetes lets others write (if they are plain text).
    assert total + 256 * limits.KIB < limits.OBJECT_STORED_BYTES


def test_what_the_operator_writes_of_answers_always_fits() -> None:
    """Else one answer too many would keep the task from ever ending."""
    each = limits.ANSWERER_SEEN_STORED_BYTES + limits.QUESTION_KEY_LENGTH
    assert limits.MAX_ANSWERS * each <= limits.ANSWERS_SEEN_STORED_BYTES


@pytest.mark.parametrize(("smaller", "larger"), NEVER_BOTH)
def test_of_what_is_never_there_twice_the_larger_is_counted(smaller: str, larger: str) -> None:
    schema = custom_resource_definitions()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    def at(path: str) -> dict[str, Any]:
        found: dict[str, Any] = schema
        for name in path.split("."):
            found = found["properties"][name]
        return found

    assert worst(at(smaller), smaller) <= worst(at(larger), larger)
