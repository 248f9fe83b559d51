"""What goes to standard output and to standard error."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mcptasks.cli.exits import Exit
from mcptasks.cli.options import Output
from mcptasks.cli.outcomes import exit_of
from mcptasks.cli.output import Printer, printable, text_of
from mcptasks.cli.pretty import pretty
from mcptasks.cli.status import LiveReporter, PlainReporter, line_of, reporter
from mcptasks.errors import UnreachableError
from mcptasks.job.results import result_of as job_result
from mcptasks.models import TASK, Task, Tool, ToolResult
from mcptasks.testing import completed, state, tool_result

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


def task(document: dict[str, Any]) -> Task:
    return TASK.validate_python({"taskId": "mt-1", **document})


class Stream(io.TextIOWrapper):
    """A stream of some encoding, perhaps a terminal's."""

    def __init__(self, encoding: str = "utf-8", *, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def text(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode(self.encoding)


def printed(output: Output, task: Task, **stream: Any) -> str:
    into = Stream(**stream)
    Printer(output, stream=into).outcome(task)
    return into.text()


def test_a_result_is_its_text_and_nothing_else() -> None:
    assert printed(Output.TEXT, task(completed("two\nlines"))) == "two\nlines\n"


@pytest.mark.parametrize(("text", "shown"), [("a\n", "a\n"), ("a\n\n", "a\n\n"), ("", "\n"), ("\n", "\n")])
def test_a_result_that_ends_its_last_line_itself_gets_no_second_end(text: str, shown: str) -> None:
    assert printed(Output.TEXT, task(completed(text))) == shown


def test_a_task_without_a_result_prints_nothing() -> None:
    assert printed(Output.TEXT, task(state("cancelled"))) == ""
    assert printed(Output.TEXT, task(state("failed", error={"code": -32603, "message": "m"}))) == ""


@pytest.mark.parametrize(
    "document",
    [
        completed("é \U0001f600", structuredContent={"n": 12345678901234567890123, "f": 1.0, "z": None}),
        completed("no", is_error=True),
        state("failed", error={"code": -32603, "message": "m", "data": {"reason": "ImagePull"}}),
        state("cancelled"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_as_json_every_end_is_one_document_in_the_protocols_words(document: dict[str, Any], encoding: str) -> None:
    assert json.loads(printed(Output.JSON, task(document), encoding=encoding)) == {"taskId": "mt-1", **document}


@pytest.mark.parametrize("output", list(Output))
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_half_a_character_breaks_no_stream(output: Output, encoding: str) -> None:
    text = printed(output, task(completed("a\ud800b\U0001f600")), encoding=encoding)

    if output is Output.JSON:
        assert json.loads(text)["result"]["content"][0]["text"] == "a\ud800b\U0001f600"
    else:
        assert "\\ud800" in text


def test_a_tool_cannot_rewrite_the_terminal_but_a_pipe_gets_what_it_wrote() -> None:
    escape = task(completed("\x1b[2Jgone\ttab"))

    assert printed(Output.TEXT, escape, is_terminal=True) == "\\x1b[2Jgone\ttab\n"
    assert printed(Output.TEXT, escape) == "\x1b[2Jgone\ttab\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "image", "data": "AAAA", "mimeType": "image/png"}], "[image image/png]"),
        ([{"type": "resource_link", "uri": "file:///x", "name": "x"}], "file:///x"),
        ([{"type": "resource", "resource": {"uri": "x", "text": "inside"}}], "inside"),
        ([{"type": "hologram"}], "[hologram]"),
    ],
)
def test_what_is_no_text_is_named(content: list[dict[str, Any]], text: str) -> None:
    assert text_of(ToolResult.model_validate({"content": content})) == text


def test_a_structure_without_text_is_shown_as_json() -> None:
    result = ToolResult.model_validate({"content": [], "structuredContent": {"ä": [1]}})

    assert json.loads(text_of(result)) == {"ä": [1]}


def test_a_structure_that_is_repeated_as_text_is_laid_out_for_reading() -> None:
    structure = {"rows": 3, "groups": [{"value": "a" * 60}, {"value": "b" * 60}]}
    result = ToolResult.model_validate(tool_result(json.dumps(structure), structuredContent=structure))

    assert text_of(result).splitlines()[:3] == ["{", '  "rows": 3,', '  "groups": [']
    assert json.loads(text_of(result)) == structure


def test_a_structure_that_was_too_large_to_be_repeated_as_text_is_shown_itself() -> None:
    given = job_result(structured={"rows": "x" * 700_000}, parts=[])
    result = ToolResult.model_validate(given)

    assert len(given["content"][0]["text"]) < 100
    assert json.loads(text_of(result)) == given["structuredContent"]


def test_text_that_says_something_else_than_the_structure_is_kept() -> None:
    assert text_of(ToolResult.model_validate(tool_result("3 rows", structuredContent={"rows": 3}))) == "3 rows"


@given(JSON)
def test_layout_changes_nothing_but_white_space(value: Any) -> None:
    assert json.loads(pretty(value)) == value


def test_tools_are_shown_with_what_they_take() -> None:
    schema = {
        "type": "object",
        "required": ["by"],
        "properties": {
            "by": {"enum": ["country", "status"], "description": "The column.\nMore."},
            "top": {"type": "integer", "default": 5},
            "odd": True,
        },
    }
    into = Stream()
    Printer(Output.TEXT, stream=into).tools(
        [Tool.model_validate({"name": "sum", "description": "Sums up.\nAt length.", "inputSchema": schema})]
    )

    assert into.text().splitlines() == [
        "sum  Sums up.",
        "    by: one of country, status (required)  The column.",
        "    top: integer (default 5)",
    ]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (completed("yes"), Exit.COMPLETED),
        (completed("no", is_error=True), Exit.FAILED),
        (state("failed", error={"code": -32603, "message": "m"}), Exit.FAILED),
        (state("cancelled"), Exit.CANCELLED),
        (state("input_required", inputRequests={"k": {}}), Exit.INPUT_REQUIRED),
        (state("working"), Exit.NOT_FINISHED),
    ],
)
def test_every_state_has_its_exit_code(document: dict[str, Any], code: Exit) -> None:
    assert exit_of(task(document)) is code


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (state("working"), "mt-1 working"),
        (state("cancelled", statusMessage="cancelled"), "mt-1 cancelled"),
        (state("working", statusMessage="pulling\x1b[2J\nimage"), "mt-1 working: pulling\\x1b[2J image"),
        (state("failed", error={"code": 1, "message": "no image"}), "mt-1 failed: no image"),
        (state("input_required", inputRequests={"k": {}}), "mt-1 input_required: asks k"),
    ],
)
def test_a_task_in_one_line(document: dict[str, Any], line: str) -> None:
    assert line_of(task(document)) == line


def test_without_a_terminal_a_line_is_written_for_each_change(clock: Any) -> None:
    into = Stream()
    plain = PlainReporter(into, clock=clock)
    for document in (state("working"), state("working"), state("working", statusMessage="m"), completed("x")):
        plain.task(task(document))
        clock.now += 1.5
    plain.retry(UnreachableError("away"))

    assert into.text().splitlines() == [
        "   0.0 s  mt-1 working",
        "   3.0 s  mt-1 working: m",
        "   4.5 s  mt-1 completed",
        "   6.0 s  away; trying again",
    ]


def test_on_a_terminal_the_end_stays_on_a_line_and_markup_is_not_read(clock: Any) -> None:
    into = Stream(is_terminal=True)
    live = LiveReporter(Console(file=into, force_terminal=True, width=80), clock=clock)
    live.task(task(state("working", statusMessage="[red]x")))
    live.note("[bold]note")
    live.task(task(completed("x")))
    live.close()

    assert "mt-1 completed  0.0 s" in into.text()
    assert "[red]x" in into.text()
    assert "[bold]note" in into.text()


def test_colours_are_left_out_where_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch, clock: Any) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    into = Stream(is_terminal=True)
    live = LiveReporter(Console(file=into, force_terminal=True, width=80), clock=clock)
    live.task(task(state("working")))
    live.close()

    assert "\x1b[3" not in into.text()


@pytest.mark.parametrize(
    ("terminal", "term", "quiet", "kind"),
    [
        (True, "xterm", False, "LiveReporter"),
        (True, "dumb", False, "PlainReporter"),
        (False, "xterm", False, "PlainReporter"),
        (True, "xterm", True, "SilentReporter"),
    ],
)
def test_the_reporter_fits_where_it_writes(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, term: str, quiet: bool, kind: str
) -> None:
    monkeypatch.setenv("TERM", term)

    assert type(reporter(quiet=quiet, stream=Stream(is_terminal=terminal))).__name__ == kind


def test_a_result_with_control_characters_is_readable() -> None:
    assert printable("a\x00\x1b\r\u202eb\n\t") == "a\\x00\\x1b\\r\\u202eb\n\t"


def test_a_result_that_never_was_a_task_is_the_same_document_without_an_id() -> None:
    into = Stream()
    Printer(Output.JSON, stream=into).result(ToolResult.model_validate(tool_result("x")))

    assert json.loads(into.text()) == {"status": "completed", "result": tool_result("x")}
