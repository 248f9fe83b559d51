"""What the client gets of what the tool gave, byte for byte and within bounds."""

import json
from typing import Any

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcptasks_crds import limits
from mcptasks_crds.jsontext import members
from mcptasks_crds.logtails import LogSeen
from mcptasks_crds.phases import Phase
from mcptasks_crds.reasons import Reason
from mcptasks_crds.task import Stopping, TaskStatus
from mcptasks_operator.decide import decide
from mcptasks_operator.observation import ContainerSeen
from mcptasks_operator.samples import ago, ended, execution, job, log, observation, pod, running, status, task

SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]})
TAIL = 64 * 1024


def outcome(container: ContainerSeen, *, log: LogSeen | None = None, schema: str | None = None) -> TaskStatus:
    decision = decide(observation(pods=(pod(container),), log=log, job=job(execution=execution(output_schema=schema))))
    assert decision.need is None
    return decision.status


def result(decided: TaskStatus) -> str:
    assert decided.result is not None
    assert decided.result.inline is not None
    return decided.result.inline


def text(decided: TaskStatus) -> str:
    content: list[dict[str, Any]] = json.loads(result(decided))["content"]
    assert [block["type"] for block in content] == ["text"]
    words: str = content[0]["text"]
    return words


def test_a_message_is_the_text_exactly() -> None:
    decided = outcome(ended(0, "  grüße 🎉 \x00\x1b[31m\n"))

    assert text(decided) == "  grüße 🎉 \x00\x1b[31m\n"
    assert decided.log_tail is None


def test_a_log_is_the_text_exactly_and_stands_once() -> None:
    decided = outcome(ended(), log=log("one\ntwo\n"))

    assert text(decided) == "one\ntwo\n"
    assert decided.log_tail is None


def test_a_tool_that_said_nothing_gives_a_text_all_the_same() -> None:
    assert text(outcome(ended(), log=log(""))) == "(no output)"


def test_a_blank_message_counts_as_none() -> None:
    assert text(outcome(ended(0, "\n"), log=log("printed"))) == "printed"


def test_a_cut_log_says_how_much_of_it_is_left() -> None:
    assert (
        text(outcome(ended(), log=log("é" * 10, is_whole=False)))
        == "... (only the last 20 bytes are kept)\n" + "é" * 10
    )


def test_a_message_that_fills_all_that_kubernetes_keeps_may_be_cut() -> None:
    assert text(outcome(ended(0, "x" * 4096))).endswith("(it may be cut: Kubernetes keeps at most 4096 bytes of it)")
    assert text(outcome(ended(0, "x" * 4095))) == "x" * 4095


def test_bytes_that_are_no_text_count_as_the_bytes_that_they_were() -> None:
    replaced = "\N{REPLACEMENT CHARACTER}"

    assert text(outcome(ended(0, replaced * 2000))) == replaced * 2000
    assert "it may be cut" in text(outcome(ended(0, replaced * 4096)))


def test_a_pod_of_many_containers_keeps_less_of_each_message() -> None:
    assert "at most 2048 bytes" in text(outcome(ended(0, "x" * 2048, message_limit=2048)))


@pytest.mark.requirement("tools/text-twin")
def test_structured_content_keeps_the_tools_own_digits() -> None:
    source = '{"n": 1.0, "big": 123456789012345678901234567890, "z": null, "e": 1E+2}'

    decided = outcome(ended(0, f"\n{source}\n"), schema=SCHEMA)

    assert members(result(decided))["structuredContent"] == source
    assert text(decided) == source
    assert decided.reason is Reason.SUCCEEDED


def test_the_last_line_of_the_log_is_the_structured_content_where_no_result_was_written() -> None:
    decided = outcome(ended(), log=log('warning: slow\n{"n":2.50}\n\n'), schema=SCHEMA)

    assert members(result(decided))["structuredContent"] == '{"n":2.50}'
    assert decided.log_tail == 'warning: slow\n{"n":2.50}\n\n'


def test_a_line_separator_inside_a_json_string_is_no_line() -> None:
    source = '{"n":1,"s":"a\u2028b"}'

    assert members(result(outcome(ended(), log=log(source), schema=SCHEMA)))["structuredContent"] == source


@pytest.mark.requirement("tools/output-schema", "failures/f3-21")
@pytest.mark.parametrize(
    ("written", "why"),
    [
        pytest.param('{"n": "one"}', '/n: "one" is not of type "number"', id="a member breaks the schema"),
        pytest.param("{}", "/n: is required", id="a member is missing"),
        pytest.param("[1]", "it must be a JSON object and is an array", id="an array is no object"),
        pytest.param("true", "it must be a JSON object and is a boolean", id="true is no object"),
        pytest.param("null", "it must be a JSON object and is null", id="null is no object"),
        pytest.param('{"n": NaN}', "it is not JSON: NaN is not JSON", id="NaN is not JSON"),
        pytest.param('{"n": 1, "n": 2}', 'it has the member "n" twice', id="a member twice"),
        pytest.param('{"n": 1, "a": [{"b": 1, "b": 1}]}', 'it has the member "b" twice', id="a member twice below"),
        pytest.param('{"n": 1, "s": "\\ud800"}', "half of a surrogate pair", id="half a character"),
        pytest.param('{"n": 1, "\\udc00": 1}', "half of a surrogate pair", id="half a character in a name"),
        pytest.param('{"n": ' + "[" * 64 + "]" * 64 + "}", "deeper than 64 levels", id="65 levels"),
        pytest.param('{"n": 1', "it is not JSON", id="half a document is not JSON"),
        pytest.param("plain words", "it is not JSON", id="words are not JSON"),
        pytest.param(
            '{"n":' + "9" * 4000 + "0" * 1000 + "}",
            "it holds an integer of 5000 digits",
            id="a number beyond all measure",
        ),
        pytest.param("[" * 4000, "nested deeper than 64 levels", id="deep nesting"),
    ],
)
def test_a_result_that_breaks_the_output_schema_is_a_tool_error_that_says_where(written: str, why: str) -> None:
    decided = outcome(ended(0, written, message_limit=10_000), schema=SCHEMA)

    assert (decided.phase, decided.reason) == (Phase.COMPLETED, Reason.OUTPUT_INVALID)
    assert json.loads(result(decided))["isError"] is True
    assert "$MCPTASK_RESULT" in (decided.message or "")
    assert why in (decided.message or "")
    assert text(decided) == f"{decided.message}\n{written}"


def test_a_cut_document_names_the_limit() -> None:
    decided = outcome(ended(0, '{"n": "' + "x" * 4089), schema=SCHEMA)

    assert "Kubernetes keeps at most 4096 bytes" in (decided.message or "")


def test_a_log_without_json_names_the_file_for_results() -> None:
    decided = outcome(ended(), log=log("just words"), schema=SCHEMA)

    assert decided.reason is Reason.OUTPUT_INVALID
    assert "wrote nothing to $MCPTASK_RESULT" in (decided.message or "")
    assert "it is not JSON" in (decided.message or "")


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        pytest.param(log("x" * 65_536 + "\n", is_whole=False), "it is too long: only its last 65537", id="cut"),
        pytest.param(log('{"n":' + "1" * 5000 + "}"), "it holds an integer of 5000 digits", id="too many digits"),
        pytest.param(log('{"n":1'), "it is not JSON: Expecting ',' delimiter at character 6", id="half a document"),
        pytest.param(log("\n\n"), "it is empty", id="nothing"),
    ],
)
def test_a_last_line_that_is_no_result_says_why(printed: LogSeen, why: str) -> None:
    decided = outcome(ended(), log=printed, schema=SCHEMA)

    assert decided.reason is Reason.OUTPUT_INVALID
    assert why in (decided.message or "")


def test_a_last_line_after_others_may_be_whole_though_the_log_is_not() -> None:
    decided = outcome(ended(), log=log('...\n{"n":1}\n', is_whole=False), schema=SCHEMA)

    assert decided.reason is Reason.SUCCEEDED


def test_sixty_four_levels_and_brackets_in_strings_are_taken() -> None:
    source = '{"n": 1, "s": "' + "[" * 100 + '\\"{", "a": ' + "[" * 63 + "]" * 63 + "}"

    assert members(result(outcome(ended(0, source), schema=SCHEMA)))["structuredContent"] == source


def test_an_output_schema_that_is_itself_broken_is_a_tool_error() -> None:
    decided = outcome(ended(0, "{}"), schema='{"type": "nonsense"}')

    assert decided.reason is Reason.OUTPUT_INVALID
    assert "outputSchema itself is not valid" in (decided.message or "")


def test_a_failure_is_what_the_tool_said_and_its_exit_code() -> None:
    decided = outcome(ended(3, "no such table"), log=log("Traceback\n"))

    assert text(decided) == "no such table\nexit code 3"
    assert decided.log_tail == "Traceback\n"
    assert decided.exit_code == 3


def test_a_failure_without_words_is_the_log_and_the_exit_code() -> None:
    decided = outcome(ended(1), log=log("Traceback\n", is_whole=False))

    assert text(decided) == "... (only the last 10 bytes are kept)\nTraceback\n\nexit code 1"
    assert decided.log_tail is None


def test_a_failure_whose_log_is_lost_says_so() -> None:
    decided = outcome(ended(1), log=log("", unreadable="the node is away"))

    assert text(decided) == "(the log could not be read: the node is away)\nexit code 1"


def test_a_failure_with_an_output_schema_needs_no_structure() -> None:
    decided = outcome(ended(1), log=log("boom"), schema=SCHEMA)

    assert decided.reason is Reason.EXIT_CODE
    assert "structuredContent" not in json.loads(result(decided))


def test_a_run_limit_keeps_the_log_as_it_was_before_the_stop() -> None:
    stop = Stopping(reason=Reason.RUN_LIMIT, at=ago(2))
    first = decide(observation(pods=(pod(running(ago(601))),), pods_confirmed=True, log=log("step 1\n")))
    last = decide(
        observation(
            task=task(status(Phase.STOPPING, stopping=stop, log_tail=first.status.log_tail)),
            pods=(),
            pods_confirmed=True,
        )
    )

    assert first.status.log_tail == "step 1\n"
    assert text(last.status) == (
        "... (only the last 7 bytes are kept)\nstep 1\n\nstopped: it ran longer than its limit of 600 s"
    )
    assert last.status.log_tail is None


def test_structured_content_too_large_to_be_said_twice_is_said_once() -> None:
    source = '{"n":1,"s":"' + '\\"' * 30_000 + '"}'

    decided = outcome(ended(), log=log(source), schema=SCHEMA)

    assert members(result(decided))["structuredContent"] == source
    assert "see the structured content" in text(decided)


def test_structured_content_beyond_all_bounds_fails_with_its_size() -> None:
    decided = outcome(ended(), log=log('{"n":1,"s":"' + "<" * 60_000 + '"}'), schema=SCHEMA)

    assert (decided.phase, decided.reason) == (Phase.FAILED, Reason.RESULT_TOO_LARGE)
    assert "60014 bytes" in (decided.message or "")


ANYTHING = st.text(st.characters(), max_size=200) | st.binary(max_size=300).map(
    lambda raw: raw.decode("utf-8", "replace")
)
LARGE = st.builds(lambda part, times: (part * times)[:TAIL], st.text(min_size=1, max_size=5), st.just(TAIL))


@pytest.mark.requirement("tools/outputs-sanitized")
@given(
    code=st.sampled_from([0, 1, 137]),
    message=ANYTHING,
    printed=ANYTHING | LARGE,
    is_whole=st.booleans(),
    unreadable=st.sampled_from(["", "gone"]),
    schema=st.sampled_from([None, SCHEMA, "{}"]),
)
def test_whatever_a_tool_gives_becomes_a_valid_and_bounded_outcome(
    *, code: int, message: str, printed: str, is_whole: bool, unreadable: str, schema: str | None
) -> None:
    seen = LogSeen(text="" if unreadable else printed, is_whole=is_whole, unreadable=unreadable)

    decided = outcome(ended(code, message), log=seen, schema=schema)

    assert limits.stored_bytes(decided.message or "") <= limits.MESSAGE_STORED_BYTES
    assert limits.stored_bytes(decided.log_tail or "") <= limits.LOG_TAIL_STORED_BYTES
    if decided.phase is Phase.COMPLETED:
        assert limits.stored_bytes(result(decided)) <= limits.RESULT_STORED_BYTES
        parsed = mcp_types.CallToolResult.model_validate_json(result(decided))
        assert parsed.is_error == (decided.reason is not Reason.SUCCEEDED)
        result(decided).encode()  # no half characters
    else:
        assert decided.reason in (Reason.RESULT_LOST, Reason.RESULT_TOO_LARGE)


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    ),
    indent=st.sampled_from([None, 1]),
)
def test_structured_content_is_the_text_that_the_tool_wrote(*, value: object, indent: int | None) -> None:
    source = json.dumps({"value": value}, indent=indent)

    decided = outcome(ended(0, source, message_limit=1_000_000), schema="{}")

    assert members(result(decided))["structuredContent"] == source
