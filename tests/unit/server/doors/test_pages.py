"""A long result in pages: nothing is lost, and each page says how to go on."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_server.pages import PAGE_CHARACTERS, PastTheEndError, page_of

NEXT = {"taskId": "mt-a"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def text(of: str) -> dict[str, Any]:
    return {"type": "text", "text": of}


def page(result: dict[str, Any] | str, offset: int = 0) -> dict[str, Any]:
    source = result if isinstance(result, str) else json.dumps(result)
    shown: dict[str, Any] = json.loads(orjson.dumps(page_of(source, offset=offset, next_call=NEXT)))
    return shown


def test_a_short_result_stays_as_the_tool_wrote_it() -> None:
    source = '{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":1.0,"big":12345678901234567890123}}'

    members = page_of(source, offset=0, next_call=NEXT)

    assert orjson.dumps(members).decode() == source


def test_a_long_text_comes_in_pages_and_each_but_the_last_says_where_the_next_begins() -> None:
    whole = "".join(chr(33 + at % 90) for at in range(2 * PAGE_CHARACTERS + 7))

    first, second, third = (page({"content": [text(whole)]}, offset) for offset in (0, 20_000, 40_000))

    assert whole == "".join(each["content"][0]["text"] for each in (first, second, third))
    assert '"offset": 20000' in first["content"][-1]["text"]
    assert '"taskId": "mt-a"' in first["content"][-1]["text"]
    assert '"offset": 40000' in second["content"][-1]["text"]
    assert "This is the end" in third["content"][-1]["text"]


def test_what_is_no_text_comes_untouched_with_the_first_page() -> None:
    result = {"content": [IMAGE, text("x" * 30_000)], "structuredContent": {"n": 1}, "isError": True}

    first, second = page(result), page(result, PAGE_CHARACTERS)

    assert IMAGE in first["content"]
    assert IMAGE not in second["content"]
    assert first["structuredContent"] == {"n": 1}
    assert "structuredContent" not in second
    assert (first["isError"], second["isError"]) == (True, True)


def test_large_structured_content_is_paged_as_text_unless_a_text_says_the_same() -> None:
    structured = {"rows": ["x" * 100] * 300}
    said = {"content": [text(json.dumps(structured, indent=1))], "structuredContent": structured}
    unsaid = {"content": [text("done")], "structuredContent": structured}

    for result, times in ((said, 1), (unsaid, 1)):
        offset, seen = 0, ""
        while True:
            shown = page(result, offset)
            assert "structuredContent" not in shown
            seen += shown["content"][0]["text"]
            if "This is the end" in shown["content"][-1]["text"]:
                break
            offset += PAGE_CHARACTERS
        assert seen.count("rows") == times


@pytest.mark.parametrize("result", [{"content": [text("short")]}, {"content": []}, {"structuredContent": {}}])
def test_past_the_end_there_is_no_page(result: dict[str, Any]) -> None:
    with pytest.raises(PastTheEndError):
        page(result, 5)


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(0, 400))
def test_every_page_of_every_text_can_be_written(texts: list[str], offset: int) -> None:
    source = json.dumps({"content": [text(each * 200) for each in texts]})
    try:
        members = page_of(source, offset=offset, next_call=NEXT)
    except PastTheEndError:
        return

    orjson.dumps(members)


def test_lone_surrogates_are_handed_on() -> None:
    members = page_of('{"content":[{"type":"text","text":"' + "\\ud800" * 30_000 + '"}]}', offset=0, next_call=NEXT)

    assert b"\\ud800" in orjson.dumps(members)
